//! Idle worktrees: checked out ahead of time, detached, and given to a task by one rename.
//!
//! Terms: an *idle worktree* is a linked worktree in `<workspaces root>/.idle/<id>` that Freehold made and that
//! is no task's yet. Its *evidence* says what was true of every file when it was made; it is kept with the
//! record of the worktree, not beside the files.
//!
//! Invariant: what a task gets equals a fresh `git worktree add`, or the idle worktree is not used. So files and
//! registration are compared with the evidence, the settings that shape files with those of that time, and
//! whatever cannot be compared (hooks, filters, sparse checkouts) makes a repository do without. A doubtful idle
//! worktree is left as it is: somebody may have worked in it.
//!
//! Order of taking, under the lock of the repository: compare; make the branch by compare-and-swap; write a
//! *note* into the registration; bring the files to the start commit; let the registration name the new path;
//! rename; put HEAD on the branch; remove the note. After a crash before the rename, [`Git::settle_idle`] makes
//! the worktree whole where it was; after it, the directory is where the journal of the attempt says, and the
//! removal of that attempt knows both commits from the note.

mod evidence;
mod note;
mod reuse;
mod settings;

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::lock::RepositoryLock;
use crate::registration::{self, Occupant, Registration, settled};
use crate::worktree::{BranchUse, CHECKOUT_WORKERS, SKIP_FILTERS, SKIP_SMUDGE, refuse_taken_path};
use crate::{Git, GitError, Oid, WorktreeIdentity, WorktreePlan, failpoint, removal};
use evidence::Evidence;
pub(crate) use note::{Note, replace};
pub(crate) use reuse::reuse;
use settings::Settings;

/// The folder under the root of the workspaces in which idle worktrees wait.
const FOLDER: &str = ".idle";

/// An idle worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdlePlan {
    /// Any place in the repository.
    pub repo: PathBuf,
    /// The absolute path of the directory to make, as [`idle_path`] gives it.
    pub path: PathBuf,
    /// The commit to check out.
    pub commit: Oid,
}

/// An idle worktree, as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleWorktree {
    /// What proves which directory and registration it is; `head` is the commit that is checked out.
    pub identity: WorktreeIdentity,
    /// What was true of its files, of its registration and of the settings, as text that only this crate reads.
    pub evidence: String,
}

/// What became of the wish for an idle worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// It waits.
    Ready(IdleWorktree),
    /// The repository does without, for a reason in words; nothing was made.
    Unsuited(String),
}

/// What became of an idle worktree that a task wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdleUse {
    /// It is the task's now, at the planned path and on the planned branch.
    Taken(WorktreeIdentity),
    /// It does not fit this plan and is as it was; another may still take it.
    Unsuited(String),
    /// Settings changed since it was made, so that it is of no use any more; it is as it was.
    Stale(String),
    /// It is not as it was made, or taking it failed half-way; somebody has to look before it goes.
    Doubtful(String),
}

