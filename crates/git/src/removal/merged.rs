//! Work that is found elsewhere although its commits are not: it was merged as one commit or commit by commit, or
//! pushed to a remote whose branches this repository does not follow.
//!
//! Terms: commits are *own* when no branch, tag or remote branch has them but the one that is judged. A *fork* is a
//! commit of others on which own ones stand.
//!
//! Two proofs, each over the files that differ between a fork and the newest own commit: somewhere else all of them
//! are, or once were, exactly as they are here; or somewhere else the same lines were changed in the same way, by one
//! commit for the whole or by one for each. No answer is not a yes: what could not be compared counts as not merged.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Duration;

use super::{Pushed, RemovalTarget};
use crate::command::commit_of;
use crate::{Git, GitError, HeadState};

/// How many commits of others are compared, from the newest on.
const MOST_COMMITS: usize = 1_000;
/// How many files the work may consist of to be looked for.
const MOST_FILES: usize = 500;
/// How many forks are tried.
const MOST_FORKS: usize = 4;
/// How many bytes of patches are compared.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How long a remote may take to say what it has.
const REMOTE_LIMIT: Duration = Duration::from_secs(10);

/// What all refs but the judged branch are called on a command line.
pub(super) fn others(without_branch: Option<&str>) -> Vec<String> {
    let excluded = without_branch.map(|branch| format!("--exclude={branch}"));
    let refs = ["--branches", "--tags", "--remotes"].map(str::to_owned);
    excluded.into_iter().chain(refs).collect()
}

/// Says in a sentence where the work of own commits was merged; none when that is not certain.
pub(super) fn merged(
    git: &Git,
    dir: &Path,
    tip: &str,
    without_branch: Option<&str>,
) -> Result<Option<String>, GitError> {
    let work = Work { git, dir, tip, others: others(without_branch) };
    let (own, forks, has_merges) = work.own()?;
    for fork in forks.iter().take(MOST_FORKS) {
        let Some(files) = work.files_since(fork)? else { continue };
        let there = work.commits_elsewhere(&files)?;
        let found = match work.as_it_is(&there, &files)? {
            Some(commit) => Some(commit),
            None => work.as_a_patch(fork, &there, &files, if has_merges { &[] } else { &own })?,
        };
        if let Some(commit) = found {
            return work.sentence(&commit).map(Some);
        }
    }
    Ok(None)
}

struct Work<'a> {
    git: &'a Git,
    dir: &'a Path,
    tip: &'a str,
    others: Vec<String>,
}

/// A commit of others with its tree.
struct Elsewhere {
    commit: String,
    tree: String,
}

