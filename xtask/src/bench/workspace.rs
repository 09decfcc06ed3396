//! How long a workspace takes, beside a plain `git worktree add -b` of the same repository.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::report::Row;
use super::server::LIMIT;
use super::{Bench, Server, median};
use crate::Failure;
use crate::program::{output_of, program};

/// How often the server is asked whether the workspace is ready.
const POLL: Duration = Duration::from_millis(5);

/// Makes workspaces and plain worktrees in turns, each first as often as second, and compares their medians.
pub(super) fn ready(bench: &Bench, server: &Server, repository: &Path, id: &str) -> Result<Row, Failure> {
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for run in 0..bench.options.runs {
        for plain_now in [run % 2 == 0, run % 2 == 1] {
            settle()?;
            match plain_now {
                true => plain.push(plain_worktree(bench, repository, run)?),
                false => ours.push(workspace(server, id, run)?),
            }
        }
    }
    let note = format!("{} ÷ {}", spread(&ours), spread(&plain));
    let ratio = median(ours).as_secs_f64() / median(plain).as_secs_f64();
    let what = format!("workspace ready, {} files, ÷ plain `git worktree add`", bench.options.files);
    Ok(Row::at_most(&what, ratio, 0.9, "").noted(note))
}

/// The median and, because a disk has moods, the extremes.
fn spread(times: &[Duration]) -> String {
    let (least, most) = (times.iter().min(), times.iter().max());
    let millis = |time: Option<&Duration>| time.map_or(0, Duration::as_millis);
    format!("{} ms ({} to {})", median(times.to_vec()).as_millis(), millis(least), millis(most))
}

/// Waits until what was written before is on disk, so that no run pays for another.
fn settle() -> Result<(), Failure> {
    output_of(&mut program("sync")).map(drop)
}

fn plain_worktree(bench: &Bench, repository: &Path, run: usize) -> Result<Duration, Failure> {
    let path = bench.folder.path().join(format!("plain-{run}"));
    let branch = format!("plain-{run}");
    let mut command = program("git");
    command
        .arg("-C")
        .arg(repository)
        .args(["worktree", "add", "--quiet", "-b", &branch])
        .arg(path)
        .arg("main");
    let started = Instant::now();
    output_of(&mut command)?;
    Ok(started.elapsed())
}

/// From the request that starts a task to the moment its environment is ready.
fn workspace(server: &Server, repository_id: &str, run: usize) -> Result<Duration, Failure> {
    let id = server.add_task(&format!("Measured workspace {run}"), repository_id)?;
    let path = format!("/tasks/{id}");
    let started = Instant::now();
    server.post(&format!("{path}/start"), &json!({}))?;
    loop {
        let task = server.get(&path)?;
        if task["environment"]["status"] == "ready" {
            return Ok(started.elapsed());
        }
        if task["task"]["state"] == "FAILED" || started.elapsed() > LIMIT {
            return Err(Failure::new(format!("no workspace was made: {}", task["error_message"])));
        }
        std::thread::sleep(POLL);
    }
}
