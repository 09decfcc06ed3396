//! What a person does to a workspace without Freehold.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use freehold_testkit::repo::{TempRepo, write_file};

use crate::history::Deed;

/// What became of a place because of a deed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changed {
    /// Nothing that counts.
    Nothing,
    /// What is in the workspace.
    Content,
    /// The workspace is gone.
    Gone,
    /// The workspace is at another place now.
    Moved(PathBuf),
    /// The workspace is at another place, and something of the person's where it was.
    Replaced(PathBuf),
    /// Something of the person's is where a workspace was.
    Taken,
    /// The workspace is back from the other place.
    Back(PathBuf),
}

/// A person with a folder of their own.
pub(crate) struct Person<'a> {
    pub(crate) repo: &'a TempRepo,
    /// Where things are moved to.
    pub(crate) folder: &'a Path,
    /// Tells things of one history apart.
    pub(crate) number: usize,
}

impl Person<'_> {
    /// Does something to the workspace that is or was at `top`, when that makes sense there.
    pub(crate) fn act(&self, deed: Deed, top: &Path, branch: &str, away: Option<&Path>) -> Changed {
        let is_workspace = top.join(".git").is_file() && !top.is_symlink();
        match deed {
            Deed::MoveBack => return self.move_back(top, away),
            Deed::TakePath if top.symlink_metadata().is_err() => {
                write_file(&top.join("mine.txt"), "a person's");
                return Changed::Taken;
            }
            Deed::MoveBranch => {
                self.move_branch(branch);
                return Changed::Nothing;
            }
            _ if !is_workspace => return Changed::Nothing,
            Deed::Lock => self.try_git(self.repo.path(), &["worktree", "lock", &text(top)]),
            Deed::Unlock => self.try_git(self.repo.path(), &["worktree", "unlock", &text(top)]),
            Deed::Remove => {
                remove(top);
                return Changed::Gone;
            }
            Deed::MoveAway | Deed::ReplaceByLink | Deed::ReplaceByClone => return self.replace(deed, top),
            _ => {
                self.work(deed, top);
                return Changed::Content;
            }
        }
        Changed::Nothing
    }

    fn work(&self, deed: Deed, top: &Path) {
        let number = self.number;
        match deed {
            Deed::Write(file) => write_file(&top.join(format!("tracked-{file}.txt")), format!("{number}\n")),
            Deed::WriteUntracked(file) => {
                write_file(&top.join(format!("new/file-{file} ü.txt")), format!("new {number}\n"));
            }
            Deed::WriteIgnored(file) => {
                write_file(&top.join(format!("secret-{file}.env")), format!("KEY={number}\n"));
            }
            Deed::ChangeMode => {
                let file = top.join("tracked-0.txt");
                if file.is_file() {
                    let mode = file.metadata().unwrap().permissions().mode() ^ 0o111;
                    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            Deed::Link => {
                let target = self.folder.join("canary");
                drop(symlink(target, top.join(format!("link-{number}"))));
            }
            Deed::Stage => {
                write_file(&top.join("staged.txt"), format!("staged {number}\n"));
                self.try_git(top, &["add", "staged.txt"]);
                write_file(&top.join("staged.txt"), format!("and changed again {number}\n"));
            }
            Deed::Commit => {
                write_file(&top.join("committed.txt"), format!("committed {number}\n"));
                self.try_git(top, &["add", "committed.txt"]);
                self.try_git(top, &["commit", "-qm", "by hand"]);
            }
            Deed::Switch => self.try_git(top, &["switch", "-qc", &format!("other-{number}")]),
            Deed::Detach => {
                self.try_git(top, &["switch", "-q", "--detach"]);
                self.try_git(top, &["commit", "-q", "--allow-empty", "-m", "on no branch"]);
            }
            Deed::Nest => {
                let nested = top.join(format!("nested-{number}"));
                std::fs::create_dir(&nested).unwrap();
                self.try_git(&nested, &["init", "-q"]);
                write_file(&nested.join("work.txt"), "work of another repository");
            }
            _ => {}
        }
    }

    fn replace(&self, deed: Deed, top: &Path) -> Changed {
        let away = self.folder.join(format!("away-{}", self.number));
        std::fs::rename(top, &away).unwrap();
        match deed {
            Deed::ReplaceByLink => symlink(&away, top).unwrap(),
            Deed::ReplaceByClone => {
                self.repo.git(&["clone", "-q", &text(self.repo.path()), &text(top)]);
                write_file(&top.join("mine.txt"), "in a clone");
            }
            _ => return Changed::Moved(away),
        }
        Changed::Replaced(away)
    }

    fn move_back(&self, top: &Path, away: Option<&Path>) -> Changed {
        let Some(away) = away.filter(|away| away.exists()) else { return Changed::Nothing };
        if top.symlink_metadata().is_ok() {
            remove(top);
        }
        std::fs::create_dir_all(top.parent().unwrap()).unwrap();
        std::fs::rename(away, top).unwrap();
        Changed::Back(away.to_owned())
    }

    /// Gives the branch one more commit, unless it is checked out somewhere.
    fn move_branch(&self, branch: &str) {
        let found = self.repo.try_git_in(self.repo.path(), &["rev-parse", "-q", "--verify", branch]);
        let exists = found.status.success();
        let listed = self.repo.git(&["worktree", "list", "--porcelain"]);
        if branch.is_empty()
            || !exists
            || listed.lines().any(|line| line == format!("branch refs/heads/{branch}"))
        {
            return;
        }
        let tree = self.repo.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
        let commit = self.repo.git(&["commit-tree", &tree, "-p", branch, "-m", "moved by a person"]);
        self.repo.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
    }

    /// What Git refuses in the state of things, a person cannot do either.
    fn try_git(&self, folder: &Path, arguments: &[&str]) {
        self.repo.try_git_in(folder, arguments);
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[expect(clippy::disallowed_methods, reason = "a person removes what they like")]
fn remove(place: &Path) {
    if place.is_dir() && !place.is_symlink() {
        std::fs::remove_dir_all(place).unwrap();
    } else {
        std::fs::remove_file(place).unwrap();
    }
}