/// How many bytes are free, for this user, on the file system that holds a folder.
pub fn free_bytes(folder: &Path) -> Result<u64, GitError> {
    let room = rustix::fs::statvfs(folder)
        .map_err(|error| GitError::io("asking for the room around", folder)(error.into()))?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// Where an idle worktree of this id waits.
#[must_use]
pub fn idle_path(workspaces_root: &Path, id: &str) -> PathBuf {
    workspaces_root.join(FOLDER).join(id)
}

impl Git {
    /// Makes an idle worktree, under the lock of the repository. A failure may leave it half made: it was never
    /// exposed, and its removal knows it by path and commit.
    pub fn prepare_idle(&self, plan: &IdlePlan) -> Result<Prepared, GitError> {
        if !plan.path.is_absolute() {
            return Err(GitError::RelativePath { path: plan.path.clone() });
        }
        let common_dir = self.common_dir(&plan.repo)?;
        let lock = self.lock_repository(&common_dir)?;
        refuse_taken_path(&common_dir, &plan.path)?;
        let settings = match settings::read(self, &common_dir)? {
            Ok(settings) => settings,
            Err(reason) => return Ok(Prepared::Unsuited(reason)),
        };
        let parent = plan.path.parent().unwrap_or(&plan.path);
        std::fs::create_dir_all(parent).map_err(GitError::io("making the folder", parent))?;
        failpoint!("git.pool.before_add");
        let command = self.write("making an idle worktree of", &plan.repo, &lock);
        let command = command.env(SKIP_SMUDGE.0, SKIP_SMUDGE.1).args(SKIP_FILTERS);
        let command = command.args(["-c", CHECKOUT_WORKERS, "worktree", "add", "--quiet", "--detach", "--"]);
        command.args([plan.path.as_os_str(), plan.commit.as_str().as_ref()]).run()?;
        failpoint!("git.pool.after_add");
        ready(plan, &common_dir, settings)
    }

    /// Gives an idle worktree to a task, under the lock of the repository, if the result is what
    /// [`Git::add_worktree`] would make. An error means that nothing was changed.
    pub fn take_idle(&self, idle: &IdleWorktree, plan: &WorktreePlan) -> Result<IdleUse, GitError> {
        if !plan.path.is_absolute() {
            return Err(GitError::RelativePath { path: plan.path.clone() });
        }
        if plan.branch_use != BranchUse::Make {
            return Ok(IdleUse::Unsuited("the branch was there before".into()));
        }
        if !is_plain_name(&plan.branch) {
            return Ok(IdleUse::Unsuited("Git has to look at the name of the branch".into()));
        }
        let common_dir = &idle.identity.common_dir;
        if !is_repository(&plan.repo, common_dir) && self.common_dir(&plan.repo)? != *common_dir {
            return Ok(IdleUse::Doubtful("the repository is not the one it was made of".into()));
        }
        let lock = self.lock_repository(common_dir)?;
        refuse_taken_path(common_dir, &plan.path)?;
        if let Some(unused) = self.compare(idle, plan)? {
            return Ok(unused);
        }
        let parent = plan.path.parent().unwrap_or(&plan.path);
        std::fs::create_dir_all(parent).map_err(GitError::io("making the folder", parent))?;
        if !inherits_alike(parent, &idle.identity.path)? {
            return Ok(IdleUse::Unsuited("files in the folder of the task belong to another group".into()));
        }
        if let Err(error) = self.make_branch(plan, &lock) {
            return Ok(IdleUse::Unsuited(error.to_string()));
        }
        failpoint!("git.pool.after_branch");
        match self.hand_over(idle, plan, &lock) {
            Ok(identity) => Ok(IdleUse::Taken(identity)),
            Err(error) => {
                let undone = self.settle(idle).and_then(|_| {
                    removal::undo_creation(self, plan, &lock).map_err(|error| undo_failed(plan, &error))
                });
                if let Err(error) = undone {
                    tracing::error!(path = %plan.path.display(), %error, "taking an idle worktree left something behind");
                }
                Ok(IdleUse::Doubtful(error.to_string()))
            }
        }
    }

    /// Makes an idle worktree whole again whose taking was cut short before it was moved; tells whether there
    /// still is one at its path.
    pub fn settle_idle(&self, idle: &IdleWorktree) -> Result<bool, GitError> {
        let _lock = self.lock_repository(&idle.identity.common_dir)?;
        self.settle(idle)
    }

    /// How many bytes of files a checkout of the commit has.
    pub fn checkout_bytes(&self, repo: &Path, commit: &Oid) -> Result<u64, GitError> {
        let command = self.read("measuring a checkout of", repo);
        let listed = command.args(["ls-tree", "-r", "-z", "--format=%(objectsize)", commit.as_str()]);
        let listed = if self.is_at_least(2, 36) {
            listed.stdout()?
        } else {
            let command = self.read("measuring a checkout of", repo);
            command.args(["ls-tree", "-r", "-z", "-l", commit.as_str()]).stdout()?
        };
        let size = |line: &[u8]| {
            let line = line.split(|byte| *byte == b'\t').next()?;
            let last = line.split(|byte| *byte == b' ').next_back()?;
            std::str::from_utf8(last).ok()?.trim().parse::<u64>().ok()
        };
        Ok(listed.split(|byte| *byte == 0).filter_map(size).sum())
    }

    /// Whether an idle worktree is the one that was made and as it was made, in its files and its registration.
    pub(crate) fn is_as_made(&self, idle: &IdleWorktree) -> Result<bool, GitError> {
        let Some(registration) = own_registration(&idle.identity)? else { return Ok(false) };
        let Some(made) = Evidence::parse(&idle.evidence) else { return Ok(false) };
        Ok(evidence::compare(&made, &idle.identity.path, &registration.dir)?.is_none())
    }

    /// Whether the bytes of an idle worktree's files are those of the blobs in its index, as far as settings and
    /// attributes outside of the commit say, now and when it was made.
    pub(crate) fn keeps_bytes_as_made(&self, idle: &IdleWorktree) -> Result<bool, GitError> {
        let Some(made) = Evidence::parse(&idle.evidence) else { return Ok(false) };
        let common_dir = &idle.identity.common_dir;
        let is_unchanged = settings::read(self, common_dir)?.is_ok_and(|settings| settings == made.settings);
        Ok(is_unchanged && settings::keeps_bytes(self, common_dir)?)
    }

    /// Compares everything with the evidence; gives the reason for which the worktree is not used.
    fn compare(&self, idle: &IdleWorktree, plan: &WorktreePlan) -> Result<Option<IdleUse>, GitError> {
        let identity = &idle.identity;
        let doubtful = |reason: &str| Ok(Some(IdleUse::Doubtful(reason.to_owned())));
        let Some(registration) = own_registration(identity)? else {
            return doubtful("the directory or its registration is not the one that was made");
        };
        let Some(made) = Evidence::parse(&idle.evidence) else {
            return Ok(Some(IdleUse::Stale("its evidence is of another version of Freehold".into())));
        };
        let (settings, files) = std::thread::scope(|scope| {
            let settings = scope.spawn(|| settings::read(self, &identity.common_dir));
            let files = evidence::compare(&made, &identity.path, &registration.dir);
            (settings.join(), files)
        });
        if let Some(difference) = files? {
            return doubtful(difference);
        }
        let lost = || GitError::io("reading the settings of", &identity.common_dir)(ErrorKind::Other.into());
        match settings.map_err(|_| lost())?? {
            Ok(settings) if settings == made.settings => {}
            Ok(_) => return Ok(Some(IdleUse::Stale("settings that shape files have changed".into()))),
            Err(reason) => return Ok(Some(IdleUse::Stale(reason))),
        }
        if identity.head != plan.start
            && let Some(reason) = self.differs_too_much(plan, &identity.head)?
        {
            return Ok(Some(IdleUse::Unsuited(reason)));
        }
        Ok(None)
    }

    /// Why Git would not bring files from one commit to the other as a fresh checkout makes them: it leaves
    /// files whose content is the same, also where attributes want another form of it.
    fn differs_too_much(&self, plan: &WorktreePlan, from: &Oid) -> Result<Option<String>, GitError> {
        const SHAPING: [&[u8]; 3] = [b".gitattributes", b".lfsconfig", b".gitmodules"];
        let command = self.read("comparing commits of", &plan.repo);
        let command = command.args(["diff-tree", "-r", "-z", "--raw", "--no-renames"]);
        let listed = command.args([from.as_str(), plan.start.as_str()]).stdout()?;
        for field in listed.split(|byte| *byte == 0) {
            let is_submodule = field.starts_with(b":160000") || field.get(8..14) == Some(b"160000");
            if field.starts_with(b":") && is_submodule {
                return Ok(Some("a submodule differs between the commits".into()));
            }
            let name = field.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            if SHAPING.iter().any(|shaping| shaping.eq_ignore_ascii_case(name)) {
                let name = String::from_utf8_lossy(name);
                return Ok(Some(format!("{name} differs between the commits")));
            }
        }
        Ok(None)
    }

    /// Makes the branch, or fails when it exists: decided by Git, in one step.
    fn make_branch(&self, plan: &WorktreePlan, lock: &RepositoryLock) -> Result<(), GitError> {
        let (start, message) = (plan.start.as_str(), format!("branch: Created from {}", plan.start));
        let reference = format!("refs/heads/{}", plan.branch);
        let command = self.write("making a branch in", &plan.repo, lock);
        let command = command.args(["update-ref", "--create-reflog", "-m", &message]);
        command.args([reference.as_str(), start, &"0".repeat(start.len())]).run()
    }

    /// Everything between the branch and the finished worktree.
    fn hand_over(
        &self,
        idle: &IdleWorktree,
        plan: &WorktreePlan,
        lock: &RepositoryLock,
    ) -> Result<WorktreeIdentity, GitError> {
        let identity = &idle.identity;
        let dir = identity.common_dir.join("worktrees").join(&identity.registration);
        let note = Note { commits: vec![identity.head.clone(), plan.start.clone()] };
        note.write(&dir)?;
        failpoint!("git.pool.after_note");
        if identity.head != plan.start {
            let command = self.write("changing the commit of", &identity.path, lock);
            let command = command.env(SKIP_SMUDGE.0, SKIP_SMUDGE.1).args(SKIP_FILTERS);
            let command = command.args(["-c", CHECKOUT_WORKERS, "-c", "advice.detachedHead=false"]);
            let command = command.args(["checkout", "--quiet", "--no-guess", "--detach"]);
            command.args([plan.start.as_str(), "--"]).run()?;
        }
        failpoint!("git.pool.after_checkout");
        let link = settled(&plan.path).join(".git");
        note::replace(&dir.join("gitdir"), &[link.as_os_str().as_bytes(), b"\n"].concat())?;
        failpoint!("git.pool.after_link");
        std::fs::rename(&identity.path, &plan.path).map_err(GitError::io("moving", &identity.path))?;
        failpoint!("git.pool.after_rename");
        note::write_as_fresh(&identity.common_dir, &dir, plan)?;
        failpoint!("git.pool.after_head");
        let (found, metadata) = require_worktree(&identity.common_dir, &plan.path)?;
        if found.name != identity.registration || metadata.ino() != identity.inode {
            let by = "something else was put there meanwhile".to_owned();
            return Err(GitError::Occupied { path: plan.path.clone(), by });
        }
        failpoint!("git.pool.before_end");
        Note::remove(&dir)?;
        Ok(WorktreeIdentity {
            path: plan.path.clone(),
            registration: found.name,
            common_dir: identity.common_dir.clone(),
            device: metadata.dev(),
            inode: metadata.ino(),
            head: plan.start.clone(),
        })
    }

    fn settle(&self, idle: &IdleWorktree) -> Result<bool, GitError> {
        let identity = &idle.identity;
        let is_there = match identity.path.symlink_metadata() {
            Ok(found) => found.is_dir() && found.ino() == identity.inode,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(GitError::io("looking at", &identity.path)(error)),
        };
        let dir = identity.common_dir.join("worktrees").join(&identity.registration);
        if !is_there || Note::read(&dir)?.is_none() {
            return Ok(is_there);
        }
        // Only a taking that was cut short leaves a note, and before the rename the registration is still ours.
        if let Occupant::Other(_) = registration::occupant(&identity.common_dir, &identity.path)? {
            let link = settled(&identity.path).join(".git");
            note::replace(&dir.join("gitdir"), &[link.as_os_str().as_bytes(), b"\n"].concat())?;
        }
        Ok(true)
    }
}

/// The registration of a worktree, when it and the directory at its path are the ones that were made.
fn own_registration(identity: &WorktreeIdentity) -> Result<Option<Registration>, GitError> {
    Ok(match registration::occupant(&identity.common_dir, &identity.path)? {
        Occupant::Worktree(registration, found)
            if registration.name == identity.registration && found.ino() == identity.inode =>
        {
            Some(registration)
        }
        _ => None,
    })
}

/// Records what is true of an idle worktree that is complete.
fn ready(plan: &IdlePlan, common_dir: &Path, settings: Settings) -> Result<Prepared, GitError> {
    let (registration, metadata) = require_worktree(common_dir, &plan.path)?;
    let evidence = Evidence::of_new(&plan.path, &registration.dir, settings)?;
    Ok(Prepared::Ready(IdleWorktree {
        identity: WorktreeIdentity {
            path: plan.path.clone(),
            registration: registration.name,
            common_dir: common_dir.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            head: plan.commit.clone(),
        },
        evidence: evidence.to_string(),
    }))
}

fn undo_failed(plan: &WorktreePlan, error: &removal::RemovalError) -> GitError {
    GitError::Occupied { path: plan.path.clone(), by: error.to_string() }
}

fn require_worktree(common_dir: &Path, path: &Path) -> Result<(Registration, std::fs::Metadata), GitError> {
    match registration::occupant(common_dir, path)? {
        Occupant::Worktree(registration, metadata) => Ok((registration, metadata)),
        Occupant::Nothing => Err(GitError::PathMissing { path: path.to_owned() }),
        Occupant::Unlinked(_) => Err(GitError::Occupied {
            path: path.to_owned(),
            by: "a directory without a registration is there".to_owned(),
        }),
        Occupant::Other(by) => Err(GitError::Occupied { path: path.to_owned(), by }),
    }
}

/// Whether the folder plainly is the repository with this common directory; Git is asked about any other.
fn is_repository(repo: &Path, common_dir: &Path) -> bool {
    let inner = repo.join(".git");
    let is_plain = inner.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    is_plain && inner.canonicalize().is_ok_and(|inner| inner == common_dir)
}

/// Whether a name of a branch is one that Git takes literally and allows, seen without asking it.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        let chars = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        chars && !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.contains("..")
    };
    name != "HEAD"
        && !name.starts_with('-')
        && name.split('/').all(|part| {
            let has_lock = Path::new(part).extension() == Some(OsStr::new("lock"));
            is_plain(part) && !has_lock
        })
}

/// Whether new files get the same group in both places.
pub(crate) fn inherits_alike(parent: &Path, idle: &Path) -> Result<bool, GitError> {
    const SET_GROUP: u32 = 0o2000;
    let folder = idle.parent().unwrap_or(idle);
    let look = |path: &Path| path.metadata().map_err(GitError::io("looking at", path));
    let (parent, folder) = (look(parent)?, look(folder)?);
    Ok(parent.gid() == folder.gid()
        && (parent.mode() ^ folder.mode()) & SET_GROUP == 0
        && parent.dev() == folder.dev())
}

#[cfg(test)]
mod tests {
    use super::is_plain_name;

    #[test]
    fn only_names_that_git_takes_literally_are_plain() {
        for good in ["freehold/fix-the-typo-3f2a", "a", "v1.2", "x/y/z_1"] {
            assert!(is_plain_name(good), "{good}");
        }
        for bad in [
            "", "HEAD", "-a", "a..b", "a.lock", "x.lock/y", "a/", "/a", "a//b", ".a", "a.", "@{-1}", "a b",
            "ä",
        ] {
            assert!(!is_plain_name(bad), "{bad}");
        }
    }
}