impl Work<'_> {
    fn command(&self, name: &str) -> crate::command::GitCommand {
        let command = self.git.read("looking for merged work in", self.dir);
        command.arg(name).env("GIT_LITERAL_PATHSPECS", "1")
    }

    /// The own commits, their forks, and whether any of them is a merge.
    fn own(&self) -> Result<(Vec<String>, Vec<String>, bool), GitError> {
        let most = format!("--max-count={MOST_COMMITS}");
        let command = self.command("rev-list").args(["--boundary", "--parents", &most, self.tip, "--not"]);
        let listed = text(&command.args(&self.others).stdout()?);
        let (mut own, mut forks, mut has_merges) = (Vec::new(), Vec::new(), false);
        for line in listed.lines() {
            let mut ids = line.split(' ');
            let Some(id) = ids.next() else { continue };
            match id.strip_prefix('-') {
                Some(fork) => forks.push(fork.to_owned()),
                None => {
                    has_merges |= ids.count() > 1;
                    own.push(id.to_owned());
                }
            }
        }
        Ok((own, forks, has_merges))
    }

    /// The files of the work; none when there are none or too many.
    fn files_since(&self, fork: &str) -> Result<Option<Vec<OsString>>, GitError> {
        let command = self.command("diff-tree").args(["-r", "-z", "--no-renames", "--name-only"]);
        let listed = command.args([fork, self.tip]).stdout()?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files: Vec<OsString> = names.map(|name| OsString::from_vec(name.to_vec())).collect();
        Ok((1..=MOST_FILES).contains(&files.len()).then_some(files))
    }

    /// The commits that others have, this side has not, and that changed any of the files.
    fn commits_elsewhere(&self, files: &[OsString]) -> Result<Vec<Elsewhere>, GitError> {
        let most = format!("--max-count={MOST_COMMITS}");
        let command = self.command("rev-list").args(["--no-commit-header", "--format=%H %T", &most]);
        let command = command.args(&self.others).args(["--not", self.tip, "--"]).args(files);
        let listed = text(&command.stdout()?);
        let ids = listed.lines().filter_map(|line| line.split_once(' '));
        Ok(ids.map(|(commit, tree)| Elsewhere { commit: commit.into(), tree: tree.into() }).collect())
    }

    /// The commit in which all of the files are exactly as they are here.
    fn as_it_is(&self, there: &[Elsewhere], files: &[OsString]) -> Result<Option<String>, GitError> {
        if there.is_empty() {
            return Ok(None);
        }
        let tree = text(&self.command("rev-parse").arg(format!("{}^{{tree}}", self.tip)).stdout()?);
        let pairs: String = there.iter().map(|it| format!("{} {}\n", it.tree, tree.trim())).collect();
        let command = self.command("diff-tree").args(["--stdin", "-r", "--raw", "--no-renames", "--"]);
        let compared = command.args(files).input(pairs.into_bytes()).limit(MOST_BYTES).output()?;
        if !compared.is_success() || compared.is_cut {
            return Ok(None);
        }
        let compared = text(&compared.stdout);
        let mut different = BTreeSet::new();
        let mut current = None;
        for line in compared.lines() {
            match line.starts_with(':') {
                true => different.extend(current),
                false => current = line.split(' ').next(),
            }
        }
        let is_same = |it: &&Elsewhere| !different.contains(it.tree.as_str());
        Ok(there.iter().find(is_same).map(|it| it.commit.clone()))
    }

    /// The commit that makes the same change as all own ones together, or the newest of those that make the same
    /// changes one by one.
    fn as_a_patch(
        &self,
        fork: &str,
        there: &[Elsewhere],
        files: &[OsString],
        own: &[String],
    ) -> Result<Option<String>, GitError> {
        let counted = self.command("diff-tree").args(["-r", "--numstat", "--no-renames", fork, self.tip]);
        let is_text = !text(&counted.stdout()?).lines().any(|line| line.starts_with('-'));
        if there.is_empty() || !is_text {
            return Ok(None);
        }
        let theirs: String = there.iter().map(|it| format!("{}\n", it.commit)).collect();
        let Some(theirs) = self.patches(&["--stdin"], theirs, files)? else { return Ok(None) };
        let commit_with =
            |patch: &String| theirs.iter().find(|(id, _)| id == patch).map(|(_, commit)| commit.clone());
        let whole = self.patches(&[fork, self.tip], String::new(), files)?;
        if let Some(commit) = whole.iter().flatten().find_map(|(patch, _)| commit_with(patch)) {
            return Ok(Some(commit));
        }
        let one_by_one: String = own.iter().map(|id| format!("{id}\n")).collect();
        let Some(mine) = self.patches(&["--stdin"], one_by_one, files)?.filter(|mine| !mine.is_empty())
        else {
            return Ok(None);
        };
        let found: Option<Vec<String>> = mine.iter().map(|(patch, _)| commit_with(patch)).collect();
        // A commit without a change has no patch, and nothing stands for it elsewhere.
        Ok(found.filter(|found| found.len() == own.len()).and_then(|found| found.into_iter().next()))
    }

    /// The ids of patches with their commits; none when Git is too old to compare every byte, or there is too much.
    fn patches(
        &self,
        what: &[&str],
        input: String,
        files: &[OsString],
    ) -> Result<Option<Vec<(String, String)>>, GitError> {
        let command = self.command("diff-tree").args(["-p", "-r", "--no-renames", "--full-index"]);
        let command = command.args(["--no-ext-diff", "--no-textconv", "--no-color"]).args(what).arg("--");
        let printed = command.args(files).input(input.into_bytes()).limit(MOST_BYTES).output()?;
        if !printed.is_success() || printed.is_cut {
            return Ok(None);
        }
        let command = self.command("patch-id").arg("--verbatim").input(printed.stdout);
        let ids = command.output()?;
        let pairs = |line: &str| line.split_once(' ').map(|(id, commit)| (id.to_owned(), commit.to_owned()));
        Ok(ids.is_success().then(|| text(&ids.stdout).lines().filter_map(pairs).collect()))
    }

    fn sentence(&self, commit: &str) -> Result<String, GitError> {
        let command = self.command("for-each-ref").args(["--count=1", "--format=%(refname:short)"]);
        let contains = format!("--contains={commit}");
        let named = command.args([&contains, "refs/heads", "refs/remotes", "refs/tags"]).stdout()?;
        let short = commit.get(..10).unwrap_or(commit);
        Ok(format!("Its changes were merged: {} has them since {short}.", text(&named).trim()))
    }
}

/// Asks every remote whether it has commits of the target that nothing here remembers. A remote that cannot be asked
/// is told by the error, once the others were asked.
pub(super) fn pushed(git: &Git, target: &RemovalTarget) -> Result<Vec<Pushed>, GitError> {
    let branch = format!("refs/heads/{}", target.branch);
    let mut tips = vec![(commit_of(git, &target.repo, &branch)?, Some(target.branch.as_str()))];
    let head = git.list_worktrees(&target.repo)?.into_iter().find(|listed| listed.path == target.path);
    let detached = head.filter(|listed| listed.branch.is_none());
    if detached.is_some()
        && let Ok(HeadState::Detached { tip }) = git.head(&target.path)
    {
        tips.push((Some(tip), None));
    }
    let mut own = BTreeSet::new();
    for (tip, without_branch) in tips.iter().filter_map(|(tip, branch)| Some((tip.as_ref()?, branch))) {
        let others = others(*without_branch);
        let work = Work { git, dir: &target.repo, tip: tip.as_str(), others };
        own.extend(work.own()?.0);
    }
    let mut found = Vec::new();
    if own.is_empty() {
        return Ok(found);
    }
    let mut failed = None;
    let git = git.clone().with_fetch_limit(REMOTE_LIMIT);
    for remote in git.remotes(&target.repo)? {
        match git.refs_of_remote(&target.repo, &remote) {
            Ok(listed) => found.extend(listed.into_iter().filter_map(|(id, reference)| {
                let commit = own.contains(&id).then(|| id.parse().ok())??;
                Some(Pushed { remote: remote.clone(), reference, commit })
            })),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
