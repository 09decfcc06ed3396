//! What would be lost, read from disk at this moment.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::commits::{BranchFate, Judged, branch_fate, private_commits};
use super::{Assessment, BranchPolicy, Finding, FindingKind, Presence, RemovalTarget, checkout, target};
use crate::head::operation_in_progress;
use crate::pool::Note;
use crate::registration::{self, INITIALIZING, Occupant, Registration};
use crate::{Git, GitError, HeadState, ListedWorktree, Oid, SealedWorktree};

/// An assessment, and what the removal needs to know beyond it.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) assessment: Assessment,
    /// The registration to be removed.
    pub(super) registration: Option<Registration>,
    /// The inode of the directory to be removed.
    pub(super) inode: Option<u64>,
    pub(super) branch: BranchFate,
}

/// Looks at the target; changes nothing.
pub(super) fn assess(
    git: &Git,
    target: &RemovalTarget,
    sealed: Option<&SealedWorktree>,
    common_dir: &Path,
) -> Result<Look, GitError> {
    let listed = git.list_worktrees_of(&target.repo, common_dir)?;
    target::guard(target, common_dir, &listed)?;
    let mut look = Look {
        assessment: Assessment {
            presence: Presence::Missing,
            head: None,
            findings: Vec::new(),
            found_elsewhere: Vec::new(),
        },
        registration: None,
        inode: None,
        branch: BranchFate::Stays,
    };
    if !target.managed_root.is_dir() {
        let path = target.managed_root.clone();
        look.assessment.findings.push(Finding::unknown(&GitError::PathMissing { path }));
        return Ok(look);
    }
    match identify(target, common_dir)? {
        Place::Occupied(by) => {
            let detail = format!("{} is not the recorded worktree: {by}.", target.path.display());
            look.assessment.findings.push(Finding::new(FindingKind::Occupied, Vec::new(), detail));
            look.assessment.presence = Presence::Occupied { by };
            return Ok(look);
        }
        Place::Empty(registration) => look.registration = registration,
        Place::Worktree(registration, metadata) => {
            look.assessment.presence = Presence::Present;
            look.inode = Some(metadata.ino());
            look.registration = registration;
        }
    }
    judge(git, target, &Surroundings { common_dir, listed: &listed, sealed }, &mut look);
    let is_settled = |finding: &Finding| {
        let is_held = sealed.is_some() && finding.kind.is_sealable() && finding.kind != FindingKind::Commits;
        is_held || target.accepts(finding)
    };
    look.assessment.findings.retain(|finding| !is_settled(finding));
    Ok(look)
}

/// What is at the path, judged by the recorded identity.
enum Place {
    /// Nothing; perhaps a registration that still names the path.
    Empty(Option<Registration>),
    /// The worktree; without a registration when it is half made.
    Worktree(Option<Registration>, Metadata),
    Occupied(String),
}

fn identify(target: &RemovalTarget, common_dir: &Path) -> Result<Place, GitError> {
    if let Some(link) = target::link_on_the_way(&target.path, &target.managed_root) {
        return Ok(Place::Occupied(link));
    }
    let expected = target.expected.as_ref();
    let is_expected_name = |name: &str| expected.is_none_or(|expected| expected.registration == name);
    Ok(match registration::occupant(common_dir, &target.path)? {
        Occupant::Other(by) => Place::Occupied(by),
        Occupant::Nothing => Place::Empty(remaining_registration(target, common_dir)?),
        Occupant::Worktree(registration, _) if !is_expected_name(&registration.name) => {
            Place::Occupied(format!("the worktree {:?} is there", registration.name))
        }
        Occupant::Worktree(_, metadata) | Occupant::Unlinked(metadata)
            if expected.is_some_and(|expected| expected.inode != metadata.ino()) =>
        {
            Place::Occupied("another directory is there than the one that was made".into())
        }
        Occupant::Worktree(registration, metadata) => Place::Worktree(Some(registration), metadata),
        Occupant::Unlinked(metadata) if target.never_exposed => {
            Place::Worktree(remaining_registration(target, common_dir)?, metadata)
        }
        Occupant::Unlinked(_) => Place::Occupied("a directory without a registration is there".into()),
    })
}

