//! Scratch indexes: private copies of a worktree's index, so that a look can be taken that needs other flags
//! or more entries, and the index of the person and the agent stays as it is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::command::GitCommand;
use crate::{Git, GitError};

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// An index file of our own; removed when dropped.
pub(crate) struct ScratchIndex {
    path: PathBuf,
}

impl ScratchIndex {
    /// Names a new index, which is empty until Git fills it.
    pub(crate) fn empty(git: &Git) -> Self {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let path = git.scratch_dir().join(format!("index-{}-{number}", std::process::id()));
        let scratch = Self { path };
        // A process that had our number before us may have died and left one.
        scratch.remove();
        scratch
    }

    /// Copies the index of a checkout, given its Git directory.
    pub(crate) fn copy_of(git: &Git, git_dir: &Path) -> Result<Self, GitError> {
        let scratch = Self::empty(git);
        let original = git_dir.join("index");
        match copy_with_time(&original, &scratch.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(GitError::io("copying", &original)(error)),
            Ok(()) => {}
        }
        Ok(scratch)
    }

    /// Makes a command use this index.
    pub(crate) fn used_by(&self, command: GitCommand) -> GitCommand {
        command.env("GIT_INDEX_FILE", &self.path)
    }

    fn remove(&self) {
        _ = std::fs::remove_file(&self.path);
        _ = std::fs::remove_file(self.path.with_extension("lock"));
    }
}

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Copies an index with its time. Git compares a file's content, not only its size and time, when the file is
/// as new as the index; a copy with a later time would hide an edit made in the instant of the checkout.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let written = std::fs::metadata(from)?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(written)
}
