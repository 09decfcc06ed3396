//! Looking at a repository that a person names: what it is, or why it cannot be used.

use std::path::{Path, PathBuf};

use crate::command::{GitCommand, last_words};
use crate::{Git, GitError, Oid};

/// A repository that tasks can work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryInfo {
    /// The top of its main checkout, or the bare repository itself; absolute and without links.
    pub path: PathBuf,
    /// Where its shared state is.
    pub common_dir: PathBuf,
    /// Whether it has no checkout of its own.
    pub is_bare: bool,
    /// The branch to start from unless another is named.
    pub default_branch: String,
    /// The commit that is checked out, or that HEAD names in a bare repository.
    pub head: Oid,
    /// What was understood differently from what was named.
    pub note: Option<String>,
}

impl Git {
    /// Looks at a path and says which repository it belongs to.
    ///
    /// A folder inside a checkout, its `.git`, and a linked worktree stand for their repository, with a note.
    pub fn inspect_repository(&self, path: &Path) -> Result<RepositoryInfo, GitError> {
        let named = require_directory(path)?;
        let common_dir = self.common_dir(&named)?;
        let is_bare = self.is_bare(&common_dir)?;
        let top = if is_bare { common_dir.clone() } else { main_checkout(&common_dir, &named)? };
        let head = self.head_commit(&top)?;
        let default_branch = self.default_branch(&top)?;
        let note = (named != top)
            .then(|| format!("{} belongs to the repository {}", named.display(), top.display()));
        Ok(RepositoryInfo { path: top, common_dir, is_bare, default_branch, head, note })
    }

    /// The directory that holds the shared state of the repository that `directory` belongs to.
    pub(crate) fn common_dir(&self, directory: &Path) -> Result<PathBuf, GitError> {
        let command = GitCommand::read(directory, "rev-parse");
        let (output, ran) = command.args(["--path-format=absolute", "--git-common-dir"]).output()?;
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            return canonical(Path::new(text.trim_end_matches('\n')));
        }
        let path = directory.to_owned();
        let message = last_words(&output.stderr);
        Err(match message.as_str() {
            said if said.contains("dubious ownership") => GitError::DubiousOwnership { path },
            said if said.contains("not a git repository") => GitError::NotARepository { path },
            said if said.contains("work") && said.contains("tree") => {
                GitError::WorkTreeMissing { path, message }
            }
            _ => ran.failed(&output),
        })
    }

    fn is_bare(&self, common_dir: &Path) -> Result<bool, GitError> {
        let answer = GitCommand::read(common_dir, "rev-parse").arg("--is-bare-repository").run_text()?;
        Ok(answer == "true")
    }

    fn head_commit(&self, top: &Path) -> Result<Oid, GitError> {
        let command = GitCommand::read(top, "rev-parse").args(["--verify", "--quiet", "HEAD^{commit}"]);
        let (output, _) = command.output()?;
        match String::from_utf8_lossy(&output.stdout).trim() {
            "" => Err(GitError::NoCommit { path: top.to_owned() }),
            text => text.parse(),
        }
    }

    /// HEAD's branch; else a remote's; else the only local one. A name is never guessed.
    fn default_branch(&self, top: &Path) -> Result<String, GitError> {
        let (output, _) =
            GitCommand::read(top, "symbolic-ref").args(["--quiet", "--short", "HEAD"]).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let remotes = self.ref_names(top, &["--format=%(symref:short)", "refs/remotes/*/HEAD"])?;
        let locals = self.ref_names(top, &["--format=%(refname:short)", "refs/heads"])?;
        match (remotes.as_slice(), locals.as_slice()) {
            ([remote], _) => Ok(remote.clone()),
            ([], [local]) => Ok(local.clone()),
            _ => Err(GitError::NoDefaultBranch { path: top.to_owned() }),
        }
    }

    pub(crate) fn ref_names(&self, repo: &Path, args: &[&str]) -> Result<Vec<String>, GitError> {
        let text = GitCommand::read(repo, "for-each-ref").args(args).run()?;
        let text = String::from_utf8_lossy(&text);
        Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }
}

fn require_directory(path: &Path) -> Result<PathBuf, GitError> {
    if !path.is_absolute() {
        return Err(GitError::RelativePath { path: path.to_owned() });
    }
    match path.metadata() {
        Ok(found) if found.is_dir() => canonical(path),
        Ok(_) => Err(GitError::NotADirectory { path: path.to_owned() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(GitError::PathMissing { path: path.to_owned() })
        }
        Err(source) => Err(GitError::FileSystem { operation: "look at", path: path.to_owned(), source }),
    }
}

/// The path without links.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, GitError> {
    path.canonicalize().map_err(|source| GitError::FileSystem {
        operation: "find",
        path: path.to_owned(),
        source,
    })
}

/// The top of the main checkout of a repository that is not bare.
fn main_checkout(common_dir: &Path, named: &Path) -> Result<PathBuf, GitError> {
    let listed = GitCommand::read(common_dir, "worktree").args(["list", "--porcelain", "-z"]).run()?;
    let first = listed.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = first.strip_prefix(b"worktree ").unwrap_or_default();
    let path = crate::worktree::path_of(first);
    // Git names the common directory itself when the checkout is elsewhere (`core.worktree`).
    let configured = GitCommand::read(common_dir, "config").args(["--get", "core.worktree"]).output()?.0;
    let path = match String::from_utf8_lossy(&configured.stdout).trim_end_matches('\n') {
        "" => path,
        relative => common_dir.join(relative),
    };
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        _ => Err(GitError::WorkTreeMissing {
            path: named.to_owned(),
            message: format!("{} is missing", path.display()),
        }),
    }
}
