//! From a snapshot to what Git is asked about, and from Git's findings to what a person reads.

use std::path::{Path, PathBuf};
use std::time::Duration;

use freehold_domain::cleanup::{
    CleanupJob, CleanupTrigger, ResourceSnapshot, SnapshotWorktree, Stake, StakeKind,
};
use freehold_domain::id::CleanupJobId;
use freehold_domain::preparation::Planted;
use freehold_git::{
    Assessment, BranchPolicy, ExpectedIdentity, Finding, FindingKind, Oid, PlantedFile, Presence, Pushed,
    RemovalTarget, Remover,
};
use freehold_store as store;
use freehold_store::StoreError;

use crate::{Engine, EngineError};

/// The executors whose workspaces are on this machine's file system; older databases have names of their own.
const LOCAL_EXECUTORS: [&str; 5] = ["", "worktree", "scratch", "local", "local_pc"];

/// How often a job looks at what Git could not tell about, and how long it waits in between.
const LOOKS: u32 = 3;
const LOOK_PAUSE: Duration = Duration::from_millis(150);

/// What a look at worktrees, or their removal, depends on beside the worktrees themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobView<'a> {
    pub(super) resources: &'a ResourceSnapshot,
    pub(super) trigger: CleanupTrigger,
    pub(super) accepted: &'a [Stake],
    /// The job that a worker has claimed; none for a look beforehand.
    pub(super) claimed: Option<&'a CleanupJobId>,
}

impl<'a> JobView<'a> {
    pub(super) fn of(job: &'a CleanupJob, resources: &'a ResourceSnapshot) -> Self {
        let CleanupJob { id, trigger, accepted, .. } = job;
        Self { resources, trigger: *trigger, accepted, claimed: Some(id) }
    }
}

/// What was found at one worktree of a snapshot.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) worktree: SnapshotWorktree,
    pub(super) target: RemovalTarget,
    pub(super) is_present: bool,
    /// Whether nothing is at its path.
    pub(super) is_missing: bool,
    pub(super) stakes: Vec<Stake>,
    /// Why commits that no ref has are no loss.
    pub(super) found_elsewhere: Vec<String>,
}

impl Looked {
    /// What a person must decide about: everything that a seal would not hold.
    pub(super) fn blocking(&self) -> impl Iterator<Item = &Stake> {
        self.stakes.iter().filter(|stake| !self.is_present || !stake.kind.is_sealable())
    }

    /// What a seal would hold.
    pub(super) fn sealable(&self) -> impl Iterator<Item = &Stake> {
        self.stakes.iter().filter(|stake| self.is_present && stake.kind.is_sealable())
    }
}

impl Engine {
    /// Looks at every worktree of a job's snapshot; changes nothing.
    pub(super) async fn assess(&self, job: &JobView<'_>) -> Result<Vec<Looked>, EngineError> {
        let mut looked = Vec::new();
        for worktree in &job.resources.worktrees {
            looked.push(self.look_at(job, worktree).await?);
        }
        Ok(looked)
    }

