//! Makes repositories for show through `git fast-import`: quick also for thousands of files, and alike each time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::failure::{Exit, Failure};
use crate::program::{could_not_start, git, output_of};

/// Who wrote the commits.
const IDENTITY: &str = "Freehold <freehold@localhost>";
/// When the first was written, in seconds since 1970-01-01T00:00:00Z; each next one an hour later.
const FIRST_COMMIT_AT: i64 = 1_767_258_000;
const BRANCH: &str = "main";

/// A commit to be made: what it says and the files it brings or replaces.
#[derive(Debug)]
pub(crate) struct NewCommit {
    /// Its message.
    pub(crate) message: String,
    /// Paths and contents.
    pub(crate) files: Vec<(String, String)>,
}

/// Makes a repository with these commits on `main`, checked out, in a folder that does not exist.
pub(crate) fn make(path: &Path, commits: &[NewCommit]) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|source| Failure::file("make the folder", path, &source))?;
    output_of(git(path).args(["init", "--quiet", "--initial-branch", BRANCH]))?;
    import(path, &stream(commits))?;
    output_of(git(path).args(["-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard"])).map(drop)
}

fn import(path: &Path, stream: &str) -> Result<(), Failure> {
    let mut command = git(path);
    command
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| could_not_start("git", &error))?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(stream.as_bytes()));
    let output = child.wait_with_output().map_err(|error| could_not_start("git", &error))?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(Exit::Failure, "program_failed", format!("git fast-import failed: {}", said.trim())))
}

fn stream(commits: &[NewCommit]) -> String {
    let mut stream = String::from("feature done\n");
    for (commit, number) in commits.iter().zip(0_i64..) {
        let at = FIRST_COMMIT_AT + number * 3_600;
        let NewCommit { message, files } = commit;
        // Writing to a string does not fail.
        let _ = write!(
            stream,
            "commit refs/heads/{BRANCH}\ncommitter {IDENTITY} {at} +0000\ndata {}\n{message}\n",
            message.len()
        );
        for (path, content) in files {
            let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{content}\n", content.len());
        }
        stream.push('\n');
    }
    stream.push_str("done\n");
    stream
}
