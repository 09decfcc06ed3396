//! Commits that a removal would leave without a name.

use std::path::Path;

use super::{Finding, FindingKind, MAX_ITEMS};
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

/// Judges a branch that the policy would remove. On a branch that was made by an attempt that failed, the base
/// commit is no loss: it was there before.
pub(super) fn branch_fate(
    git: &Git,
    repo: &Path,
    branch: &str,
    base_is_known: Option<&Oid>,
) -> Result<BranchFate, GitError> {
    let reference = format!("refs/heads/{branch}");
    let Some(tip) = commit_of(git, repo, &reference)? else { return Ok(BranchFate::Absent) };
    if base_is_known == Some(&tip) {
        return Ok(BranchFate::Goes(tip));
    }
    let detail = format!("The branch {branch} has commits that no other branch, tag or remote branch has.");
    Ok(match unnamed(git, repo, &[tip.as_str()], Some(branch), None, detail)? {
        Some(finding) => BranchFate::WouldLose(tip, finding),
        None => BranchFate::Goes(tip),
    })
}

/// The commits that only the worktree itself remembers: those of a detached HEAD and of refs that are private
/// to the worktree.
pub(super) fn private_commits(
    git: &Git,
    registration: &Path,
    detached: Option<&Oid>,
    seal: Option<&Oid>,
) -> Result<Option<Finding>, GitError> {
    let detail = "Commits were made that no branch, tag or remote branch has.";
    let mut positive = vec!["--glob=refs/worktree/*"];
    positive.extend(detached.map(Oid::as_str));
    unnamed(git, registration, &positive, None, seal, detail.to_owned())
}

/// A finding of the commits that can be reached from the given ones and from no ref or seal that stays.
fn unnamed(
    git: &Git,
    dir: &Path,
    positive: &[&str],
    without_branch: Option<&str>,
    seal: Option<&Oid>,
    detail: String,
) -> Result<Option<Finding>, GitError> {
    let excluded = without_branch.map(|branch| format!("--exclude={branch}"));
    let refs = ["--branches", "--tags", "--remotes"];
    let walk = |options: &[&str]| {
        let command = git.read("looking for commits without a branch in", dir).arg("rev-list").args(options);
        command.args(positive).arg("--not").args(&excluded).args(refs).args(seal.map(Oid::as_str)).stdout()
    };
    let count = walk(&["--count"])?;
    let total: u64 = String::from_utf8_lossy(&count).trim().parse().unwrap_or(u64::MAX);
    if total == 0 {
        return Ok(None);
    }
    let most = format!("--max-count={MAX_ITEMS}");
    let listed = walk(&[&most, "--no-commit-header", "--encoding=UTF-8", "--abbrev=10", "--format=%h %s"])?;
    let items = String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect();
    Ok(Some(Finding { kind: FindingKind::Commits, items, total, detail }))
}