    async fn look_at(&self, job: &JobView<'_>, worktree: &SnapshotWorktree) -> Result<Looked, EngineError> {
        let mut looked = Looked {
            worktree: worktree.clone(),
            target: self.removal_target(job, worktree)?,
            is_present: false,
            is_missing: false,
            stakes: Vec::new(),
            found_elsewhere: Vec::new(),
        };
        if let Some(detail) = self.unprovable(worktree).await? {
            looked.stakes.push(doubt(&worktree.path, detail.into()));
            return Ok(looked);
        }
        let mut answer = self.ask_git(job, &looked.target).await;
        let would_lose_commits = |assessment: &Assessment| {
            assessment.findings.iter().any(|finding| finding.kind == FindingKind::Commits)
        };
        let mut doubt_of_remotes = None;
        if answer.as_ref().is_ok_and(would_lose_commits) {
            match self.ask_remotes(&looked.target).await {
                Ok(pushed) if pushed.is_empty() => {}
                Ok(pushed) => {
                    looked.target.pushed = pushed;
                    answer = self.ask_git(job, &looked.target).await;
                }
                Err(error) => doubt_of_remotes = Some(error),
            }
        }
        let has_lost_commits = |assessment: &Assessment| {
            assessment.presence == Presence::Missing
                && assessment.findings.iter().any(|finding| finding.kind == FindingKind::Commits)
        };
        if answer.as_ref().is_ok_and(has_lost_commits) {
            // A worktree that is gone already cannot be sealed any more; its branch can stay.
            looked.target.branch_policy = BranchPolicy::Keep;
            // An attempt that died after its removal had sealed what was on no branch.
            looked.target.sealed = self.seals_of_job(job, worktree).await?;
            answer = self.ask_git(job, &looked.target).await;
        }
        match answer {
            Ok(mut assessment) => {
                if let Some(error) = doubt_of_remotes {
                    say_doubt(&mut assessment.findings, &error);
                }
                looked.found_elsewhere = assessment.found_elsewhere;
                looked.is_present = assessment.presence == Presence::Present;
                looked.is_missing = assessment.presence == Presence::Missing;
                looked.stakes.extend(stakes_of(&worktree.path, assessment.findings));
            }
            Err(error) => looked.stakes.push(unknown(&worktree.path, &error)),
        }
        Ok(looked)
    }

    /// What earlier attempts of this job sealed of a worktree.
    async fn seals_of_job(
        &self,
        job: &JobView<'_>,
        worktree: &SnapshotWorktree,
    ) -> Result<Vec<Oid>, EngineError> {
        let Some(job_id) = job.claimed.cloned() else { return Ok(Vec::new()) };
        let path = worktree.path.clone();
        let read = self.inner.store.read(move |tx| {
            let job = store::cleanup::require(tx, &job_id)?;
            let mut seals = store::seal::of_task(tx, &job.task_id)?;
            seals.retain(|seal| seal.job_id == job_id && seal.worktree_path == path);
            Ok::<_, StoreError>(seals)
        });
        read.await?.iter().map(|seal| Ok(seal.commit.parse()?)).collect()
    }

    /// What remotes have of commits that are nowhere here. They are asked before any lock is taken.
    async fn ask_remotes(&self, target: &RemovalTarget) -> Result<Vec<Pushed>, EngineError> {
        let target = target.clone();
        self.blocking("asking remotes for commits", move |git| Remover::pushed(git, &target)).await
    }

    /// A look for a dialog waits for nobody. One of a job waits for its turn, and looks again where Git could not
    /// tell: a person's own command may be at work.
    async fn ask_git(&self, job: &JobView<'_>, target: &RemovalTarget) -> Result<Assessment, EngineError> {
        let (target, is_at_rest) = (target.clone(), job.claimed.is_some());
        self.blocking("assessing a worktree", move |git| {
            if !is_at_rest {
                return Remover::assess(git, &target);
            }
            let mut looks = LOOKS;
            loop {
                looks -= 1;
                let looked = Remover::assess_at_rest(git, &target);
                let is_clear = looked.as_ref().is_ok_and(|assessment| {
                    assessment.findings.iter().all(|finding| finding.kind != FindingKind::Unknown)
                });
                if is_clear || looks == 0 {
                    return looked;
                }
                std::thread::sleep(LOOK_PAUSE);
            }
        })
        .await
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

    fn removal_target(
        &self,
        job: &JobView<'_>,
        worktree: &SnapshotWorktree,
    ) -> Result<RemovalTarget, EngineError> {
        let has_failed = job.trigger == CleanupTrigger::FailedCreation;
        let is_inherited = worktree.origin.is_none() && !has_failed;
        // One that was restored is known by its origin, and its branch may have been there before.
        let is_restored = worktree.origin.is_some() && has_failed;
        // Who made the branch of an inherited worktree is not recorded; it may be a person's own.
        let removes = job.trigger.removes_branches() && !is_inherited && !is_restored && worktree.branch_made;
        let is_unowned = job.trigger == CleanupTrigger::Quarantine;
        let base = Some(&worktree.base_commit).filter(|commit| !commit.is_empty());
        let accepted = job.accepted.iter().filter(|stake| stake.worktree_path == worktree.path);
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
            managed_root: self.root_of(Path::new(&worktree.path), is_inherited || is_unowned),
            branch_policy: if removes { BranchPolicy::RemoveIfFoundElsewhere } else { BranchPolicy::Keep },
            never_exposed: has_failed && !is_restored,
            accepted: accepted.filter_map(finding_of).collect(),
            planted: worktree.planted.iter().map(planted_file).collect(),
            pushed: Vec::new(),
            sealed: Vec::new(),
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
            // Fails, as it should, when anything is in it.
            let _ = std::fs::remove_dir(root.join(task_dir_name));
        }
    }
}