/// The one registration that is the target's although no directory leads to it: it names the path, or it is
/// the recorded one and lost its name in a removal that was cut short.
pub(super) fn remaining_registration(
    target: &RemovalTarget,
    common_dir: &Path,
) -> Result<Option<Registration>, GitError> {
    let is_ours = |registration: &Registration| match &target.expected {
        Some(expected) => {
            expected.registration == registration.name
                && (registration.worktree.is_none() || registration.is_at(&target.path))
        }
        None => registration.is_at(&target.path),
    };
    Ok(registration::list(common_dir)?.into_iter().find(is_ours))
}

/// What else a worktree is judged by.
struct Surroundings<'a> {
    common_dir: &'a Path,
    /// All checkouts of the repository.
    listed: &'a [ListedWorktree],
    /// The seal, when the work in the worktree may go.
    sealed: Option<&'a SealedWorktree>,
}

/// Adds every finding; what cannot be read is one too.
fn judge(git: &Git, target: &RemovalTarget, around: &Surroundings<'_>, look: &mut Look) {
    let Surroundings { common_dir, listed, sealed } = *around;
    let seals: Vec<&Oid> =
        sealed.map(|sealed| &sealed.seal.commit).into_iter().chain(&target.sealed).collect();
    let findings = &mut look.assessment.findings;
    let mut keep = |looked: Result<Vec<Finding>, GitError>| match looked {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(Finding::unknown(&error)),
    };
    if let Some(registration) = &look.registration {
        keep(Ok(locked(target, registration).into_iter().collect()));
        let in_progress = operation_in_progress(&registration.dir);
        keep(Ok(in_progress.map(unfinished).into_iter().collect()));
        match read_head(git, target, registration) {
            Ok(head) => {
                let detached = match &head {
                    Some(HeadState::Detached { tip }) => Some(tip),
                    _ => None,
                };
                let pushed = &target.pushed;
                let private =
                    head.as_ref().map(|_| private_commits(git, &registration.dir, detached, &seals, pushed));
                keep(private.transpose().map(|judged| {
                    let (finding, reason) = judged.unwrap_or_default();
                    look.assessment.found_elsewhere.extend(reason);
                    finding.into_iter().collect()
                }));
                look.assessment.head = head;
            }
            Err(error) => keep(Err(error)),
        }
    }
    let findings = &mut look.assessment.findings;
    if look.assessment.presence == Presence::Present {
        let looked = match (&look.registration, &target.base) {
            // Work of any kind is in the seal, and that the files, the index and HEAD are as sealed is compared
            // without asking Git. What made Git fail now would have made the seal fail, or differs from it.
            (Some(_), _) if sealed.is_some() => checkout::nested(git, &target.path),
            (Some(registration), _) if !target.never_exposed => {
                checkout::findings(git, target, &registration.dir)
            }
            (registration, Some(base)) => bases_of(registration.as_ref(), base)
                .and_then(|bases| checkout::half_made_findings(git, &target.path, common_dir, &bases)),
            (_, None) => {
                let detail = "The commit at which it was made is not recorded.";
                Ok(vec![Finding::new(FindingKind::Unknown, Vec::new(), detail)])
            }
        };
        match looked {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(Finding::unknown(&error)),
        }
    }
    findings.extend(sealed.and_then(Finding::unsealed));
    match judge_branch(git, target, look.registration.as_ref(), sealed, listed) {
        Ok((BranchFate::WouldLose(_, finding), _)) => findings.push(finding),
        Ok((fate, reason)) => {
            look.assessment.found_elsewhere.extend(reason);
            look.branch = fate;
        }
        Err(error) => findings.push(Finding::unknown(&error)),
    }
}

