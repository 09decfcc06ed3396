//! Worktrees: making one, recognising one, listing them.
//!
//! A worktree's *registration* is its directory under `<common dir>/worktrees`. A directory is a given
//! worktree only when its `.git` file names the registration and the registration names the directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::command::{GitCommand, last_words};
use crate::lock::RepositoryLock;
use crate::{Git, GitError, Oid};

/// A worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePlan {
    /// The repository: its main checkout or the bare repository.
    pub repo: PathBuf,
    /// The absolute path the worktree shall have; nothing is there.
    pub path: PathBuf,
    /// The branch to make; it does not exist.
    pub branch: String,
    /// The commit to start from.
    pub start: Oid,
}

/// What identifies a worktree on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeIdentity {
    /// Its path, without links.
    pub path: PathBuf,
    /// The name of its registration.
    pub registration: String,
    /// The repository's shared state.
    pub common_dir: PathBuf,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// The commit that is checked out.
    pub head: Oid,
}

/// A worktree as the repository lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedWorktree {
    /// Its path as registered; it may be absent.
    pub path: PathBuf,
    /// The branch that is checked out; none when detached or bare.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// Why it is locked, when it is.
    pub locked: Option<String>,
    /// Why Git would forget it, when it would.
    pub prunable: Option<String>,
}

/// Settings for making a worktree: parallel checkout, and no upstream for the new branch whatever the
/// person configured.
const ADD_CONFIG: [&str; 3] =
    ["checkout.workers=4", "checkout.thresholdForParallelism=100", "branch.autoSetupMerge=false"];

impl Git {
    /// Makes a worktree on a new branch at a given commit, under the repository's lock.
    ///
    /// A failure removes what this call made: the branch if it still is at the start commit, and the
    /// registration and directory if Git left them.
    pub fn add_worktree(&self, plan: &WorktreePlan) -> Result<WorktreeIdentity, GitError> {
        let common_dir = self.common_dir(&plan.repo)?;
        let lock = self.lock_repository(&common_dir)?;
        if plan.path.symlink_metadata().is_ok() {
            return Err(GitError::PathExists { path: plan.path.clone() });
        }
        if self.has_branch(&plan.repo, &plan.branch)? {
            return Err(GitError::BranchExists { repo: plan.repo.clone(), branch: plan.branch.clone() });
        }
        make_parent(&plan.path)?;
        fail::fail_point!("git.worktree.before_add", |_| std::process::abort());
        let added = self.run_add(plan, &lock);
        fail::fail_point!("git.worktree.after_add", |_| std::process::abort());
        match (added, self.inspect_worktree(&plan.repo, &plan.path)) {
            // A hook may fail although everything was made; what is on disk decides.
            (_, Ok(Some(identity))) if identity.head == plan.start && is_checked_out(&plan.path) => {
                Ok(identity)
            }
            (Err(error), _) => {
                self.undo_add(plan, &common_dir, &lock);
                Err(error)
            }
            (Ok(()), found) => {
                let reason = format!("after its making it was found as {found:?}");
                self.undo_add(plan, &common_dir, &lock);
                Err(GitError::NotTheWorktree { path: plan.path.clone(), reason })
            }
        }
    }

    fn run_add(&self, plan: &WorktreePlan, lock: &RepositoryLock) -> Result<(), GitError> {
        let command = GitCommand::change(&plan.repo, "worktree", &ADD_CONFIG).stdin(lock.for_child()?);
        let command = command.args(["add", "--quiet", "--no-track", "-b", &plan.branch, "--"]);
        let (output, ran) = command.arg(&plan.path).arg(plan.start.as_str()).output()?;
        if output.status.success() {
            return Ok(());
        }
        tracing::warn!(path = %plan.path.display(), said = last_words(&output.stderr), "git worktree add failed");
        Err(ran.failed(&output))
    }

    /// Removes what a failed attempt left, as far as it is certain to be the attempt's: the path and the
    /// branch were absent when the lock was taken, and the lock is still held.
    fn undo_add(&self, plan: &WorktreePlan, common_dir: &Path, lock: &RepositoryLock) {
        if let Err(error) = crate::removal::undo_failed_add(self, plan, common_dir, lock) {
            tracing::warn!(path = %plan.path.display(), %error, "a failed worktree could not be taken back whole");
        }
    }

    /// Recognises the worktree of `repo` at a path; none when nothing is there.
    ///
    /// Fails when something else is there: a link, a file, another repository, a worktree that moved here.
    pub fn inspect_worktree(&self, repo: &Path, path: &Path) -> Result<Option<WorktreeIdentity>, GitError> {
        let common_dir = self.common_dir(repo)?;
        let Some(found) = locate(&common_dir, path)? else { return Ok(None) };
        let head =
            GitCommand::read(path, "rev-parse").args(["--verify", "HEAD^{commit}"]).run_text()?.parse()?;
        Ok(Some(WorktreeIdentity {
            path: path.to_owned(),
            registration: found.registration,
            common_dir,
            device: found.device,
            inode: found.inode,
            head,
        }))
    }

