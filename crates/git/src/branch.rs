//! Branches: listing, resolving where work starts, and naming the branch of a task.
//!
//! Names come from people and agents. They are arguments after `--end-of-options` or full ref names, so that a
//! name like `--help` is only ever an unknown branch.

use std::path::Path;

use crate::command::commit_of;
use crate::{Git, GitError, Oid};

pub(crate) mod existing;
mod name;

pub use existing::ExistingBranch;

/// A branch of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its name: `main`, or `origin/main` for a remote one.
    pub name: String,
    /// Whether it is Git's memory of a branch of a remote.
    pub is_remote: bool,
    /// Its newest commit.
    pub commit: Oid,
    /// When that was committed, in seconds since 1970.
    pub committed_at_unix: i64,
}

/// Where work starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartPoint {
    /// The branch, tag or commit as it was named.
    pub name: String,
    /// The commit it stands for.
    pub commit: Oid,
}

impl Git {
    /// Lists local and remote branches, the most recently committed first.
    pub fn list_branches(&self, repo: &Path) -> Result<Vec<Branch>, GitError> {
        const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(symref)";
        let command = self.read("listing the branches of", repo);
        let command = command.args(["for-each-ref", "--sort=refname", "--sort=-committerdate", FORMAT]);
        let listed = command.args(["refs/heads", "refs/remotes"]).stdout()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        // A line that ends with something is a symbolic ref, such as `origin/HEAD`, and no branch of its own.
        let branches = listed.lines().filter(|line| line.ends_with('\0')).map(parse_branch);
        branches.collect::<Option<_>>().ok_or_else(|| GitError::Unreadable {
            operation: "listing the branches of",
            subject: repo.to_owned(),
            excerpt: listed.chars().take(200).collect(),
        })
    }

    /// Resolves a branch, remote branch, tag or commit, in this order.
    pub fn resolve_start(&self, repo: &Path, name: &str) -> Result<StartPoint, GitError> {
        for revision in candidates(name) {
            if let Some(commit) = commit_of(self, repo, &revision)? {
                return Ok(StartPoint { name: name.to_owned(), commit });
            }
        }
        let near = near_names(name, self.start_names(repo)?);
        Err(GitError::UnknownStart { repo: repo.to_owned(), name: name.to_owned(), near })
    }

    /// Finds the newest commit that the checkout and a branch, remote branch, tag or commit have in common.
    pub fn merge_base(&self, worktree: &Path, name: &str) -> Result<Oid, GitError> {
        let start = self.resolve_start(worktree, name)?;
        let command = self.read("looking for the common commit in", worktree).arg("merge-base");
        match command.args(["HEAD", start.commit.as_str()]).answer()? {
            Some(output) => Oid::from_output(&output),
            None => Err(GitError::NoMergeBase { worktree: worktree.to_owned(), name: start.name }),
        }
    }

    /// Makes up a branch name from any title: valid, at most 200 bytes, safe on every file system, and free.
    /// Nothing is reserved; making the branch is what decides.
    pub fn unused_branch_name(
        &self,
        repo: &Path,
        prefix: &str,
        title: &str,
        suffix: &str,
    ) -> Result<String, GitError> {
        let command = self.read("listing the branches of", repo);
        let command = command.args(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"]);
        let (mut local, mut remote) = (Vec::new(), Vec::new());
        for full_name in lines(&command.stdout()?) {
            if let Some(name) = full_name.strip_prefix("refs/heads/") {
                local.push(name.to_owned());
            } else if let Some((_, name)) = full_name.trim_start_matches("refs/remotes/").split_once('/') {
                remote.push(name.to_owned());
            }
        }
        Ok(name::unused(&name::branch_name(prefix, title, suffix), &local, &remote))
    }

    /// Whether a local branch of this name is there.
    pub fn has_branch(&self, repo: &Path, name: &str) -> Result<bool, GitError> {
        Ok(!name.is_empty() && commit_of(self, repo, &format!("refs/heads/{name}"))?.is_some())
    }

    /// The names of all local branches.
    pub(crate) fn branch_names(&self, repo: &Path) -> Result<Vec<String>, GitError> {
        let command = self.read("listing the branches of", repo);
        let listed = command.args(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"]).stdout()?;
        Ok(lines(&listed))
    }

    fn start_names(&self, repo: &Path) -> Result<Vec<String>, GitError> {
        let command = self.read("listing the branches and tags of", repo);
        let command = command.args(["for-each-ref", "--format=%(refname:lstrip=2)"]);
        Ok(lines(&command.args(["refs/heads", "refs/remotes", "refs/tags"]).stdout()?))
    }
}

fn lines(output: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(output).lines().map(str::to_owned).collect()
}

/// Reads one line of the list.
fn parse_branch(line: &str) -> Option<Branch> {
    let mut fields = line.split('\0');
    let (full_name, commit, committed_at) = (fields.next()?, fields.next()?, fields.next()?);
    let (name, is_remote) = match full_name.strip_prefix("refs/heads/") {
        Some(name) => (name, false),
        None => (full_name.strip_prefix("refs/remotes/")?, true),
    };
    let (commit, committed_at_unix) = (commit.parse().ok()?, committed_at.parse().ok()?);
    Some(Branch { name: name.to_owned(), is_remote, commit, committed_at_unix })
}

/// The full forms of a name, the likeliest first. Expressions such as `main~3` or `:/text` are no names.
fn candidates(name: &str) -> Vec<String> {
    if !is_name(name) {
        return Vec::new();
    }
    let mut candidates: Vec<String> =
        ["refs/heads/", "refs/remotes/", "refs/tags/"].map(|space| format!("{space}{name}")).into();
    let is_commit = (4..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit || name == "HEAD" || name.starts_with("refs/") {
        candidates.push(name.to_owned());
    }
    candidates
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.chars().any(|char| char.is_control() || " ~^:?*[\\".contains(char))
        && !name.contains("@{")
}

/// Up to five names that a person may have meant.
fn near_names(wanted: &str, names: Vec<String>) -> Vec<String> {
    const MOST: usize = 5;
    let wanted = wanted.to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let limit = (wanted.chars().count() / 3).max(2);
    let mut near: Vec<(usize, String)> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let distance = if lower.contains(&wanted) { 0 } else { edit_distance(&wanted, &lower) };
        if distance <= limit {
            near.push((distance, name));
        }
    }
    near.sort();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How many characters must be inserted, removed or replaced to get from one text to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, char) in from.chars().take(200).enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(char != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edit_distance_counts_changes() {
        assert_eq!(edit_distance("main", "main"), 0);
        assert_eq!(edit_distance("mian", "main"), 2);
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn expressions_and_options_are_not_taken_for_names() {
        for text in ["", "main~1", "HEAD^", ":/fix", "a b", "main@{1}", "x\0y"] {
            assert!(candidates(text).is_empty(), "{text:?}");
        }
        assert!(candidates("--help").iter().all(|candidate| candidate.starts_with("refs/")));
    }
}
