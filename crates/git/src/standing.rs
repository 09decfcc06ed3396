//! Checkouts that were there before and that are a person's: looked at, never made and never removed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::registration::{self, Occupant};
use crate::{Git, GitError, HeadState, Oid};

/// A checkout that a person made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingCheckout {
    /// Its directory, free of links.
    pub path: PathBuf,
    /// The name of its registration; none for the main checkout.
    pub registration: Option<String>,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// The branch that is checked out; none when HEAD is detached.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Oid,
}

impl Git {
    /// Looks at the main checkout of a repository; fails for a bare repository, which has none.
    pub fn standing_main_checkout(&self, repo: &Path) -> Result<StandingCheckout, GitError> {
        let info = self.inspect_repository(repo)?;
        if info.is_bare {
            return Err(GitError::NoWorkTree { path: info.path });
        }
        self.standing(&info.path, None, &info.common_dir)
    }

    /// Looks at a linked worktree of the repository, by its directory; fails for anything else, and says what it is.
    pub fn standing_worktree(&self, repo: &Path, path: &Path) -> Result<StandingCheckout, GitError> {
        if !path.is_absolute() {
            return Err(GitError::RelativePath { path: path.to_owned() });
        }
        let refused = |by: &str| GitError::NotAdoptable { path: path.to_owned(), by: by.to_owned() };
        let found = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => GitError::PathMissing { path: path.to_owned() },
            _ => GitError::io("opening", path)(error),
        })?;
        let common_dir = self.common_dir(repo)?;
        if self.inspect_repository(repo)?.path == found {
            return Err(refused(
                "it is the main checkout of the repository, in which a task can work in place",
            ));
        }
        match registration::occupant(&common_dir, &found)? {
            Occupant::Worktree(registration, _) => {
                self.standing(&found, Some(registration.name), &registration.dir)
            }
            Occupant::Other(by) => Err(refused(&format!("it is no worktree of {}: {by}", repo.display()))),
            Occupant::Nothing | Occupant::Unlinked(_) => {
                Err(refused(&format!("it is no worktree of {}", repo.display())))
            }
        }
    }

    fn standing(
        &self,
        path: &Path,
        registration: Option<String>,
        git_dir: &Path,
    ) -> Result<StandingCheckout, GitError> {
        let metadata = path.metadata().map_err(GitError::io("looking at", path))?;
        let (branch, tip) = match self.head(git_dir)? {
            HeadState::Branch { name, tip } => (Some(name), tip),
            HeadState::Detached { tip } => (None, Some(tip)),
        };
        let head = tip.ok_or_else(|| GitError::NoCommit { path: path.to_owned() })?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        Ok(StandingCheckout { path: path.to_owned(), registration, device, inode, branch, head })
    }
}