    /// Lists the registered worktrees of a repository, the main checkout first.
    pub fn list_worktrees(&self, repo: &Path) -> Result<Vec<ListedWorktree>, GitError> {
        let output = GitCommand::read(repo, "worktree").args(["list", "--porcelain", "-z"]).run()?;
        Ok(parse_list(&output))
    }
}

/// A worktree directory that was recognised without running Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) registration: String,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// Recognises a worktree by reading `.git` and the registration, both ways.
pub(crate) fn locate(common_dir: &Path, path: &Path) -> Result<Option<Located>, GitError> {
    let not_it = |reason: String| GitError::NotTheWorktree { path: path.to_owned(), reason };
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(GitError::FileSystem { operation: "look at", path: path.to_owned(), source });
        }
    };
    if found.is_symlink() {
        return Err(not_it("it is a symbolic link".into()));
    }
    if !found.is_dir() {
        return Err(not_it("it is not a folder".into()));
    }
    let link = std::fs::read(path.join(".git")).map_err(|_| not_it("it has no .git file".into()))?;
    let link =
        link.strip_prefix(b"gitdir: ").ok_or_else(|| not_it("its .git file names no repository".into()))?;
    let admin = path.join(path_of(link.trim_ascii_end()));
    let admin =
        admin.canonicalize().map_err(|_| not_it(format!("its registration {} is gone", admin.display())))?;
    let registration = admin
        .file_name()
        .and_then(OsStr::to_str)
        .filter(|_| admin.parent() == Some(common_dir.join("worktrees").as_path()));
    let Some(registration) = registration else {
        return Err(not_it(format!("it belongs to {}", admin.display())));
    };
    let back = registered_path(common_dir, registration)?;
    let is_same = back.canonicalize().ok() == path.canonicalize().ok();
    if !is_same {
        return Err(not_it(format!("the worktree registered as {registration} is at {}", back.display())));
    }
    Ok(Some(Located { registration: registration.to_owned(), device: found.dev(), inode: found.ino() }))
}

/// The directory that a registration names.
pub(crate) fn registered_path(common_dir: &Path, registration: &str) -> Result<PathBuf, GitError> {
    let file = common_dir.join("worktrees").join(registration).join("gitdir");
    let text = std::fs::read(&file).map_err(|source| GitError::FileSystem {
        operation: "read the registration",
        path: file.clone(),
        source,
    })?;
    let link = file.parent().unwrap_or(&file).join(path_of(text.trim_ascii_end()));
    Ok(link.parent().unwrap_or(&link).to_owned())
}

/// The names of all registrations that name a directory.
pub(crate) fn registrations_of(common_dir: &Path, path: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(common_dir.join("worktrees")) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| registered_path(common_dir, name).is_ok_and(|registered| registered == path))
        .collect()
}

/// Whether the checkout was finished: Git writes the index last.
fn is_checked_out(path: &Path) -> bool {
    let index = GitCommand::read(path, "rev-parse")
        .args(["--path-format=absolute", "--git-path", "index"])
        .run_text();
    index.is_ok_and(|index| Path::new(&index).is_file())
}

fn make_parent(path: &Path) -> Result<(), GitError> {
    let parent = path.parent().unwrap_or(path);
    std::fs::create_dir_all(parent).map_err(|source| GitError::FileSystem {
        operation: "make the folder",
        path: parent.to_owned(),
        source,
    })
}

fn parse_list(output: &[u8]) -> Vec<ListedWorktree> {
    let mut worktrees: Vec<ListedWorktree> = Vec::new();
    for field in output.split(|byte| *byte == 0) {
        let (key, value) = match field.iter().position(|byte| *byte == b' ') {
            Some(at) => (&field[..at], &field[at + 1..]),
            None => (field, &b""[..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match (key, worktrees.last_mut()) {
            (b"worktree", _) => worktrees.push(ListedWorktree { path: path_of(value), ..Default::default() }),
            (b"HEAD", Some(last)) => last.head = Some(text()),
            (b"branch", Some(last)) => {
                let full = text();
                last.branch = Some(full.strip_prefix("refs/heads/").unwrap_or(&full).to_owned());
            }
            (b"locked", Some(last)) => last.locked = Some(text()),
            (b"prunable", Some(last)) => last.prunable = Some(text()),
            _ => {}
        }
    }
    worktrees
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
