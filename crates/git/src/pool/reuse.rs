//! A given-back workspace becomes an idle worktree: its files are kept where a fresh checkout would write the same.
//!
//! What is in the trash was decided to go, so nothing there is anybody's. There, everything is unlinked whose bytes
//! are not those of the commit, every mode is set as a checkout sets it, and what has another owner or attributes
//! of its own makes the whole unfit. Then the files are moved into a new worktree, and Git itself compares them by
//! content with an index that has never seen them, and writes what is missing.
//!
//! Where bytes on disk may differ from those of a commit (attributes, line ends), nothing is reused. An attempt that
//! was cut short leaves an idle worktree that is half made, and an entry in the trash that is unlinked later.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::{IdlePlan, Prepared, ready, settings};
use crate::removal::TrashEntry;
use crate::seal::{CommitFiles, Fresh};
use crate::worktree::{CHECKOUT_WORKERS, SKIP_FILTERS, SKIP_SMUDGE, refuse_taken_path};
use crate::{Git, GitError, failpoint};

/// Makes an idle worktree of an entry in the trash, which the caller has found to be its own.
pub(crate) fn reuse(git: &Git, entry: &TrashEntry, plan: &IdlePlan) -> Result<Prepared, GitError> {
    let unsuited = |reason: &str| Ok(Prepared::Unsuited(reason.to_owned()));
    let common_dir = git.common_dir(&plan.repo)?;
    let lock = git.lock_repository(&common_dir)?;
    refuse_taken_path(&common_dir, &plan.path)?;
    let settings = match settings::read(git, &common_dir)? {
        Ok(settings) => settings,
        Err(reason) => return Ok(Prepared::Unsuited(reason)),
    };
    if !settings::keeps_bytes(git, &common_dir)? {
        return unsuited("its settings or attributes change files");
    }
    let files = CommitFiles::read(git, &common_dir, &plan.commit)?;
    if !files.are_plain() {
        return unsuited("its attributes may change files, or it has submodules");
    }
    let parent = plan.path.parent().unwrap_or(&plan.path);
    std::fs::create_dir_all(parent).map_err(GitError::io("making the folder", parent))?;
    let command = git.write("making an idle worktree of", &plan.repo, &lock);
    let command = command.args(["worktree", "add", "--quiet", "--no-checkout", "--detach", "--"]);
    command.args([plan.path.as_os_str(), plan.commit.as_str().as_ref()]).run()?;
    failpoint!("git.reuse.after_add");
    if !files.keep_only(&entry.path, &fresh(&plan.path)?)? {
        return unsuited("files have another owner, or attributes of their own");
    }
    failpoint!("git.reuse.after_clearing");
    let entries = entry.path.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for moved in entries.map_err(GitError::io("listing", &entry.path))? {
        if moved.file_name() != ".git" {
            std::fs::rename(moved.path(), plan.path.join(moved.file_name()))
                .map_err(GitError::io("moving", &moved.path()))?;
        }
    }
    failpoint!("git.reuse.after_moving");
    let write = |operation| {
        let command = git.write(operation, &plan.path, &lock);
        command.env(SKIP_SMUDGE.0, SKIP_SMUDGE.1).args(SKIP_FILTERS).args(["-c", CHECKOUT_WORKERS])
    };
    write("reading a commit for").args(["read-tree", plan.commit.as_str()]).run()?;
    write("comparing the files of").args(["update-index", "-q", "--refresh"]).run()?;
    write("writing the files of").args(["reset", "--quiet", "--hard", "--no-recurse-submodules"]).run()?;
    ready(plan, &common_dir, settings)
}

/// What new files and directories get, as the top of a new worktree shows.
fn fresh(top: &Path) -> Result<Fresh, GitError> {
    let metadata = top.symlink_metadata().map_err(GitError::io("looking at", top))?;
    Ok(Fresh {
        directory: metadata.permissions().mode() & 0o7777,
        owner: (metadata.uid(), metadata.gid()),
        attributes: crate::seal::extended_attributes(top)?,
    })
}
