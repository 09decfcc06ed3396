//! From a snapshot to what Git is asked about, and from Git's findings to what a person reads.

use std::path::{Path, PathBuf};

use freehold_domain::cleanup::{CleanupTrigger, ResourceSnapshot, SnapshotWorktree, Stake, StakeKind};
use freehold_git::{BranchPolicy, ExpectedIdentity, Finding, FindingKind, RemovalTarget, Remover};

use crate::{Engine, EngineError};

impl Engine {
    /// Looks at every worktree of a snapshot and tells what would be lost; changes nothing.
    pub(super) async fn assess(
        &self,
        snapshot: &ResourceSnapshot,
        trigger: CleanupTrigger,
        keep_branches: bool,
    ) -> Result<Vec<Stake>, EngineError> {
        let mut stakes = Vec::new();
        for worktree in &snapshot.worktrees {
            let target = self.removal_target(worktree, trigger, keep_branches)?;
            let looked =
                self.blocking("assessing a worktree", move |git| Remover::assess(git, &target)).await;
            match looked {
                Ok(assessment) => stakes.extend(stakes_of(&worktree.path, assessment.findings)),
                Err(error) => stakes.push(unknown(&worktree.path, &error)),
            }
        }
        Ok(stakes)
    }

    pub(super) fn removal_target(
        &self,
        worktree: &SnapshotWorktree,
        trigger: CleanupTrigger,
        keep_branches: bool,
    ) -> Result<RemovalTarget, EngineError> {
        let removes = trigger.removes_branches() && !keep_branches;
        Ok(RemovalTarget {
            repo: PathBuf::from(&worktree.repository_path),
            path: PathBuf::from(&worktree.path),
            branch: worktree.branch.clone(),
            base: worktree.base_commit.parse()?,
            expected: worktree.origin.as_ref().map(|origin| ExpectedIdentity {
                registration: origin.registration.clone(),
                device: origin.device,
                inode: origin.inode,
            }),
            managed_root: self.inner.options.workspaces_root.clone(),
            branch_policy: if removes { BranchPolicy::RemoveIfFoundElsewhere } else { BranchPolicy::Keep },
            never_exposed: trigger == CleanupTrigger::FailedCreation,
        })
    }

    /// Removes the task's own directory when nothing is left in it.
    pub(super) fn tidy_task_directory(root: &Path, task_dir_name: &str) {
        let is_one_name = Path::new(task_dir_name).components().count() == 1;
        if is_one_name && !task_dir_name.starts_with('.') {
            // Fails, as it should, when anything is in it; multi-repository workspaces may hold a person's notes.
            let _ = std::fs::remove_dir(root.join(task_dir_name));
        }
    }
}

/// Turns Git's findings about one worktree into stakes.
pub(super) fn stakes_of(path: &str, findings: Vec<Finding>) -> impl Iterator<Item = Stake> + use<> {
    let path = path.to_owned();
    findings.into_iter().map(move |finding| Stake {
        kind: kind_of(finding.kind),
        worktree_path: path.clone(),
        items: finding.items,
        total: finding.total,
        detail: finding.detail,
    })
}

/// What could not be found out is never taken for clean.
pub(super) fn unknown(path: &str, error: &EngineError) -> Stake {
    Stake {
        kind: StakeKind::Unknown,
        worktree_path: path.to_owned(),
        items: Vec::new(),
        total: 0,
        detail: format!("The state of the worktree could not be found out: {error}"),
    }
}

const fn kind_of(kind: FindingKind) -> StakeKind {
    match kind {
        FindingKind::Uncommitted => StakeKind::Uncommitted,
        FindingKind::Untracked => StakeKind::Untracked,
        FindingKind::Ignored => StakeKind::Ignored,
        FindingKind::Commits => StakeKind::Commits,
        FindingKind::NestedRepository => StakeKind::NestedRepository,
        FindingKind::OperationInProgress => StakeKind::OperationInProgress,
        FindingKind::Occupied => StakeKind::Occupied,
        FindingKind::Locked => StakeKind::Locked,
        FindingKind::Unknown => StakeKind::Unknown,
    }
}
