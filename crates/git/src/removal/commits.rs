//! Commits that a removal would leave without a name.

use std::path::Path;

use super::{Finding, FindingKind, MAX_ITEMS, Pushed, merged};
use crate::command::commit_of;
use crate::{Git, GitError, Oid};

/// What becomes of a branch when its worktree goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BranchFate {
    /// There is no such branch.
    Absent,
    /// It stays: by the policy, or because another worktree has it checked out.
    Stays,
    /// It goes, as long as its newest commit is still this one.
    Goes(Oid),
    /// From this newest commit on it would lose commits.
    WouldLose(Oid, Finding),
}

/// A branch that the policy would remove.
pub(super) struct Judged<'a> {
    pub(super) repo: &'a Path,
    pub(super) branch: &'a str,
    /// The base commit of a branch that was made by an attempt that failed; it is no loss, as it was there before.
    pub(super) known_base: Option<&'a Oid>,
    pub(super) pushed: &'a [Pushed],
    /// Whether it matters if the work was merged.
    pub(super) asks_for_merges: bool,
}

/// Judges a branch; with the reason why commits that no ref has are no loss.
pub(super) fn branch_fate(git: &Git, judged: &Judged<'_>) -> Result<(BranchFate, Option<String>), GitError> {
    let Judged { repo, branch, .. } = *judged;
    let reference = format!("refs/heads/{branch}");
    let Some(tip) = commit_of(git, repo, &reference)? else { return Ok((BranchFate::Absent, None)) };
    if judged.known_base == Some(&tip) {
        return Ok((BranchFate::Goes(tip), None));
    }
    let detail = format!("The branch {branch} has commits that no other branch, tag or remote branch has.");
    let walk = Walk { git, dir: repo, without_branch: Some(branch) };
    let Some(finding) = walk.unnamed(&[tip.as_str()], &[], detail)? else {
        return Ok((BranchFate::Goes(tip), None));
    };
    let pushed = if judged.asks_for_merges { judged.pushed } else { &[] };
    Ok(match walk.kept_otherwise(&tip, &[], pushed, judged.asks_for_merges) {
        Ok(Some(reason)) => {
            (BranchFate::Goes(tip), Some(format!("The branch {branch} is found elsewhere. {reason}")))
        }
        Ok(None) => (BranchFate::WouldLose(tip, finding), None),
        Err(error) => (BranchFate::WouldLose(tip, with_doubt(finding, &error)), None),
    })
}

/// The commits that only the worktree itself remembers: those of a detached HEAD and of refs that are private
/// to the worktree.
pub(super) fn private_commits(
    git: &Git,
    registration: &Path,
    detached: Option<&Oid>,
    seals: &[&Oid],
    pushed: &[Pushed],
) -> Result<(Option<Finding>, Option<String>), GitError> {
    let detail = "Commits were made that no branch, tag or remote branch has.".to_owned();
    let worktrees_own = "--glob=refs/worktree/*";
    let mut positive = vec![worktrees_own];
    positive.extend(detached.map(Oid::as_str));
    let held: Vec<&str> = seals.iter().map(|seal| seal.as_str()).collect();
    let walk = Walk { git, dir: registration, without_branch: None };
    let (Some(finding), Some(tip)) = (walk.unnamed(&positive, &held, detail.clone())?, detached) else {
        return Ok((walk.unnamed(&positive, &held, detail)?, None));
    };
    match walk.kept_otherwise(tip, &held, pushed, true) {
        Ok(Some(reason)) => {
            let with_tip: Vec<&str> = held.iter().copied().chain([tip.as_str()]).collect();
            let rest = walk.unnamed(&[worktrees_own], &with_tip, detail)?;
            Ok((rest, Some(format!("The commits on no branch are found elsewhere. {reason}"))))
        }
        Ok(None) => Ok((Some(finding), None)),
        Err(error) => Ok((Some(with_doubt(finding, &error)), None)),
    }
}

/// What could not be found out is said, and is no reason to lose anything.
fn with_doubt(mut finding: Finding, error: &GitError) -> Finding {
    finding.detail = format!("{} Whether they were merged could not be found out: {error}.", finding.detail);
    finding
}

struct Walk<'a> {
    git: &'a Git,
    dir: &'a Path,
    without_branch: Option<&'a str>,
}

impl Walk<'_> {
    /// Says in a sentence why the commits up to `tip` are no loss although no ref has them.
    fn kept_otherwise(
        &self,
        tip: &Oid,
        held: &[&str],
        pushed: &[Pushed],
        asks_for_merges: bool,
    ) -> Result<Option<String>, GitError> {
        if let Some(first) = pushed.first() {
            let seen: Vec<&str> =
                held.iter().copied().chain(pushed.iter().map(|it| it.commit.as_str())).collect();
            if self.unnamed(&[tip.as_str()], &seen, String::new())?.is_none() {
                let at = pushed.iter().find(|it| it.commit == *tip).unwrap_or(first);
                let name = at.reference.strip_prefix("refs/heads/").unwrap_or(&at.reference);
                return Ok(Some(format!("The remote {} has its commits as {name}.", at.remote)));
            }
        }
        if !asks_for_merges {
            return Ok(None);
        }
        merged::merged(self.git, self.dir, tip.as_str(), self.without_branch)
    }

    /// A finding of the commits that can be reached from the given ones and from no ref, nor from what is held.
    fn unnamed(&self, positive: &[&str], held: &[&str], detail: String) -> Result<Option<Finding>, GitError> {
        let others = merged::others(self.without_branch);
        let walk = |options: &[&str]| {
            let command = self.git.read("looking for commits without a branch in", self.dir);
            let command = command.arg("rev-list").args(options).args(positive).arg("--not");
            command.args(&others).args(held).stdout()
        };
        let count = walk(&["--count"])?;
        let total: u64 = String::from_utf8_lossy(&count).trim().parse().unwrap_or(u64::MAX);
        if total == 0 {
            return Ok(None);
        }
        let most = format!("--max-count={MAX_ITEMS}");
        let listed =
            walk(&[&most, "--no-commit-header", "--encoding=UTF-8", "--abbrev=10", "--format=%h %s"])?;
        let items = String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect();
        Ok(Some(Finding { kind: FindingKind::Commits, items, total, detail }))
    }
}
