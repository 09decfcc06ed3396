//! A repository of many small text files, made through `git fast-import`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::Failure;
use crate::program::{output_of, program};

/// Files per folder.
const PER_FOLDER: usize = 40;

/// Makes a repository with one commit of `files` files on `main`, checked out; gives its path.
pub(super) fn make_repository(path: &Path, files: usize) -> Result<PathBuf, Failure> {
    output_of(program("git").args(["init", "--quiet", "--initial-branch=main"]).arg(path))?;
    let broken = |error: std::io::Error| Failure::new(format!("git fast-import broke off: {error}"));
    let mut import = program("git")
        .arg("-C")
        .arg(path)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(broken)?;
    if let Some(mut input) = import.stdin.take() {
        input.write_all(commit_of(files).as_bytes()).map_err(broken)?;
    }
    let status = import.wait().map_err(broken)?;
    if !status.success() {
        return Err(Failure::new(format!("git fast-import ended with {status}")));
    }
    output_of(program("git").arg("-C").arg(path).args(["reset", "--quiet", "--hard", "main"]))?;
    Ok(path.to_path_buf())
}

/// The fast-import stream: text of 1 to 8 kB per file, different in each.
fn commit_of(files: usize) -> String {
    let message = "Begin";
    let mut stream = format!(
        "commit refs/heads/main\ncommitter Freehold Bench <bench@freehold.example> 1700000000 +0000\ndata {}\n{message}\n",
        message.len()
    );
    for number in 0..files {
        let line = format!("line of file {number}: the quick brown fox jumps over the lazy dog\n");
        let text = line.repeat(16 + number * 37 % 112);
        let folder = number / PER_FOLDER;
        // Writing to a String cannot fail.
        let _ = write!(
            stream,
            "M 100644 inline area-{}/part-{folder}/file-{number}.txt\ndata {}\n{text}\n",
            folder % 25,
            text.len()
        );
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_holds_the_files_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = make_repository(&folder.path().join("repository"), 90).unwrap();
        let listed = output_of(program("git").arg("-C").arg(&path).args(["ls-files", "-z"])).unwrap();
        assert_eq!(listed.iter().filter(|byte| **byte == 0).count(), 90);
        let status = output_of(program("git").arg("-C").arg(&path).args(["status", "--porcelain"])).unwrap();
        assert!(status.is_empty());
    }
}
