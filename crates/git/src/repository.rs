//! Looking at a folder that a person names as a repository.
//!
//! Runs nothing from the repository. What is accepted is brought to one form: the top of the main checkout, or
//! the directory of a bare repository; a note says when that is not the folder that was named.

use std::path::{Path, PathBuf};

use crate::command::{commit_of, path_from_output};
use crate::{Git, GitError, HeadState, Oid};

/// What is known about a repository before it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryInfo {
    /// The canonical top of the main checkout, or the directory of the bare repository.
    pub path: PathBuf,
    /// The canonical common directory.
    pub common_dir: PathBuf,
    /// Whether it has no checkout of its own.
    pub is_bare: bool,
    /// The branch that work starts from unless another is named.
    pub default_branch: String,
    /// The commit that HEAD points at.
    pub head: Oid,
    /// A sentence for people when `path` is not the folder that was named.
    pub note: Option<String>,
}

impl Git {
    /// Looks at a folder and tells what repository it belongs to, or why it cannot be used.
    pub fn inspect_repository(&self, path: &Path) -> Result<RepositoryInfo, GitError> {
        let named = existing_directory(path)?;
        let common_dir = self.common_dir(&named)?;
        let is_bare = self.is_bare(&common_dir)?;
        let top = if is_bare { common_dir.clone() } else { self.main_checkout(&named, &common_dir)? };
        let head = commit_of(self, &common_dir, "HEAD")?;
        let head = head.ok_or_else(|| GitError::NoCommit { path: top.clone() })?;
        let default_branch = self.default_branch(&common_dir, &top)?;
        let note = self.note(&named, &top, &common_dir)?;
        Ok(RepositoryInfo { path: top, common_dir, is_bare, default_branch, head, note })
    }

    /// The canonical common directory of the repository that a path lies in.
    pub(crate) fn common_dir(&self, path: &Path) -> Result<PathBuf, GitError> {
        self.git_path(path, "--git-common-dir")
    }

    /// The canonical Git directory of the checkout that a path lies in.
    pub(crate) fn git_dir(&self, path: &Path) -> Result<PathBuf, GitError> {
        self.git_path(path, "--git-dir")
    }

    fn git_path(&self, path: &Path, which: &str) -> Result<PathBuf, GitError> {
        let command = self.read("finding the repository of", path);
        let found = command.args(["rev-parse", "--path-format=absolute", which]).stdout();
        let found = path_from_output(&found.map_err(|error| missing_work_tree(error, path))?);
        found.canonicalize().map_err(GitError::io("opening", &found))
    }

    pub(crate) fn is_bare(&self, common_dir: &Path) -> Result<bool, GitError> {
        let command = self.read("looking at", common_dir).args(["rev-parse", "--is-bare-repository"]);
        Ok(command.stdout()?.starts_with(b"true"))
    }

    /// The top of the main checkout, from any place in the repository.
    fn main_checkout(&self, named: &Path, common_dir: &Path) -> Result<PathBuf, GitError> {
        let missing = || GitError::NoWorkTree { path: common_dir.to_owned() };
        if self.git_dir(named)? == common_dir
            && let Some(top) = self.top_level(named)?
        {
            return Ok(top);
        }
        let command = self.read("reading the settings of", common_dir);
        let configured = command.args(["config", "--get", "core.worktree"]).answer()?;
        let top = match configured {
            Some(path) => common_dir.join(path_from_output(&path)),
            None if common_dir.ends_with(".git") => common_dir.parent().ok_or_else(missing)?.to_owned(),
            None => return Err(missing()),
        };
        top.canonicalize().map_err(|_| missing())
    }

    /// The top of the checkout that a path lies in; none inside a Git directory.
    fn top_level(&self, path: &Path) -> Result<Option<PathBuf>, GitError> {
        let inside = self.read("looking at", path).args(["rev-parse", "--is-inside-work-tree"]).stdout()?;
        if !inside.starts_with(b"true") {
            return Ok(None);
        }
        let command = self.read("finding the top of", path);
        let top = path_from_output(&command.args(["rev-parse", "--show-toplevel"]).stdout()?);
        top.canonicalize().map(Some).map_err(GitError::io("opening", &top))
    }

    /// HEAD's branch; else what a remote calls its default; else the only branch there is. Never a guess by name.
    fn default_branch(&self, common_dir: &Path, top: &Path) -> Result<String, GitError> {
        if let HeadState::Branch { name, .. } = self.head(common_dir)? {
            return Ok(name);
        }
        let command = self.read("listing the remote heads of", common_dir);
        let heads = command.args(["for-each-ref", "--format=%(symref)", "refs/remotes/*/HEAD"]).stdout()?;
        let heads = String::from_utf8_lossy(&heads).into_owned();
        let heads: Vec<&str> = heads.lines().filter_map(|head| head.strip_prefix("refs/remotes/")).collect();
        let local = self.branch_names(common_dir)?;
        if let [head] = heads[..] {
            let short = head.split_once('/').map_or(head, |(_, branch)| branch);
            let is_local = local.iter().any(|branch| branch == short);
            return Ok(if is_local { short } else { head }.to_owned());
        }
        match <[String; 1]>::try_from(local) {
            Ok([only]) => Ok(only),
            Err(_) => Err(GitError::NoDefaultBranch { path: top.to_owned() }),
        }
    }

    fn note(&self, named: &Path, top: &Path, common_dir: &Path) -> Result<Option<String>, GitError> {
        if named == top {
            return Ok(None);
        }
        let (named_shown, top_shown) = (named.display(), top.display());
        let is_linked = !named.starts_with(common_dir) && self.git_dir(named)? != common_dir;
        Ok(Some(if is_linked {
            format!("{named_shown} is a linked worktree; its main repository {top_shown} is used")
        } else {
            format!("{named_shown} lies inside the repository {top_shown}, which is used")
        }))
    }
}

fn existing_directory(path: &Path) -> Result<PathBuf, GitError> {
    if !path.is_absolute() {
        return Err(GitError::RelativePath { path: path.to_owned() });
    }
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(GitError::PathMissing { path: path.to_owned() });
        }
        Err(error) => return Err(GitError::io("opening", path)(error)),
    };
    if !metadata.is_dir() {
        return Err(GitError::NotADirectory { path: path.to_owned() });
    }
    path.canonicalize().map_err(GitError::io("opening", path))
}

/// Git goes to the work tree first and fails there when it is missing.
fn missing_work_tree(error: GitError, path: &Path) -> GitError {
    match error {
        GitError::Failed { ref message, .. }
            if message.contains("cannot chdir") || message.contains("Invalid path") =>
        {
            GitError::NoWorkTree { path: path.to_owned() }
        }
        other => other,
    }
}