/// A remote that could not be asked may have the commits or not; nothing is lost on the strength of a guess.
fn say_doubt(findings: &mut [Finding], error: &EngineError) {
    for finding in findings.iter_mut().filter(|finding| finding.kind == FindingKind::Commits) {
        finding.detail = format!("{} Whether a remote has them is not known: {error}", finding.detail);
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

fn planted_file(planted: &Planted) -> PlantedFile {
    let Planted { path, source, is_link } = planted;
    PlantedFile { path: PathBuf::from(path), source: PathBuf::from(source), is_link: *is_link }
}

/// What could not be found out is never taken for clean.
pub(super) fn unknown(path: &str, error: &EngineError) -> Stake {
    doubt(path, format!("The state of the worktree could not be found out: {error}"))
}

pub(super) fn doubt(path: &str, detail: String) -> Stake {
    let (kind, items) = (StakeKind::Unknown, Vec::new());
    Stake { kind, worktree_path: path.to_owned(), items, total: 0, detail }
}

/// Whether the workspace is on an executor that Freehold does not run, such as a container or another machine.
/// What is there cannot be looked at, so it is never touched.
pub(super) fn foreign_executor(snapshot: &ResourceSnapshot) -> Option<Stake> {
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

/// Which kind of finding is told as which kind of stake.
const KINDS: [(FindingKind, StakeKind); 11] = [
    (FindingKind::Uncommitted, StakeKind::Uncommitted),
    (FindingKind::Untracked, StakeKind::Untracked),
    (FindingKind::Ignored, StakeKind::Ignored),
    (FindingKind::Commits, StakeKind::Commits),
    (FindingKind::NestedRepository, StakeKind::NestedRepository),
    (FindingKind::OperationInProgress, StakeKind::OperationInProgress),
    (FindingKind::Occupied, StakeKind::Occupied),
    (FindingKind::Locked, StakeKind::Locked),
    (FindingKind::InUse, StakeKind::InUse),
    (FindingKind::Unsealed, StakeKind::Unsealed),
    (FindingKind::Unknown, StakeKind::Unknown),
];

fn kind_of(kind: FindingKind) -> StakeKind {
    let found = KINDS.into_iter().find(|(finding, _)| *finding == kind);
    found.map_or(StakeKind::Unknown, |(_, stake)| stake)
}

/// A stake that a person agreed to lose, as Git found it.
pub(super) fn finding_of(stake: &Stake) -> Option<Finding> {
    let (kind, _) = KINDS.into_iter().find(|(_, kind)| *kind == stake.kind)?;
    Some(Finding { kind, items: stake.items.clone(), total: stake.total, detail: stake.detail.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stake_is_one_kind_of_finding_and_judged_as_it() {
        assert_eq!(KINDS.len(), StakeKind::ALL.len());
        for (finding, stake) in KINDS {
            assert_eq!(kind_of(finding), stake);
            assert_eq!(finding.is_sealable(), stake.is_sealable(), "{stake}");
            assert_eq!(finding.is_discardable(), stake.is_discardable(), "{stake}");
        }
    }
}
