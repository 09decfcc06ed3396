//! Vaults: repositories of Freehold's own, which hold the seals of folders that belong to no repository.
//!
//! A vault is made when it is first needed and has no worktree, no hook and no branch. Everything in it is kept by
//! the ref of a seal. Its Git folder is called `.git`, so that a setting of a person which forbids bare repositories
//! does not keep the seals out of reach.

use std::path::Path;

use crate::lock::RepositoryLock;
use crate::{Git, GitError};

/// The file that says that a vault is complete.
const COMPLETE: &str = "freehold-vault";

/// What holds in a vault, whatever a person set for all repositories.
const SETTINGS: [(&str, &str); 3] =
    [("gc.auto", "0"), ("maintenance.auto", "false"), ("core.hooksPath", "/dev/null")];

impl Git {
    /// Makes the vault when it is missing, or finishes one that was half made.
    pub(crate) fn ensure_vault(&self, vault: &Path) -> Result<(), GitError> {
        let home = vault.join(".git");
        let complete = home.join(COMPLETE);
        if complete.is_file() {
            return Ok(());
        }
        std::fs::create_dir_all(&home).map_err(GitError::io("making the folder", &home))?;
        let lock = self.lock_repository(&home)?;
        if complete.is_file() {
            return Ok(());
        }
        let command = self.write("making a repository for seals at", &home, &lock);
        command.args(["init", "--quiet", "--bare", "--template=", "--object-format=sha1"]).run()?;
        let config = home.join("config");
        for (name, value) in SETTINGS {
            let command = self.write("setting up", &home, &lock).args(["config", "--file"]);
            command.args([config.as_os_str(), name.as_ref(), value.as_ref()]).run()?;
        }
        std::fs::write(&complete, "Freehold keeps seals of folders here.\n")
            .map_err(GitError::io("writing", &complete))
    }
}

/// Gives the room of purged seals back; does nothing in a repository that is no vault. Nothing else is lost: every
/// seal has a ref, and who writes one holds the lock.
pub(crate) fn compact(git: &Git, lock: &RepositoryLock) -> Result<(), GitError> {
    if !lock.common_dir().join(COMPLETE).is_file() {
        return Ok(());
    }
    let command = git.write("giving back the room of", lock.common_dir(), lock);
    command.args(["gc", "--quiet", "--prune=now"]).run()
}
