//! The task's workspace as Git and the disk tell it; the server is not asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::fingerprint::{Entry, walk};
use super::wait::require;
use crate::failure::Failure;
use crate::program::{git, output_of};

/// What the server says that it made.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The main checkout.
    pub(crate) checkout: PathBuf,
    /// The worktree.
    pub(crate) path: PathBuf,
    /// Its branch.
    pub(crate) branch: String,
    /// The commit it was made at.
    pub(crate) base_commit: String,
}

/// What deleting a session or killing the server must not change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    registrations: String,
    branch_commit: String,
    status: BTreeMap<String, String>,
    marker: Vec<u8>,
}

/// Everything that bringing a task back must bring back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    files: BTreeMap<PathBuf, Entry>,
    said: Vec<String>,
}

impl Workspace {
    /// Writes every file down, with what Git says of files, index and branch.
    pub(crate) fn content(&self) -> Result<Content, Failure> {
        let mut files = BTreeMap::new();
        walk(&self.path, &mut files)?;
        files.retain(|path, _| !path.ends_with(".git"));
        let questions = [
            &["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"][..],
            &["ls-files", "--stage", "-v"],
            &["rev-parse", "HEAD"],
        ];
        let said = questions.into_iter().map(|words| output_of(git(&self.path).args(words)));
        Ok(Content { files, said: said.collect::<Result<_, _>>()? })
    }

    /// Verifies that the worktree is there, registered, on its branch and at its base commit.
    pub(crate) fn verify_made(&self) -> Result<(), Failure> {
        require(self.path.is_dir(), || format!("{} is no directory", self.path.display()))?;
        let registration = self.registration()?.unwrap_or_default();
        let branch = format!("branch refs/heads/{}", self.branch);
        require(registration.lines().any(|line| line == branch), || {
            format!("`git worktree list` does not show {} on {branch}: {registration:?}", self.path.display())
        })?;
        let commit = self.branch_commit()?;
        require(commit == self.base_commit, || format!("the branch is at {commit}, not {}", self.base_commit))
    }

    /// What `git worktree list --porcelain` says of the worktree; none when it is not registered.
    pub(crate) fn registration(&self) -> Result<Option<String>, Failure> {
        let first = format!("worktree {}", self.path.canonicalize().unwrap_or(self.path.clone()).display());
        let listed = self.registrations()?;
        Ok(listed.split("\n\n").find(|block| block.lines().next() == Some(&first)).map(str::to_owned))
    }

    /// The commit of the task's branch, as the repository has it.
    pub(crate) fn branch_commit(&self) -> Result<String, Failure> {
        let name = format!("refs/heads/{}", self.branch);
        let commit = output_of(git(&self.checkout).args(["rev-parse", "--verify", "--quiet", &name]))?;
        Ok(commit.trim().to_owned())
    }

    /// The changed files with their two letters from `git status`.
    pub(crate) fn status(&self) -> Result<BTreeMap<String, String>, Failure> {
        let listed =
            output_of(git(&self.path).args(["status", "--porcelain=v1", "-z", "--untracked-files=all"]))?;
        let lines = listed.split('\0').filter(|line| line.len() > 3);
        Ok(lines.map(|line| (line[3..].to_owned(), line[..2].to_owned())).collect())
    }

    /// Writes down what must stay.
    pub(crate) fn witness(&self, marker: &Path) -> Result<Witness, Failure> {
        require(self.path.is_dir(), || format!("{} is gone", self.path.display()))?;
        let content = std::fs::read(marker).map_err(|source| Failure::file("read", marker, &source))?;
        Ok(Witness {
            registrations: self.registrations()?,
            branch_commit: self.branch_commit()?,
            status: self.status()?,
            marker: content,
        })
    }

    /// Commits everything that is in the worktree, as a person would; gives the commit.
    pub(crate) fn commit_all(&self) -> Result<String, Failure> {
        output_of(git(&self.path).args(["add", "--all"]))?;
        let mut commit = git(&self.path);
        commit.args(["-c", "user.name=Freehold Demo", "-c", "user.email=demo@localhost"]);
        commit.args(["-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null"]);
        output_of(commit.args(["commit", "--quiet", "--message", "Keep what the demo agent did"]))?;
        self.branch_commit()
    }

    /// The processes that work in the worktree; none where the system does not tell.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let Ok(table) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = table.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder.starts_with(&self.path))
        })
        .collect()
    }

    fn registrations(&self) -> Result<String, Failure> {
        output_of(git(&self.checkout).args(["worktree", "list", "--porcelain"]))
    }
}
