//! What is checked out in a worktree and what is not committed.

use std::path::Path;

use crate::command::GitCommand;
use crate::{Git, GitError, Oid};

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadState {
    /// A branch.
    Branch {
        /// Its name.
        name: String,
        /// Its tip.
        tip: Oid,
    },
    /// A commit, without a branch.
    Detached {
        /// The commit.
        tip: Oid,
    },
    /// A branch that has no commit yet.
    Unborn {
        /// Its name.
        name: String,
    },
}

/// The state of a worktree. Paths are relative to it; bytes that are not UTF-8 are shown as `\u{fffd}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeStatus {
    /// What is checked out.
    pub head: HeadState,
    /// Paths whose index differs from the commit.
    pub staged: Vec<String>,
    /// Paths whose file differs from the index.
    pub unstaged: Vec<String>,
    /// Paths that Git does not track and does not ignore.
    pub untracked: Vec<String>,
    /// Paths with a conflict that is not resolved.
    pub unmerged: Vec<String>,
    /// Paths that are ignored; a folder that is ignored as a whole ends in a slash. Filled only when asked for.
    pub ignored: Vec<String>,
    /// The operation that is not finished, for example `rebase`.
    pub operation_in_progress: Option<String>,
}

impl Git {
    /// Reads the state of a worktree.
    pub fn status(&self, worktree: &Path) -> Result<WorktreeStatus, GitError> {
        let mut status = self.read_status(GitCommand::read(worktree, "status"), worktree, false)?;
        status.operation_in_progress = self.operation_in_progress(worktree)?;
        Ok(status)
    }

    /// Runs a prepared `status` command and reads its answer; a person's settings do not hide anything.
    pub(crate) fn read_status(
        &self,
        command: GitCommand,
        worktree: &Path,
        with_ignored: bool,
    ) -> Result<WorktreeStatus, GitError> {
        let ignored = if with_ignored { "--ignored=matching" } else { "--ignored=no" };
        let fixed = ["--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--no-renames"];
        let output = command.args(fixed).args(["--ignore-submodules=none", ignored]).run()?;
        parse(&output).ok_or_else(|| GitError::Unreadable {
            command: "status".into(),
            directory: worktree.to_owned(),
            excerpt: String::from_utf8_lossy(&output).chars().take(200).collect(),
        })
    }

    fn operation_in_progress(&self, worktree: &Path) -> Result<Option<String>, GitError> {
        let command = GitCommand::read(worktree, "rev-parse").arg("--absolute-git-dir");
        Ok(unfinished_operation(Path::new(&command.run_text()?)))
    }
}

/// The operation that a repository's or registration's directory says is not finished.
pub(crate) fn unfinished_operation(git_dir: &Path) -> Option<String> {
    const MARKS: [(&str, &str); 6] = [
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ];
    let found = MARKS.iter().find(|(mark, _)| git_dir.join(mark).symlink_metadata().is_ok());
    found.map(|(_, operation)| (*operation).to_owned())
}

fn parse(output: &[u8]) -> Option<WorktreeStatus> {
    let (mut oid, mut branch) = (None, None);
    let mut status = WorktreeStatus {
        head: HeadState::Unborn { name: String::new() },
        staged: Vec::new(),
        unstaged: Vec::new(),
        untracked: Vec::new(),
        unmerged: Vec::new(),
        ignored: Vec::new(),
        operation_in_progress: None,
    };
    for record in output.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let record = String::from_utf8_lossy(record);
        let (kind, rest) = record.split_once(' ')?;
        match kind {
            "#" => match rest.split_once(' ')? {
                ("branch.oid", value) => oid = Some(value.to_owned()),
                ("branch.head", value) => branch = Some(value.to_owned()),
                _ => {}
            },
            "1" => {
                let mut fields = rest.splitn(8, ' ');
                let state = fields.next()?.as_bytes().to_owned();
                let path = fields.nth(6)?.to_owned();
                if state.first() != Some(&b'.') {
                    status.staged.push(path.clone());
                }
                if state.get(1) != Some(&b'.') {
                    status.unstaged.push(path);
                }
            }
            "u" => status.unmerged.push(rest.splitn(10, ' ').nth(9)?.to_owned()),
            "?" => status.untracked.push(rest.to_owned()),
            "!" => status.ignored.push(rest.to_owned()),
            _ => return None,
        }
    }
    let name = branch?;
    status.head = match (oid?.parse::<Oid>(), name.as_str()) {
        (Ok(tip), "(detached)") => HeadState::Detached { tip },
        (Ok(tip), _) => HeadState::Branch { name, tip },
        (Err(_), _) => HeadState::Unborn { name },
    };
    Some(status)
}
