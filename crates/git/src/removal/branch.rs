//! What becomes of a branch, by compare-and-swap: a branch that moved since it was looked at stays.

use std::path::Path;

use super::{BranchPolicy, Finding, FindingKind, RemovalTarget};
use crate::command::GitCommand;
use crate::lock::RepositoryLock;
use crate::{Git, GitError, Oid};

/// How many commits a finding lists.
const MAX_LISTED: usize = 50;

/// Removes the branch where the policy says so; true when it went.
pub(super) fn apply_policy(
    git: &Git,
    target: &RemovalTarget,
    lock: &RepositoryLock,
) -> Result<bool, GitError> {
    if target.branch_policy == BranchPolicy::Keep {
        return Ok(false);
    }
    let Some(tip) = tip_of(&target.repo, &target.branch)? else { return Ok(false) };
    if target.never_exposed && tip != target.base {
        return Ok(false);
    }
    if !commits_only_on(&target.repo, &tip, Some(&target.branch))?.is_empty() {
        return Ok(false);
    }
    remove_at(git, &target.repo, &target.branch, &tip, lock)
}

/// Removes a branch if it still is at `tip` and checked out nowhere; true when it went.
pub(super) fn remove_at(
    git: &Git,
    repo: &Path,
    branch: &str,
    tip: &Oid,
    _lock: &RepositoryLock,
) -> Result<bool, GitError> {
    if tip_of(repo, branch)?.as_ref() != Some(tip) || is_checked_out(git, repo, branch)? {
        return Ok(false);
    }
    let full = format!("refs/heads/{branch}");
    GitCommand::change(repo, "update-ref", &[]).args(["-d", &full, tip.as_str()]).run()?;
    Ok(true)
}

fn is_checked_out(git: &Git, repo: &Path, branch: &str) -> Result<bool, GitError> {
    Ok(git.list_worktrees(repo)?.iter().any(|worktree| worktree.branch.as_deref() == Some(branch)))
}

pub(super) fn tip_of(repo: &Path, branch: &str) -> Result<Option<Oid>, GitError> {
    let full = format!("refs/heads/{branch}");
    let (output, _) = GitCommand::read(repo, "rev-parse").args(["--verify", "--quiet", &full]).output()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "" => Ok(None),
        text => text.parse().map(Some),
    }
}

/// The finding about commits that no ref but the branch itself holds; none when they are all found elsewhere.
pub(super) fn commits_at_stake(
    repo: &Path,
    tip: &Oid,
    branch: Option<&str>,
) -> Result<Option<Finding>, GitError> {
    let commits = commits_only_on(repo, tip, branch)?;
    if commits.is_empty() {
        return Ok(None);
    }
    let total = u64::try_from(commits.len()).unwrap_or(u64::MAX);
    let place = match branch {
        Some(branch) => format!("the branch {branch}"),
        None => "a HEAD without a branch".into(),
    };
    let detail = format!("{total} commit(s) are only on {place}");
    let items = commits.into_iter().take(MAX_LISTED).collect();
    Ok(Some(Finding { kind: FindingKind::Commits, items, total, detail }))
}

/// The commits reachable from `tip` and from no ref other than `branch`, as `<short id> <subject>`.
fn commits_only_on(repo: &Path, tip: &Oid, branch: Option<&str>) -> Result<Vec<String>, GitError> {
    let mut command = GitCommand::read(repo, "log").args(["--format=%h %s", "--no-show-signature"]);
    command = command.args([tip.as_str(), "--not"]);
    if let Some(branch) = branch {
        command = command.arg(format!("--exclude=refs/heads/{}", escape_glob(branch)));
    }
    let output =
        command.args(["--glob=refs/heads", "--glob=refs/remotes", "--glob=refs/tags", "--"]).run()?;
    let text = String::from_utf8_lossy(&output);
    Ok(text.lines().map(str::to_owned).collect())
}

/// A branch name has no glob characters by Git's rules for refs, but a bracket is allowed at its end.
fn escape_glob(branch: &str) -> String {
    branch.replace('\\', "\\\\").replace(']', "\\]")
}
