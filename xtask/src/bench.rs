//! Measurements of a release build, each beside its reference or target in the same run.
//!
//! Absolute times say little about another machine; so a workspace is compared with a plain `git worktree add`
//! of the same repository, in turns, and the table in `docs/benchmarks.md` shows the ratio and the extremes.

mod child;
mod list;
mod live;
mod report;
mod sample;
mod server;
mod startup;
mod upgrade;
mod workspace;
mod worktrees;

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::Failure;
use crate::program::freehold_binary;
use report::Row;
use server::Server;

const USAGE: &str = "\
usage: cargo run --release -p xtask -- bench [--files N] [--tasks N] [--runs N] [--events N] [--no-report]

  --files N     files in the repository that workspaces are made of (12000)
  --tasks N     tasks in the list (10000)
  --runs N      how often each workspace and start is measured (5)
  --events N    events sent to the live clients (2000)
  --no-report   prints the table and leaves docs/benchmarks.md as it is

       cargo run --release -p xtask -- bench upgrade [--help]
                measures the upgrade of a large legacy database, which takes some minutes more

       cargo run --release -p xtask -- bench worktrees [--files N] [--runs N] [--no-report]
                measures the idle pool, giving back, sealing and restoring";

/// How large a run is.
#[derive(Debug, Clone, Copy)]
struct Options {
    files: usize,
    tasks: usize,
    runs: usize,
    events: usize,
    write_report: bool,
}

/// What every measurement needs.
struct Bench {
    binary: PathBuf,
    folder: TempDir,
    options: Options,
}

/// Runs every measurement, prints the table and writes it down.
pub fn run(arguments: &[&str]) -> Result<(), Failure> {
    if let ["upgrade", arguments @ ..] = arguments {
        return upgrade::run(arguments);
    }
    if let ["worktrees", arguments @ ..] = arguments {
        return worktrees::run(arguments);
    }
    carry_out(arguments, measure, report::write)
}

/// Measures, prints the table and writes it into the page, as the options say.
#[expect(clippy::print_stdout, reason = "a measurement speaks to a terminal")]
fn carry_out(
    arguments: &[&str],
    measure: fn(&Bench) -> Result<Vec<Row>, Failure>,
    write: fn(&Bench, &str) -> Result<&'static str, Failure>,
) -> Result<(), Failure> {
    if arguments.contains(&"--help") {
        println!("{USAGE}");
        return Ok(());
    }
    let options = parse(arguments)?;
    let folder =
        tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary folder: {error}")))?;
    let bench = Bench { binary: freehold_binary("release")?, folder, options };
    let rows = measure(&bench)?;
    let table = report::table(&rows);
    println!("\n{table}");
    if options.write_report {
        println!("wrote {}", write(&bench, &table)?);
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a measurement takes minutes and says how far it is")]
fn measure(bench: &Bench) -> Result<Vec<Row>, Failure> {
    let mut rows = vec![startup::binary_size(&bench.binary)?];
    eprintln!("making a repository of {} files", bench.options.files);
    let repository = sample::make_repository(&bench.folder.path().join("repository"), bench.options.files)?;
    let mut server = Server::start(bench, 0)?;
    let repository_id = server.add_repository(&repository)?;
    eprintln!("making workspaces, {} with git and {0} with Freehold", bench.options.runs);
    rows.push(workspace::ready(bench, &server, &repository, &repository_id)?);
    eprintln!("storing {} tasks", bench.options.tasks);
    list::fill(&server, &repository_id, bench.options.tasks)?;
    rows.extend(list::page(&server)?);
    eprintln!("sending {} events to {} clients", bench.options.events, live::CLIENTS);
    rows.extend(live::fan_out(&server, bench.options.events)?);
    eprintln!("starting {} times", bench.options.runs);
    rows.push(startup::start_to_healthy(bench, &mut server)?);
    rows.push(startup::idle_memory(&server)?);
    Ok(rows)
}

fn parse(arguments: &[&str]) -> Result<Options, Failure> {
    let mut options = Options { files: 12_000, tasks: 10_000, runs: 5, events: 2_000, write_report: true };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let target = match *name {
            "--files" => &mut options.files,
            "--tasks" => &mut options.tasks,
            "--runs" => &mut options.runs,
            "--events" => &mut options.events,
            "--no-report" => {
                options.write_report = false;
                continue;
            }
            _ => return Err(Failure::new(format!("bench does not know {name}\n{USAGE}"))),
        };
        *target = rest
            .next()
            .and_then(|value| value.parse().ok())
            .filter(|value| *value > 0)
            .ok_or_else(|| Failure::new(format!("{name} needs a number above 0\n{USAGE}")))?;
    }
    Ok(options)
}

/// The middle of some durations; the slower of the two middle ones where their number is even.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_numbers_above_zero() {
        let options = parse(&["--files", "10", "--no-report"]).unwrap();
        assert_eq!((options.files, options.tasks, options.write_report), (10, 10_000, false));
        for bad in [&["--files"][..], &["--files", "0"], &["--runs", "x"], &["--speed", "1"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_median_is_the_middle() {
        let times = [5, 1, 9].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(5));
    }
}
