//! The upgrade of a large legacy database, beside a plain copy of the same file by SQLite.
//!
//! The reference is `VACUUM INTO`, which reads and writes every row once: nothing that keeps the old database
//! safe can do less. The upgrade must also stay small, as it runs on machines that have other work.

use std::path::{Path, PathBuf};
use std::time::Duration;

use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::large::{self, Size};
use freehold_testkit::legacy::rows;
use tempfile::TempDir;

use super::child::{self, Measured};
use super::median;
use super::report::{self, Row};
use crate::Failure;
use crate::program::{freehold_binary, program};

const USAGE: &str = "\
usage: cargo run --release -p xtask -- bench upgrade [--messages N] [--runs N] [--no-postgres] [--no-report]

  --messages N    messages in the legacy database (1500000); one task and two sessions for each 300
  --runs N        how often the upgrade and its reference are measured, in turns (3)
  --no-postgres   measures SQLite only
  --no-report     prints the table and leaves docs/benchmarks.md as it is";

/// The first word of the arguments by which this program starts itself to copy a database.
const COPY: &str = "--vacuum-into";

/// What the upgrade may need at most, whatever the size of the database.
const PEAK_MIB: f64 = 150.0;

/// Tables whose rows the upgrade neither adds nor drops.
const KEPT: [&str; 6] =
    ["workspaces", "repositories", "tasks", "task_sessions", "task_session_turns", "task_session_messages"];

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Options {
    messages: u64,
    runs: u64,
    with_postgres: bool,
    write_report: bool,
}

impl Options {
    fn size(self) -> Size {
        let tasks = self.messages.div_ceil(300);
        Size { tasks, sessions: tasks * 2, messages: self.messages }
    }
}

/// What was measured on one engine.
struct Outcome {
    rows: Vec<Row>,
    /// What was measured and how, in words.
    words: Vec<String>,
}

