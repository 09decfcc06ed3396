//! Branches that were there before: which one a name means, and where it is checked out.

use std::path::{Path, PathBuf};

use super::{lines, name, near_names};
use crate::command::commit_of;
use crate::{Git, GitError, Oid};

/// A branch that a worktree is to work on, and not one that is made for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingBranch {
    /// The local branch.
    pub branch: String,
    /// Its newest commit.
    pub commit: Oid,
    /// The remote branch from which the local one is still to be made; none when the local one exists.
    pub remote_branch: Option<String>,
}

impl Git {
    /// Finds the branch that a name means: a local branch; or a remote one, with its remote or, when only one has
    /// it, without.
    pub fn resolve_branch(&self, repo: &Path, name: &str) -> Result<ExistingBranch, GitError> {
        if let Some(commit) = self.tip_of(repo, "refs/heads", name)? {
            return Ok(ExistingBranch { branch: name.to_owned(), commit, remote_branch: None });
        }
        let Some((remote_branch, branch)) = self.remote_branch(repo, name)? else {
            let near = near_names(name, self.names_to_check_out(repo)?);
            return Err(GitError::UnknownBranch { repo: repo.to_owned(), name: name.to_owned(), near });
        };
        let tip = self.tip_of(repo, "refs/remotes", &remote_branch)?;
        let commit = tip.ok_or_else(|| GitError::UnknownBranch {
            repo: repo.to_owned(),
            name: name.to_owned(),
            near: Vec::new(),
        })?;
        match self.tip_of(repo, "refs/heads", &branch)? {
            None => Ok(ExistingBranch { branch, commit, remote_branch: Some(remote_branch) }),
            Some(local) if local == commit => Ok(ExistingBranch { branch, commit, remote_branch: None }),
            Some(_) => Err(GitError::LocalBranchDiffers { repo: repo.to_owned(), branch, remote_branch }),
        }
    }

    /// Fails when a branch is checked out, or is being rebased or bisected, in any checkout of the repository.
    pub fn require_unused_branch(&self, repo: &Path, branch: &str) -> Result<(), GitError> {
        let listed = self.list_worktrees(repo)?;
        match listed.iter().find(|checkout| checkout.branch.as_deref() == Some(branch)) {
            Some(checkout) => Err(self.branch_in_use(repo, branch, &checkout.path)?),
            None => Ok(()),
        }
    }

    /// Fails unless a branch of the name can be made: Git allows the name and no branch stands in its way.
    pub fn require_free_branch(&self, repo: &Path, branch: &str) -> Result<(), GitError> {
        self.require_branch_name(repo, branch)?;
        let free = name::unused(branch, &self.branch_names(repo)?, &[]);
        if free == branch {
            return Ok(());
        }
        let reason = format!("another branch has the name or stands in its way; {free:?} is free");
        Err(GitError::BranchTaken { repo: repo.to_owned(), branch: branch.to_owned(), reason })
    }

    /// The error that says where a branch is checked out, with a free name for a new one.
    pub(crate) fn branch_in_use(
        &self,
        repo: &Path,
        branch: &str,
        checkout: &Path,
    ) -> Result<GitError, GitError> {
        let checkout = checkout.canonicalize().unwrap_or_else(|_| checkout.to_owned());
        let listed = self.list_worktrees(repo)?;
        let is_main = listed.iter().any(|one| one.registration.is_none() && one.path == checkout);
        let free = name::unused(branch, &self.branch_names(repo)?, &[]);
        let (repo, branch) = (repo.to_owned(), branch.to_owned());
        Ok(GitError::BranchInUse { repo, branch, checkout, is_main, free })
    }

    /// The remote branch that a name means, and the name that its local branch has.
    fn remote_branch(&self, repo: &Path, name: &str) -> Result<Option<(String, String)>, GitError> {
        let remotes = self.remotes(repo)?;
        let own_name = |remote: &String| name.strip_prefix(remote.as_str())?.strip_prefix('/');
        let longest = remotes.iter().filter(|remote| own_name(remote).is_some()).max_by_key(|it| it.len());
        if let Some(branch) = longest.and_then(own_name)
            && self.tip_of(repo, "refs/remotes", name)?.is_some()
        {
            return Ok(Some((name.to_owned(), branch.to_owned())));
        }
        let mut among = Vec::new();
        for remote in remotes {
            let full = format!("{remote}/{name}");
            if self.tip_of(repo, "refs/remotes", &full)?.is_some() {
                among.push(full);
            }
        }
        match <[String; 1]>::try_from(among) {
            Ok([only]) => Ok(Some((only, name.to_owned()))),
            Err(none) if none.is_empty() => Ok(None),
            Err(among) => {
                let (repo, name) = (repo.to_owned(), name.to_owned());
                Err(GitError::AmbiguousBranch { repo, name, among })
            }
        }
    }

    fn tip_of(&self, repo: &Path, space: &str, name: &str) -> Result<Option<Oid>, GitError> {
        if !super::is_name(name) || name == "HEAD" || name.ends_with("/HEAD") {
            return Ok(None);
        }
        commit_of(self, repo, &format!("{space}/{name}"))
    }

    /// The names of local branches, and those that remote branches have on their remotes.
    fn names_to_check_out(&self, repo: &Path) -> Result<Vec<String>, GitError> {
        let command = self.read("listing the branches of", repo);
        let command = command.args(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes"]);
        let mut names = self.branch_names(repo)?;
        names.extend(lines(&command.stdout()?));
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Reads where a branch is checked out from what Git says when it refuses to check it out a second time.
pub(crate) fn checkout_named_in(message: &str) -> Option<PathBuf> {
    let named = ["is already checked out at '", "is already used by worktree at '"];
    let rest = named.iter().find_map(|before| message.split_once(before)).map(|(_, rest)| rest)?;
    rest.rsplit_once('\'').map(|(path, _)| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_any_version_names_the_checkout() {
        for message in [
            "'feat' is already checked out at '/a/it's here'",
            "'feat' is already used by worktree at '/a/it's here'",
        ] {
            assert_eq!(checkout_named_in(message), Some(PathBuf::from("/a/it's here")), "{message}");
        }
        assert_eq!(checkout_named_in("could not create directory '/a'"), None);
    }
}
