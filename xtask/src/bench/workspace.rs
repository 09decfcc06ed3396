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
const POLL: Duration = Duration::from_millis(1);

/// How long after an idle worktree is on disk it waits for a task at the latest.
const RECORDED: Duration = Duration::from_millis(500);

/// How many workspaces go while another one is made.
const GOING: usize = 6;

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

/// Makes workspaces from the idle pool and plain worktrees in turns.
pub(super) fn from_the_pool(
    bench: &Bench,
    server: &Server,
    repository: &Path,
    id: &str,
) -> Result<Row, Failure> {
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    // The first one gives the pool its reason.
    workspace(server, id, 1_000)?;
    for run in 0..bench.options.runs {
        for plain_now in [run % 2 == 0, run % 2 == 1] {
            wait_for_idle(repository)?;
            settle()?;
            match plain_now {
                true => plain.push(plain_worktree(bench, repository, 1_000 + run)?),
                false => ours.push(workspace(server, id, 1_001 + run)?),
            }
        }
    }
    let note = format!("{} ÷ {}", spread(&ours), spread(&plain));
    let ratio = median(ours).as_secs_f64() / median(plain).as_secs_f64();
    let what = format!(
        "workspace ready from the pool, from request to answer, {} files, ÷ plain `git worktree add`",
        bench.options.files
    );
    Ok(Row::at_most(&what, ratio, 0.05, "").noted(note))
}

/// Makes workspaces while many others go, and beside it undisturbed ones.
pub(super) fn while_others_go(bench: &Bench, server: &Server, id: &str) -> Result<Row, Failure> {
    let (mut calm, mut disturbed) = (Vec::new(), Vec::new());
    for run in 0..bench.options.runs {
        let first = 2_000 + run * (GOING + 1);
        let mut going = Vec::new();
        for number in first..first + GOING {
            let (time, task) = made_workspace(server, id, number)?;
            going.push(task);
            // What is made right after another one pays for its writing.
            if number + 1 == first + GOING {
                calm.push(time);
            } else {
                settle()?;
            }
        }
        settle()?;
        for task in going {
            // The demo agent leaves work, which is sealed.
            server.post(&format!("/tasks/{task}/archive?seal=true"), &json!({}))?;
        }
        disturbed.push(workspace(server, id, first + GOING)?);
        wait_until_done(server)?;
    }
    let note = format!("{} ÷ {}", spread(&disturbed), spread(&calm));
    let ratio = median(disturbed).as_secs_f64() / median(calm).as_secs_f64();
    let what = format!("workspace made while {GOING} others go, ÷ undisturbed");
    Ok(Row::at_most(&what, ratio, 1.5, "").noted(note))
}

/// Waits until an idle worktree is registered, complete and recorded.
fn wait_for_idle(repository: &Path) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let mut command = program("git");
        let listed = output_of(command.arg("-C").arg(repository).args(["worktree", "list", "--porcelain"]))?;
        let listed = String::from_utf8_lossy(&listed);
        let is_idle = |record: &str| record.contains("/.idle/") && !record.contains("\nlocked");
        if listed.split("\n\n").any(is_idle) {
            std::thread::sleep(RECORDED);
            return Ok(());
        }
        if started.elapsed() > LIMIT {
            return Err(Failure::new("no idle worktree was made"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until every workspace that goes is gone, and unlinked.
fn wait_until_done(server: &Server) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let jobs = server.get("/cleanup-jobs")?;
        let is_open = |job: &serde_json::Value| !matches!(job["state"].as_str(), Some("succeeded"));
        let are_open = jobs.as_array().is_some_and(|jobs| jobs.iter().any(is_open));
        if !are_open && !server.trash_folder().exists() {
            return Ok(());
        }
        if started.elapsed() > LIMIT {
            return Err(Failure::new("the workspaces were not given back"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
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
    made_workspace(server, repository_id, run).map(|(time, _)| time)
}

/// The same, with the task's id.
fn made_workspace(server: &Server, repository_id: &str, run: usize) -> Result<(Duration, String), Failure> {
    let id = server.add_task(&format!("Measured workspace {run}"), repository_id)?;
    let path = format!("/tasks/{id}");
    let started = Instant::now();
    server.post(&format!("{path}/start"), &json!({}))?;
    loop {
        let task = server.get(&path)?;
        if task["environment"]["status"] == "ready" {
            return Ok((started.elapsed(), id));
        }
        if task["task"]["state"] == "FAILED" || started.elapsed() > LIMIT {
            return Err(Failure::new(format!("no workspace was made: {}", task["error_message"])));
        }
        std::thread::sleep(POLL);
    }
}
