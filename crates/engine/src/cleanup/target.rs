//! From a snapshot to what Git is asked about, and from Git's findings to what a person reads.

use std::path::{Path, PathBuf};

use freehold_domain::cleanup::{CleanupTrigger, ResourceSnapshot, SnapshotWorktree, Stake, StakeKind};
use freehold_git::{BranchPolicy, ExpectedIdentity, Finding, FindingKind, RemovalTarget, Remover};
use freehold_store as store;

use crate::{Engine, EngineError};

/// The executors whose workspaces are on this machine's file system; older databases have names of their own.
const LOCAL_EXECUTORS: [&str; 4] = ["", "worktree", "local", "local_pc"];

impl Engine {
    /// Looks at every worktree of a snapshot and tells what would be lost; changes nothing.
    pub(super) async fn assess(
        &self,
        snapshot: &ResourceSnapshot,
        trigger: CleanupTrigger,
        keep_branches: bool,
    ) -> Result<Vec<Stake>, EngineError> {
        let mut stakes: Vec<Stake> = foreign_executor(snapshot).into_iter().collect();
        if !stakes.is_empty() {
            return Ok(stakes);
        }
        for worktree in &snapshot.worktrees {
            if let Some(detail) = self.unprovable(worktree).await? {
                stakes.push(doubt(&worktree.path, detail.into()));
                continue;
            }
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

    /// Why nothing that Git says could prove that a worktree is the task's to give back; none when it could.
    async fn unprovable(&self, worktree: &SnapshotWorktree) -> Result<Option<&'static str>, EngineError> {
        if worktree.repository_path.is_empty() {
            return Ok(Some("The repository that it belongs to is not known."));
        }
        let Some(id) = worktree.environment_repo_id.clone().filter(|_| worktree.origin.is_none()) else {
            return Ok(None);
        };
        let path = worktree.path.clone();
        let read = self.inner.store.read(move |tx| store::environment::is_owned_twice(tx, &id, &path));
        let is_owned_twice = read.await?;
        Ok(is_owned_twice.then_some("Another task's workspace is recorded at the same place."))
    }

    pub(super) fn removal_target(
        &self,
        worktree: &SnapshotWorktree,
        trigger: CleanupTrigger,
        keep_branches: bool,
    ) -> Result<RemovalTarget, EngineError> {
        let is_inherited = worktree.origin.is_none() && trigger != CleanupTrigger::FailedCreation;
        // Who made the branch of an inherited worktree is not recorded; it may be a person's own.
        let removes = trigger.removes_branches() && !keep_branches && !is_inherited;
        let base = Some(&worktree.base_commit).filter(|commit| !commit.is_empty());
        Ok(RemovalTarget {
            repo: PathBuf::from(&worktree.repository_path),
            path: PathBuf::from(&worktree.path),
            branch: worktree.branch.clone(),
            base: base.map(|commit| commit.parse()).transpose()?,
            expected: worktree.origin.as_ref().map(|origin| ExpectedIdentity {
                registration: origin.registration.clone(),
                device: origin.device,
                inode: origin.inode,
            }),
            managed_root: self.root_of(Path::new(&worktree.path), is_inherited),
            branch_policy: if removes { BranchPolicy::RemoveIfFoundElsewhere } else { BranchPolicy::Keep },
            never_exposed: trigger == CleanupTrigger::FailedCreation,
        })
    }

    /// The folder that a worktree must lie in. Another program made its worktrees elsewhere: such a one is bound
    /// to the folder around it, and Git must prove that it is a worktree of the recorded repository.
    fn root_of(&self, path: &Path, is_inherited: bool) -> PathBuf {
        let root = &self.inner.options.workspaces_root;
        match path.parent() {
            Some(around) if is_inherited && !path.starts_with(root) => around.to_owned(),
            _ => root.clone(),
        }
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
    doubt(path, format!("The state of the worktree could not be found out: {error}"))
}

fn doubt(path: &str, detail: String) -> Stake {
    let (kind, items) = (StakeKind::Unknown, Vec::new());
    Stake { kind, worktree_path: path.to_owned(), items, total: 0, detail }
}

/// Whether the workspace is on an executor that Freehold does not run, such as a container or another machine.
/// What is there cannot be looked at, so it is never touched.
fn foreign_executor(snapshot: &ResourceSnapshot) -> Option<Stake> {
    let kind = snapshot.executor_type.as_str();
    if LOCAL_EXECUTORS.contains(&kind) {
        return None;
    }
    let detail = format!(
        "The workspace is on an executor that Freehold does not run ({kind}); it was not looked at. \
         Save what you need and end it there."
    );
    Some(doubt(&snapshot.workspace_path, detail))
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