/// The commits whose files a half-made worktree may have: more than one when it was idle before and was being
/// taken.
fn bases_of(registration: Option<&Registration>, base: &Oid) -> Result<Vec<Oid>, GitError> {
    let note = registration.map(|registration| Note::read(&registration.dir)).transpose()?.flatten();
    let mut bases = vec![base.clone()];
    bases.extend(note.into_iter().flat_map(|note| note.commits).filter(|commit| commit != base));
    Ok(bases)
}

/// A person's lock is respected. Git's own lock of a worktree that it is making is none, once the attempt has
/// failed.
fn locked(target: &RemovalTarget, registration: &Registration) -> Option<Finding> {
    let reason = registration.lock.as_ref()?;
    if target.never_exposed && reason == INITIALIZING {
        return None;
    }
    let detail = if reason.is_empty() {
        "The worktree is locked.".to_owned()
    } else {
        format!("The worktree is locked: {reason}.")
    };
    Some(Finding::new(FindingKind::Locked, Vec::new(), detail))
}

fn unfinished(operation: &str) -> Finding {
    let detail = format!("A {operation} is not finished.");
    Finding::new(FindingKind::OperationInProgress, vec![operation.to_owned()], detail)
}

/// Reads HEAD; one that cannot be read is accepted where the registration may be half made, or half removed by
/// a removal that was cut short.
fn read_head(
    git: &Git,
    target: &RemovalTarget,
    registration: &Registration,
) -> Result<Option<HeadState>, GitError> {
    let lacks = |file: &str| !registration.dir.join(file).exists();
    let may_be_partial = target.never_exposed || lacks("gitdir") || lacks("HEAD") || lacks("commondir");
    match git.head(&registration.dir) {
        Ok(head) => Ok(Some(head)),
        Err(_) if may_be_partial => Ok(None),
        Err(error) => Err(error),
    }
}

/// What becomes of the recorded branch.
pub(super) fn fate_of_branch(
    git: &Git,
    target: &RemovalTarget,
    own: Option<&Registration>,
    sealed: Option<&SealedWorktree>,
    listed: &[ListedWorktree],
) -> Result<BranchFate, GitError> {
    judge_branch(git, target, own, sealed, listed).map(|(fate, _)| fate)
}

/// As [`fate_of_branch`], with the reason why commits that no ref has are no loss.
fn judge_branch(
    git: &Git,
    target: &RemovalTarget,
    own: Option<&Registration>,
    sealed: Option<&SealedWorktree>,
    listed: &[ListedWorktree],
) -> Result<(BranchFate, Option<String>), GitError> {
    if target.branch_policy == BranchPolicy::Keep {
        return Ok((BranchFate::Stays, None));
    }
    let is_elsewhere = listed.iter().any(|listed| {
        listed.branch.as_deref() == Some(&target.branch)
            && listed.registration.as_deref() != own.map(|own| own.name.as_str())
    });
    if is_elsewhere {
        return Ok((BranchFate::Stays, None));
    }
    let is_sealed = |sealed: &SealedWorktree| matches!(&sealed.seal.head, Some(HeadState::Branch { name, .. }) if *name == target.branch);
    let judged = Judged {
        repo: &target.repo,
        branch: &target.branch,
        known_base: target.base.as_ref().filter(|_| target.never_exposed),
        pushed: &target.pushed,
        // What the seal brings back need not be found elsewhere too.
        asks_for_merges: !sealed.is_some_and(is_sealed),
    };
    match (branch_fate(git, &judged)?, sealed) {
        ((BranchFate::WouldLose(tip, finding), _), Some(sealed)) => {
            // A restoration brings back the branch that was checked out. The commits of any other are safe as
            // long as it stays, and who closes a task is not asked about a branch that can stay.
            let restored = HeadState::Branch { name: target.branch.clone(), tip: Some(tip.clone()) };
            drop(finding);
            let is_restored = sealed.seal.head.as_ref() == Some(&restored);
            Ok((if is_restored { BranchFate::Goes(tip) } else { BranchFate::Stays }, None))
        }
        (judged, _) => Ok(judged),
    }
}
