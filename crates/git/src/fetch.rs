//! Fetching one ref of a remote, for a start point.
//!
//! Invariant: a fetch changes nothing that a person or another tool looks at. No branch, remote branch or tag
//! moves, `FETCH_HEAD` and the configuration stay, and what was fetched gets a name of its own under
//! `refs/freehold/fetched/<remote>/…`. So the objects come without the lock of the repository, and only the name
//! is written under it.

use std::path::Path;

use crate::command::commit_of;
use crate::{Git, GitError, Oid};

/// The namespace of what was fetched.
const FETCHED: &str = "refs/freehold/fetched";

/// How often a ref that moves while it is fetched is fetched again.
const ATTEMPTS: usize = 3;

/// A ref as a remote has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRef {
    /// The remote, as the repository names it.
    pub remote: String,
    /// The full name of the ref, for example `refs/pull/42/head`.
    pub reference: String,
}

impl RemoteRef {
    /// The name under which Freehold keeps what was fetched.
    #[must_use]
    pub fn private_name(&self) -> String {
        let short = self.reference.strip_prefix("refs/").unwrap_or(&self.reference);
        format!("{FETCHED}/{}/{short}", self.remote)
    }
}

impl Git {
    /// The names of the remotes of a repository.
    pub fn remotes(&self, repo: &Path) -> Result<Vec<String>, GitError> {
        let listed = self.read("listing the remotes of", repo).arg("remote").stdout()?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    /// Reads what a person names: a full ref, a pull or merge request such as `pull/42/head`, and the remote or,
    /// when there is only one, none. Speaks with no remote.
    pub fn remote_ref(&self, repo: &Path, remote: Option<&str>, name: &str) -> Result<RemoteRef, GitError> {
        let remote = self.require_remote(repo, remote.unwrap_or_default())?;
        let reference = if name.starts_with("refs/") { name.to_owned() } else { format!("refs/{name}") };
        let command = self.read("checking the name of a ref for", repo).arg("check-ref-format");
        // A `+` would begin a refspec, and one part alone, such as `heads`, is a folder of refs.
        let is_ref = !name.starts_with('+')
            && reference.matches('/').count() >= 2
            && command.arg(&reference).output()?.is_success();
        if is_ref { Ok(RemoteRef { remote, reference }) } else { Err(invalid(name)) }
    }

    /// The ref of the remote that a remote branch such as `origin/main` remembers; none when the name is no remote
    /// branch's.
    pub fn remembered_ref(&self, repo: &Path, name: &str) -> Result<Option<RemoteRef>, GitError> {
        let remotes = self.remotes(repo)?.into_iter();
        let named =
            remotes.filter(|remote| name.strip_prefix(remote.as_str()).is_some_and(|it| it.starts_with('/')));
        let Some(remote) = named.max_by_key(String::len) else { return Ok(None) };
        let branch = name.get(remote.len() + 1..).unwrap_or_default();
        self.remote_ref(repo, Some(&remote), &format!("refs/heads/{branch}")).map(Some)
    }

    fn require_remote(&self, repo: &Path, name: &str) -> Result<String, GitError> {
        let known = self.remotes(repo)?;
        match (name, known.as_slice()) {
            ("", [only]) => Ok(only.clone()),
            (name, known) if known.iter().any(|remote| remote == name) => Ok(name.to_owned()),
            _ => Err(GitError::UnknownRemote { repo: repo.to_owned(), name: name.to_owned(), known }),
        }
    }

    /// Fetches a ref and returns the commit that it has on the remote now.
    pub fn fetch(&self, repo: &Path, wanted: &RemoteRef) -> Result<Oid, GitError> {
        let common_dir = self.common_dir(repo)?;
        for _ in 0..ATTEMPTS {
            let id = self.ask_remote(&common_dir, wanted)?;
            self.bring(&common_dir, wanted)?;
            // The object of an annotated tag leads to its commit.
            if let Some(commit) = commit_of(self, &common_dir, id.as_str())? {
                self.name_fetched(&common_dir, wanted, &commit)?;
                return Ok(commit);
            }
        }
        let (repo, remote) = (repo.to_owned(), wanted.remote.clone());
        Err(GitError::RemoteRefMissing { repo, remote, reference: wanted.reference.clone() })
    }

    /// Asks the remote what the ref is.
    fn ask_remote(&self, common_dir: &Path, wanted: &RemoteRef) -> Result<Oid, GitError> {
        let command =
            self.reach_remote("asking a remote of", common_dir)?.args(["ls-remote", "--quiet", "--"]);
        let listed = command.args([&wanted.remote, &wanted.reference]).stdout()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        // The remote may list more, as it takes the name for the end of one.
        let ids = listed.lines().filter_map(|line| line.split_once('\t'));
        let id = ids.filter(|(_, name)| *name == wanted.reference).map(|(id, _)| id).next();
        let missing = || GitError::RemoteRefMissing {
            repo: common_dir.to_owned(),
            remote: wanted.remote.clone(),
            reference: wanted.reference.clone(),
        };
        id.ok_or_else(missing)?.parse()
    }

    /// Every branch and tag that a remote has now, as commit and full name; brings and writes nothing.
    pub(crate) fn refs_of_remote(
        &self,
        repo: &Path,
        remote: &str,
    ) -> Result<Vec<(String, String)>, GitError> {
        let common_dir = self.common_dir(repo)?;
        let command = self.reach_remote("asking a remote of", &common_dir)?;
        let command = command.args(["ls-remote", "--quiet", "--heads", "--tags", "--", remote]);
        let listed = String::from_utf8_lossy(&command.stdout()?).into_owned();
        let refs = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(refs.map(|(id, name)| (id.to_owned(), name.to_owned())).collect())
    }

    /// Brings the objects, and writes no ref.
    fn bring(&self, common_dir: &Path, wanted: &RemoteRef) -> Result<(), GitError> {
        let command = self.reach_remote("fetching into", common_dir)?;
        let command = command.args(["-c", "fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags"]);
        let command = command.args(["--no-write-fetch-head", "--no-auto-maintenance", "--no-prune"]);
        let command = command.args(["--no-recurse-submodules", "--refmap=", "--"]);
        command.args([&wanted.remote, &wanted.reference]).stdout().map(drop)
    }

    fn name_fetched(&self, common_dir: &Path, wanted: &RemoteRef, commit: &Oid) -> Result<(), GitError> {
        let lock = self.lock_repository(common_dir)?;
        let command = self.write("naming what was fetched into", common_dir, &lock);
        command.args(["update-ref", &wanted.private_name(), commit.as_str()]).run()
    }

    /// A command that speaks with a remote; an ssh that would ask a question fails instead.
    fn reach_remote(
        &self,
        operation: &'static str,
        common_dir: &Path,
    ) -> Result<crate::command::GitCommand, GitError> {
        let command = self.reach(operation, common_dir)?;
        Ok(match self.quiet_ssh(common_dir)? {
            Some(ssh) => command.env("GIT_SSH_COMMAND", ssh),
            None => command,
        })
    }

    /// The ssh of the person's choice, told to ask nothing; none when it is not known to be OpenSSH's.
    fn quiet_ssh(&self, common_dir: &Path) -> Result<Option<String>, GitError> {
        let setting = |name: &str| {
            let command = self.read("reading the settings of", common_dir).args(["config", "--get", name]);
            let found = command.answer()?;
            Ok::<_, GitError>(found.map(|text| String::from_utf8_lossy(&text).trim().to_owned()))
        };
        let variable = |name: &str| self.variable(name).map(|value| value.to_string_lossy().into_owned());
        let variant = match variable("GIT_SSH_VARIANT") {
            Some(variant) => Some(variant),
            None => setting("ssh.variant")?,
        };
        let chosen = match variable("GIT_SSH_COMMAND") {
            Some(command) => Some(command),
            None => setting("core.sshCommand")?,
        };
        let is_other = chosen.is_none() && variable("GIT_SSH").is_some();
        if is_other || variant.is_some_and(|variant| !matches!(variant.as_str(), "ssh" | "auto")) {
            return Ok(None);
        }
        let chosen = chosen.unwrap_or_else(|| "ssh".to_owned());
        let program = chosen.split_whitespace().next().unwrap_or_default();
        let is_openssh = Path::new(program).file_name().is_some_and(|name| name == "ssh");
        Ok(is_openssh.then(|| format!("{chosen} -oBatchMode=yes")))
    }
}

fn invalid(name: &str) -> GitError {
    GitError::InvalidRemoteRef { name: name.to_owned() }
}
