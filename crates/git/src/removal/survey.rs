//! Walks a directory as it is on disk: no link is followed and no other file system entered.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Finding, FindingKind};
use crate::GitError;

/// Directories whose content a build, a package installation or a test run makes again.
pub(crate) const DISPOSABLE: [&str; 22] = [
    "node_modules",
    "bower_components",
    "target",
    "dist",
    "build",
    "out",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".cache",
    ".gradle",
    "coverage",
    ".nyc_output",
];

/// Whether a directory of this name can be made again.
pub(super) fn is_disposable(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| DISPOSABLE.contains(&name))
}

/// What a walk through a worktree found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Directories that hold a `.git`, relative to the top.
    pub(super) repositories: Vec<PathBuf>,
    /// Directories that look like a bare repository, relative to the top.
    pub(super) bare_repositories: Vec<PathBuf>,
    /// Directories on another file system, relative to the top.
    pub(super) mounts: Vec<PathBuf>,
}

impl Survey {
    /// What stands in the way of moving or removing a directory that is no worktree.
    pub(super) fn into_findings(self, top: &Path) -> Vec<Finding> {
        let is_repository = top.join(".git").symlink_metadata().is_ok();
        let own = is_repository.then(|| PathBuf::from("."));
        let repositories = own.into_iter().chain(self.repositories).chain(self.bare_repositories);
        let shown = |paths: Vec<PathBuf>| -> Vec<String> {
            let name = |path: &PathBuf| match path.to_string_lossy() {
                top if top.is_empty() => ".".to_owned(),
                inner => inner.into_owned(),
            };
            paths.iter().map(name).collect()
        };
        let (repositories, mounts) = (shown(repositories.collect()), shown(self.mounts));
        let mut findings = Vec::new();
        if !repositories.is_empty() {
            let detail = "Repositories or worktrees are in it.";
            findings.push(Finding::new(FindingKind::NestedRepository, repositories, detail));
        }
        if !mounts.is_empty() {
            let detail = "Other file systems are mounted inside.";
            findings.push(Finding::new(FindingKind::Unknown, mounts, detail));
        }
        findings
    }
}

/// Looks into every directory below the top, also into disposable ones. Git's own file at the top is that of the
/// worktree.
pub(super) fn survey(top: &Path) -> Result<Survey, GitError> {
    survey_without(top, &[OsString::from(".git")])
}

/// As [`survey`], without what has one of these names at the top.
pub(super) fn survey_without(top: &Path, apart: &[OsString]) -> Result<Survey, GitError> {
    let device = top.symlink_metadata().map_err(GitError::io("looking at", top))?.dev();
    let mut survey = Survey::default();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        let mut marks = 0;
        for (name, is_dir) in list(&top.join(&relative))? {
            let inner = relative.join(&name);
            let is_top = relative.as_os_str().is_empty();
            if is_top && apart.contains(&name) {
                continue;
            }
            if name.eq_ignore_ascii_case(".git") {
                if !is_top || !apart.iter().any(|apart| apart == ".git") {
                    survey.repositories.push(relative.clone());
                }
                continue;
            }
            marks += usize::from(name == "HEAD" || (is_dir && (name == "objects" || name == "refs")));
            if !is_dir {
                continue;
            }
            let path = top.join(&inner);
            let metadata = path.symlink_metadata().map_err(GitError::io("looking at", &path))?;
            if metadata.dev() == device {
                open.push(inner);
            } else {
                survey.mounts.push(inner);
            }
        }
        if marks == 3 {
            survey.bare_repositories.push(relative);
        }
    }
    Ok(survey)
}

/// The files in an ignored directory that are not in a disposable one, relative to the top.
pub(super) fn precious_files(top: &Path, directory: &Path) -> Result<Vec<PathBuf>, GitError> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(relative) = open.pop() {
        for (name, is_dir) in list(&top.join(&relative))? {
            let inner = relative.join(&name);
            if !is_dir {
                files.push(inner);
            } else if !is_disposable(&name) {
                open.push(inner);
            }
        }
    }
    Ok(files)
}

/// The entries of a directory: name, and whether it is a directory and no link to one.
fn list(directory: &Path) -> Result<Vec<(OsString, bool)>, GitError> {
    let entries = directory.read_dir().map_err(GitError::io("listing", directory))?;
    let entries =
        entries.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?.is_dir()))));
    entries.collect::<Result<_, _>>().map_err(GitError::io("listing", directory))
}
