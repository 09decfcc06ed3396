//! Purges a seal: takes its name away, so that Git forgets what only it held.

use crate::command::commit_of;
use crate::lock::RepositoryLock;
use crate::seal::reference;
use crate::{Git, Oid, SealError};

/// Removes the ref if it still is the given commit: decided by Git, in one step. Tells whether it was there.
pub(super) fn purge(git: &Git, id: &str, commit: &Oid, lock: &RepositoryLock) -> Result<bool, SealError> {
    let reference = reference(id)?;
    let dir = lock.common_dir();
    match commit_of(git, dir, &reference)? {
        None => return Ok(false),
        Some(now) if now != *commit => return Err(SealError::Replaced { id: id.to_owned(), now }),
        Some(_) => {}
    }
    let command = git.write("purging a seal of", dir, lock).args(["-c", "core.hooksPath=/dev/null"]);
    let removed = command.args(["update-ref", "-d", &reference, commit.as_str()]).run();
    match (removed, commit_of(git, dir, &reference)?) {
        (_, None) => Ok(true),
        (_, Some(now)) if now != *commit => Err(SealError::Replaced { id: id.to_owned(), now }),
        (Err(error), Some(_)) => Err(error.into()),
        (Ok(()), Some(_)) => {
            let reason = "it is still there after its removal".to_owned();
            Err(SealError::Unverified { id: id.to_owned(), reason })
        }
    }
}
