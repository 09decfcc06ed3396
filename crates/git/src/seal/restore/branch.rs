//! Which branch a restored worktree gets. What exists is used only where it is as it was sealed.

use super::super::{RestoreBranch, RestoreError, RestoreRequest};
use super::read::Stored;
use super::{detached_head, renames, require_head};
use crate::command::commit_of;
use crate::lock::RepositoryLock;
use crate::{Git, GitError, HeadState, Oid};

/// What becomes of the branches of a seal.
#[derive(Debug)]
pub(super) struct Branches {
    /// What HEAD will be.
    pub(super) head: HeadState,
    /// Branches to be made, with their commits.
    new: Vec<(String, Oid)>,
    /// The branch that an operation in progress goes back to instead of the sealed one.
    pub(super) parked_instead: Option<String>,
}

/// Decides, or says what stands in the way; changes nothing.
pub(super) fn decide(
    git: &Git,
    request: &RestoreRequest,
    stored: &Stored,
    lock: &RepositoryLock,
) -> Result<Branches, RestoreError> {
    let sealed = require_head(stored)?;
    let mut branches = Branches { head: sealed.clone(), new: Vec::new(), parked_instead: None };
    let mut parked = Vec::new();
    for branch in &stored.manifest.parked {
        parked.push((branch.branch.clone(), branch.commit.parse::<Oid>()?));
    }
    match &request.branch {
        RestoreBranch::Detached => branches.head = detached_head(stored, &request.id)?,
        RestoreBranch::Sealed => {
            if let HeadState::Branch { name, tip } = sealed {
                branches.want(git, lock, name, tip.as_ref())?;
            }
            for (branch, commit) in &parked {
                branches.want(git, lock, branch, Some(commit))?;
            }
        }
        RestoreBranch::New(name) => {
            let parked = parked.into_iter().next();
            let commit = match &parked {
                Some((_, commit)) => Some(commit.clone()),
                None => sealed.tip().cloned(),
            };
            refuse_existing(git, lock, name)?;
            if parked.is_some() && sealed.branch().is_none() {
                branches.parked_instead = Some(name.clone());
            } else {
                branches.head = HeadState::Branch { name: name.clone(), tip: sealed.tip().cloned() };
            }
            branches.new.extend(commit.map(|commit| (name.clone(), commit)));
        }
    }
    debug_assert!(renames(request) || branches.parked_instead.is_none());
    for (name, _) in &branches.new {
        refuse_invalid(git, lock, name)?;
    }
    Ok(branches)
}

impl Branches {
    /// Wants a branch as it was sealed: makes it where it is gone.
    fn want(
        &mut self,
        git: &Git,
        lock: &RepositoryLock,
        name: &str,
        sealed: Option<&Oid>,
    ) -> Result<(), RestoreError> {
        let now = tip_of(git, lock, name)?;
        if let Some(now) = &now
            && Some(now) != sealed
        {
            let (branch, sealed, now) = (name.to_owned(), sealed.cloned(), now.clone());
            return Err(RestoreError::BranchMoved { branch, sealed, now });
        }
        let checkouts = git.list_worktrees_of(lock.common_dir(), lock.common_dir())?;
        if let Some(other) = checkouts.into_iter().find(|other| other.branch.as_deref() == Some(name)) {
            return Err(RestoreError::BranchInUse { branch: name.to_owned(), at: other.path });
        }
        if let (None, Some(sealed)) = (now, sealed) {
            self.new.push((name.to_owned(), sealed.clone()));
        }
        Ok(())
    }

    /// Makes the branches that are missing, each only if it still is.
    pub(super) fn make(&self, git: &Git, lock: &RepositoryLock) -> Result<(), RestoreError> {
        for (branch, commit) in &self.new {
            let command = git.write("making a branch in", lock.common_dir(), lock);
            let command = command.args(["-c", "core.hooksPath=/dev/null", "update-ref", "--create-reflog"]);
            let (reference, none) = (format!("refs/heads/{branch}"), "0".repeat(commit.as_str().len()));
            let command = command.args(["-m", "branch: Restored", &reference, commit.as_str(), &none]);
            command.run().map_err(|error| match error {
                GitError::Failed { message, .. } => taken(branch, message),
                other => other.into(),
            })?;
        }
        Ok(())
    }
}

fn tip_of(git: &Git, lock: &RepositoryLock, name: &str) -> Result<Option<Oid>, GitError> {
    commit_of(git, lock.common_dir(), &format!("refs/heads/{name}"))
}

fn taken(branch: &str, reason: impl Into<String>) -> RestoreError {
    RestoreError::BranchTaken { branch: branch.to_owned(), reason: reason.into() }
}

fn refuse_existing(git: &Git, lock: &RepositoryLock, name: &str) -> Result<(), RestoreError> {
    match tip_of(git, lock, name)? {
        Some(_) => Err(taken(name, "it exists")),
        None => Ok(()),
    }
}

/// Refuses what Git does not allow as a name, and a branch that another one stands in the way of.
fn refuse_invalid(git: &Git, lock: &RepositoryLock, name: &str) -> Result<(), RestoreError> {
    let command = git.read("checking a branch name for", lock.common_dir());
    let checked = command.args(["check-ref-format", "--branch", name]).output()?;
    if !checked.is_success() || checked.stdout.trim_ascii_end() != name.as_bytes() {
        return Err(taken(name, "Git does not allow the name"));
    }
    let is_beside = |other: &str| {
        other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
            || name.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
    };
    match git.branch_names(lock.common_dir())?.into_iter().find(|other| is_beside(other)) {
        Some(other) => Err(taken(name, format!("the branch {other:?} is in the way"))),
        None => Ok(()),
    }
}
