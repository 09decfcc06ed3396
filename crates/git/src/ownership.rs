//! Repositories of another user, as in a container whose user is not the owner of what is mounted.
//!
//! Git opens such a repository only when a person named its path in `safe.directory`, and compares the path of
//! what it opens: a person who trusts the main checkout would have to name its Git directory and every worktree
//! too. Where Git opens the main checkout, these are said for one command, each by its exact path. Nothing is
//! said for a repository that nobody trusted, and never that every path is safe.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Git;

/// A place that Git would open, and the common directory of its repository.
struct Place {
    opened: PathBuf,
    common_dir: PathBuf,
}

impl Git {
    /// The path that Git must be told is safe before it opens what is at `subject`; mostly none.
    pub(crate) fn untold_safe_path(&self, subject: &Path) -> Option<PathBuf> {
        let Place { opened, common_dir } = place_of(subject)?;
        if common_dir.metadata().ok()?.uid() == rustix::process::geteuid().as_raw() {
            return None;
        }
        let is_inside = common_dir.file_name().is_some_and(|name| name == ".git");
        let top = if is_inside { common_dir.parent()? } else { &common_dir };
        (opened != top && self.opens(top)).then_some(opened)
    }

    /// The variables with which programs other than Freehold can use Git in worktrees of another user's
    /// repository that a person trusts; mostly none.
    #[must_use]
    pub fn safe_variables(&self, worktrees: &[PathBuf]) -> Vec<(String, String)> {
        let paths = worktrees.iter().filter_map(|worktree| self.untold_safe_path(worktree));
        let paths: Vec<String> = paths.filter_map(|path| path.to_str().map(str::to_owned)).collect();
        if paths.is_empty() {
            return Vec::new();
        }
        let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), paths.len().to_string())];
        for (number, path) in paths.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), "safe.directory".to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), path));
        }
        variables
    }
}

/// What Git would open from a folder, found as Git finds it: the folder itself or the nearest one around it.
fn place_of(subject: &Path) -> Option<Place> {
    let subject = subject.canonicalize().ok()?;
    subject.ancestors().find_map(|folder| {
        let git = folder.join(".git");
        if git.is_dir() {
            return Some(Place { opened: folder.to_owned(), common_dir: git });
        }
        if git.is_file() {
            let text = std::fs::read_to_string(&git).ok()?;
            let registration = folder.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
            return Some(Place { opened: folder.to_owned(), common_dir: around_worktrees(&registration)? });
        }
        let is_git_dir = folder.join("HEAD").is_file();
        if is_git_dir && folder.join("commondir").is_file() {
            return Some(Place { opened: folder.to_owned(), common_dir: around_worktrees(folder)? });
        }
        let is_common = is_git_dir && folder.join("objects").is_dir();
        is_common.then(|| Place { opened: folder.to_owned(), common_dir: folder.to_owned() })
    })
}

/// The common directory of a registration, which is a folder in its `worktrees`.
fn around_worktrees(registration: &Path) -> Option<PathBuf> {
    let worktrees = registration.parent().filter(|parent| parent.ends_with("worktrees"))?;
    worktrees.parent().map(Path::to_owned)
}