/// Measures, prints the table and writes it down.
#[expect(clippy::print_stdout, reason = "a measurement speaks to a terminal")]
pub(super) fn run(arguments: &[&str]) -> Result<(), Failure> {
    match arguments {
        [COPY, from, to] => return copy_with_bundled_sqlite(from, to),
        arguments if arguments.contains(&"--help") => {
            println!("{USAGE}");
            return Ok(());
        }
        _ => {}
    }
    let options = parse(arguments)?;
    let binary = freehold_binary("release")?;
    let mut outcome = on_sqlite(&binary, options)?;
    if options.with_postgres {
        let postgres = on_postgres(&binary, options)?;
        outcome.rows.extend(postgres.rows);
        outcome.words.extend(postgres.words);
    }
    let table = report::table(&outcome.rows);
    println!("\n{table}\n{}", outcome.words.join("\n"));
    if options.write_report {
        println!("\nwrote {}", report::write_section(report::Section::Upgrade, &table, &outcome.words)?);
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a measurement takes minutes and says how far it is")]
fn on_sqlite(binary: &Path, options: Options) -> Result<Outcome, Failure> {
    let size = options.size();
    let folder = temporary_folder()?;
    let made = folder.path().join("made.db");
    eprintln!("making a legacy database of {} messages", size.messages);
    large::create(&url_of(&made), size);
    let mib = bytes_of(&made)? as f64 / 1_048_576.0;
    let counts = counts_of(&url_of(&made));
    let reference = Reference::find();
    eprintln!("upgrading {mib:.0} MiB, {} times, beside VACUUM INTO by {}", options.runs, reference.name());
    let (mut upgrades, mut copies) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        // A folder of its own, with whatever the upgrade puts beside the database.
        let run = temporary_folder()?;
        let copied = run.path().join("copied.db");
        copies.push(reference.copy(&made, &copied)?);
        let old = run.path().join("old.db");
        std::fs::copy(&made, &old).map_err(|error| Failure::new(format!("{}: {error}", old.display())))?;
        upgrades.push(upgrade(binary, &url_of(&old), run.path())?);
        require_final(&url_of(&old), &counts)?;
    }
    let times = |runs: &[Measured]| runs.iter().map(|run| run.time).collect::<Vec<_>>();
    let (upgraded, copied) = (times(&upgrades), times(&copies));
    let ratio = median(upgraded.clone()).as_secs_f64() / median(copied.clone()).as_secs_f64();
    let peak = upgrades.iter().map(|run| run.peak_kib).max().unwrap_or_default() as f64 / 1_024.0;
    let rows = vec![
        Row::at_most("upgrade on SQLite, peak resident memory", peak, PEAK_MIB, "MiB"),
        Row::measured("upgrade on SQLite, ÷ `VACUUM INTO` of the same file", ratio, "").noted(format!(
            "{} ÷ {}",
            spread(upgraded),
            spread(copied)
        )),
    ];
    let words = vec![
        format!(
            "- The database: {} tasks, {} sessions and {} messages, {mib:.0} MiB on SQLite with every index of \
             the old schema; the same in every run.",
            size.tasks, size.sessions, size.messages
        ),
        format!(
            "- *SQLite*: the median of {} runs of `freehold upgrade`, each on a fresh copy of the file, in turns \
             with `VACUUM INTO` by {}. Memory is the highest of all runs (`VmHWM`).",
            options.runs,
            reference.name()
        ),
    ];
    Ok(Outcome { rows, words })
}

/// Time only: the rows are in the server, whose memory is not Freehold's.
#[expect(clippy::print_stderr, reason = "a measurement takes minutes and says how far it is")]
fn on_postgres(binary: &Path, options: Options) -> Result<Outcome, Failure> {
    // It fails by a panic, as tests do, and says what to install.
    let Ok(database) = std::panic::catch_unwind(TestDatabase::postgres) else {
        let words = vec!["- *PostgreSQL* was not measured: there was no server.".to_owned()];
        return Ok(Outcome { rows: Vec::new(), words });
    };
    eprintln!("making the same on PostgreSQL");
    large::create(database.url(), options.size());
    let counts = counts_of(database.url());
    let folder = temporary_folder()?;
    let measured = upgrade(binary, database.url(), folder.path())?;
    require_final(database.url(), &counts)?;
    let row = Row::measured("upgrade on PostgreSQL", measured.time.as_secs_f64(), "s");
    let words = "- *PostgreSQL*: one run on a fresh database of a server on the same machine that does not wait \
                 for the disk (`fsync=off`).";
    Ok(Outcome { rows: vec![row], words: vec![words.to_owned()] })
}

fn upgrade(binary: &Path, url: &str, home: &Path) -> Result<Measured, Failure> {
    let mut command = program(binary);
    child::run(command.args(["upgrade", "--database", url]).env("FREEHOLD_HOME", home.join("home")))
}

fn counts_of(url: &str) -> Vec<String> {
    KEPT.iter().flat_map(|table| rows(url, &format!("SELECT count(*) FROM {table}"))).collect()
}

/// Fails when rows are gone, or when the database is not of Freehold's schema.
fn require_final(url: &str, before: &[String]) -> Result<(), Failure> {
    let after = counts_of(url);
    if after != before {
        return Err(Failure::new(format!("rows of {KEPT:?} were {before:?} and are {after:?}")));
    }
    let version = rows(url, "SELECT value FROM freehold_meta WHERE key = 'schema_version'");
    if version.len() != 1 {
        return Err(Failure::new("the upgrade succeeded, and the database has no schema version"));
    }
    let tables =
        if url.starts_with("sqlite") { "sqlite_schema WHERE name" } else { "pg_class WHERE relname" };
    let left = rows(url, &format!("SELECT count(*) FROM {tables} = 'task_session_worktrees'"));
    if left != ["0"] {
        return Err(Failure::new("the upgrade succeeded, and the table of session worktrees is still there"));
    }
    Ok(())
}

/// Who makes the copy that the upgrade is compared with.
enum Reference {
    Program { version: String },
    Bundled,
}

impl Reference {
    fn find() -> Self {
        let version =
            program("sqlite3").arg("--version").output().ok().filter(|asked| asked.status.success());
        version.map_or(Self::Bundled, |asked| {
            let said = String::from_utf8_lossy(&asked.stdout).into_owned();
            Self::Program { version: said.split_whitespace().next().unwrap_or_default().to_owned() }
        })
    }

    fn name(&self) -> String {
        match self {
            Self::Program { version } => format!("the program `sqlite3` {version}"),
            Self::Bundled => format!("the SQLite {} that Freehold is built with", rusqlite::version()),
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<Measured, Failure> {
        match self {
            Self::Program { .. } => {
                child::run(program("sqlite3").arg(from).arg(vacuum_into(&to.to_string_lossy())))
            }
            Self::Bundled => {
                let this = std::env::current_exe()
                    .map_err(|error| Failure::new(format!("this program has no path: {error}")))?;
                child::run(program(this).args(["bench", "upgrade", COPY]).arg(from).arg(to))
            }
        }
    }
}

fn copy_with_bundled_sqlite(from: &str, to: &str) -> Result<(), Failure> {
    let copy = || rusqlite::Connection::open(from)?.execute_batch(&vacuum_into(to));
    copy().map_err(|error| Failure::new(format!("{from}: {error}")))
}

fn vacuum_into(path: &str) -> String {
    format!("VACUUM INTO '{}'", path.replace('\'', "''"))
}

fn temporary_folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary folder: {error}")))
}

fn url_of(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

fn bytes_of(file: &PathBuf) -> Result<u64, Failure> {
    let metadata = std::fs::metadata(file);
    Ok(metadata.map_err(|error| Failure::new(format!("{}: {error}", file.display())))?.len())
}

/// The middle of some durations, and the extremes.
fn spread(times: Vec<Duration>) -> String {
    let extremes = times.iter().min().zip(times.iter().max());
    let (low, high) = extremes.map_or((0.0, 0.0), |(low, high)| (low.as_secs_f64(), high.as_secs_f64()));
    format!("{:.1} s ({low:.1} to {high:.1})", median(times).as_secs_f64())
}

fn parse(arguments: &[&str]) -> Result<Options, Failure> {
    let mut options = Options { messages: 1_500_000, runs: 3, with_postgres: true, write_report: true };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let target = match *name {
            "--messages" => &mut options.messages,
            "--runs" => &mut options.runs,
            "--no-postgres" => {
                options.with_postgres = false;
                continue;
            }
            "--no-report" => {
                options.write_report = false;
                continue;
            }
            _ => return Err(Failure::new(format!("bench upgrade does not know {name}\n{USAGE}"))),
        };
        *target = rest
            .next()
            .and_then(|value| value.parse().ok())
            .filter(|value| *value > 0)
            .ok_or_else(|| Failure::new(format!("{name} needs a number above 0\n{USAGE}")))?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_size_and_may_leave_parts_out() {
        let options = parse(&["--messages", "3000", "--no-postgres", "--no-report"]).unwrap();
        assert_eq!(options, Options { messages: 3_000, runs: 3, with_postgres: false, write_report: false });
        assert_eq!((options.size().tasks, options.size().sessions), (10, 20));
        for bad in [&["--messages"][..], &["--runs", "0"], &["--files", "1"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_bundled_sqlite_copies_a_database() {
        let folder = temporary_folder().unwrap();
        let (from, to) = (folder.path().join("it's from.db"), folder.path().join("it's to.db"));
        large::create(&url_of(&from), Size { tasks: 2, sessions: 4, messages: 60 });
        copy_with_bundled_sqlite(&from.to_string_lossy(), &to.to_string_lossy()).unwrap();
        assert_eq!(counts_of(&url_of(&to)), counts_of(&url_of(&from)));
    }

    #[test]
    fn a_database_that_was_not_upgraded_is_not_final() {
        let folder = temporary_folder().unwrap();
        let url = url_of(&folder.path().join("old.db"));
        large::create(&url, Size { tasks: 2, sessions: 4, messages: 60 });
        let counts = counts_of(&url);
        assert_eq!(counts, ["1", "12", "2", "4", "6", "60"]);
        assert!(require_final(&url, &[]).is_err());
        let run =
            |sql: &str| rusqlite::Connection::open(folder.path().join("old.db")).unwrap().execute_batch(sql);
        run("CREATE TABLE freehold_meta (key TEXT, value TEXT)").unwrap();
        assert!(require_final(&url, &counts).unwrap_err().to_string().contains("no schema version"));
        run("INSERT INTO freehold_meta VALUES ('schema_version', '1')").unwrap();
        assert!(require_final(&url, &counts).unwrap_err().to_string().contains("still there"));
        run("DROP TABLE task_session_worktrees").unwrap();
        require_final(&url, &counts).unwrap();
    }
}
