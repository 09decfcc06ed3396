//! The state of a worktree at this moment: HEAD, index and files are read each time and never remembered.

use std::path::Path;

use crate::command::GitCommand;
use crate::head::{HeadState, operation_in_progress};
use crate::{Git, GitError};

/// What is checked out, and what differs from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeStatus {
    /// What HEAD points at.
    pub head: HeadState,
    /// Files whose index entry differs from HEAD.
    pub staged: Vec<String>,
    /// Tracked files that differ from their index entry.
    pub unstaged: Vec<String>,
    /// Files that Git neither tracks nor ignores.
    pub untracked: Vec<String>,
    /// Files with conflicts.
    pub unmerged: Vec<String>,
    /// A rebase, merge or the like that is not finished, in one word.
    pub operation_in_progress: Option<String>,
}

impl Git {
    /// Reads the state of a worktree.
    pub fn status(&self, worktree: &Path) -> Result<WorktreeStatus, GitError> {
        let git_dir = self.git_dir(worktree)?;
        let mut status = WorktreeStatus {
            head: self.head(worktree)?,
            staged: Vec::new(),
            unstaged: Vec::new(),
            untracked: Vec::new(),
            unmerged: Vec::new(),
            operation_in_progress: operation_in_progress(&git_dir).map(str::to_owned),
        };
        for entry in list(self.read("reading the status of", worktree), Ignored::Left)? {
            match entry.kind {
                EntryKind::Changed { is_staged, worktree } => {
                    if is_staged {
                        status.staged.push(entry.shown());
                    }
                    if worktree != b'.' {
                        status.unstaged.push(entry.shown());
                    }
                }
                EntryKind::Unmerged => status.unmerged.push(entry.shown()),
                EntryKind::Untracked => status.untracked.push(entry.shown()),
                EntryKind::Ignored => {}
            }
        }
        Ok(status)
    }
}

/// Whether ignored files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    Left,
    /// A directory that is ignored as a whole is one entry that ends with a slash.
    Listed,
}

/// One line of the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: EntryKind,
    /// Relative to the top of the worktree.
    pub(crate) path: Vec<u8>,
}

impl Entry {
    /// The path for people.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Changed {
        is_staged: bool,
        /// Git's letter for the file against the index; a dot when they are equal.
        worktree: u8,
    },
    Unmerged,
    Untracked,
    Ignored,
}

/// Runs `git status` and reads what it lists. Submodules count by their commit alone: looking into one would
/// run what its own configuration says.
pub(crate) fn list(command: GitCommand, ignored: Ignored) -> Result<Vec<Entry>, GitError> {
    let command = command.args(["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"]);
    let command = match ignored {
        Ignored::Left => command.arg("--ignored=no"),
        Ignored::Listed => command.arg("--ignored=matching"),
    };
    let listed = command.arg("--ignore-submodules=dirty").stdout()?;
    let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    Ok(lines.filter_map(parse).collect())
}

/// Reads one line; the fields before the path are separated by single spaces.
fn parse(line: &[u8]) -> Option<Entry> {
    let path_after = |fields: usize| line.splitn(fields + 1, |byte| *byte == b' ').nth(fields);
    let (kind, path) = match line {
        [b'1', b' ', index, worktree, ..] => {
            (EntryKind::Changed { is_staged: *index != b'.', worktree: *worktree }, path_after(8))
        }
        [b'u', ..] => (EntryKind::Unmerged, path_after(10)),
        [b'?', ..] => (EntryKind::Untracked, path_after(1)),
        [b'!', ..] => (EntryKind::Ignored, path_after(1)),
        _ => return None,
    };
    Some(Entry { kind, path: path?.to_owned() })
}
