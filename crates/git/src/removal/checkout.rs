//! Work in the files of a worktree: changed, untracked, ignored and hidden from Git's own eyes.
//!
//! Git's own check before a removal passes over ignored files, over files that a person told it to assume
//! unchanged, and over everything untracked when the settings say so. This one does not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::survey::{is_disposable, precious_files, survey};
use super::{Finding, FindingKind, RemovalTarget};
use crate::command::{GitCommand, path_from_bytes};
use crate::index::ScratchIndex;
use crate::status::{self, Entry, EntryKind, Ignored};
use crate::{Git, GitError, Oid, PlantedFile};

/// Settings that would make Git look less closely at a file.
const CLOSE_LOOK: [&str; 6] =
    ["-c", "core.checkStat=default", "-c", "core.trustctime=true", "-c", "core.ignoreStat=false"];

/// Looks at a complete worktree.
pub(super) fn findings(git: &Git, target: &RemovalTarget, git_dir: &Path) -> Result<Vec<Finding>, GitError> {
    let worktree = target.path.as_path();
    let command = git.read("reading the status of", worktree).args(CLOSE_LOOK);
    let mut entries = status::list(command, Ignored::Listed)?;
    entries.extend(hidden_changes(git, worktree, git_dir)?);
    let changed =
        entries.iter().filter(|entry| matches!(entry.kind, EntryKind::Changed { .. } | EntryKind::Unmerged));
    let changed: Vec<String> = changed.map(Entry::shown).collect();
    let mut findings = Vec::new();
    if !changed.is_empty() {
        let detail = "Files have changes that are not committed.";
        findings.push(Finding::new(FindingKind::Uncommitted, changed, detail));
    }
    findings.extend(files_outside(worktree, &entries, &target.planted)?);
    findings.extend(nested(git, worktree)?);
    Ok(findings)
}

/// Looks at what a failed attempt left: files that are as in a commit that was being checked out, begun or
/// missing are no work. More than one commit is given where the files were being brought from one to another.
pub(super) fn half_made_findings(
    git: &Git,
    worktree: &Path,
    common_dir: &Path,
    bases: &[Oid],
) -> Result<Vec<Finding>, GitError> {
    let mut entries: Option<Vec<Entry>> = None;
    for base in bases {
        let found = differing_from(git, worktree, common_dir, base)?;
        entries = Some(match entries {
            None => found,
            Some(earlier) => earlier.into_iter().filter(|entry| has_path(&found, &entry.path)).collect(),
        });
    }
    let entries = entries.unwrap_or_default();
    let is_outside = |entry: &&Entry| matches!(entry.kind, EntryKind::Untracked | EntryKind::Ignored);
    let changed: Vec<String> = entries.iter().filter(|entry| !is_outside(entry)).map(Entry::shown).collect();
    let mut findings = Vec::new();
    if !changed.is_empty() {
        let detail = "Files differ from the commit that was being checked out.";
        findings.push(Finding::new(FindingKind::Uncommitted, changed, detail));
    }
    findings.extend(files_outside(worktree, &entries, &[])?);
    findings.extend(nested(git, worktree)?);
    Ok(findings)
}

/// Whether a list has a path, by itself or in a directory that is listed as a whole.
fn has_path(entries: &[Entry], path: &[u8]) -> bool {
    let is_around = |folder: &[u8], inner: &[u8]| folder.ends_with(b"/") && inner.starts_with(folder);
    entries
        .iter()
        .any(|entry| entry.path == path || is_around(&entry.path, path) || is_around(path, &entry.path))
}

/// What differs from one commit, without what is begun or missing.
fn differing_from(git: &Git, worktree: &Path, common_dir: &Path, base: &Oid) -> Result<Vec<Entry>, GitError> {
    let scratch = ScratchIndex::empty(git);
    let on_it = |operation: &'static str| {
        let command = git.read(operation, common_dir).args(CLOSE_LOOK);
        // A sparse checkout of the main one says nothing about this one.
        let command = command.args(["-c", "core.sparseCheckout=false", "-c", "core.splitIndex=false"]);
        let command = command.arg("--git-dir").arg(common_dir).arg("--work-tree").arg(worktree);
        scratch.used_by(command.arg("-C").arg(worktree))
    };
    on_it("reading the base commit of").args(["read-tree", base.as_str()]).stdout()?;
    let mut differing = Vec::new();
    for entry in status::list(on_it("reading the half-made status of"), Ignored::Listed)? {
        let is_changed = match entry.kind {
            EntryKind::Changed { worktree: letter, .. } => !matches!(letter, b'.' | b'D'),
            EntryKind::Unmerged | EntryKind::Untracked | EntryKind::Ignored => true,
        };
        let may_be_begun = matches!(entry.kind, EntryKind::Changed { .. });
        if is_changed && !(may_be_begun && is_begun(&on_it, worktree, base, &entry.path)?) {
            differing.push(entry);
        }
    }
    Ok(differing)
}

/// Whether a plain file is the beginning of what the commit has, as a checkout that was killed leaves it.
fn is_begun(
    on_it: &impl Fn(&'static str) -> GitCommand,
    worktree: &Path,
    base: &Oid,
    path: &[u8],
) -> Result<bool, GitError> {
    let file = worktree.join(path_from_bytes(path));
    if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(false);
    }
    let content = std::fs::read(&file).map_err(GitError::io("reading", &file))?;
    let mut object = format!("{base}:").into_bytes();
    object.extend_from_slice(path);
    let command = on_it("reading a file of the base commit of").args(["cat-file", "--filters"]);
    let whole = command.arg(OsStr::from_bytes(&object)).stdout()?;
    Ok(whole.starts_with(&content))
}

/// Changes of tracked files that Git was told not to look at. They are seen through a copy of the index in
/// which the flags are taken back.
fn hidden_changes(git: &Git, worktree: &Path, git_dir: &Path) -> Result<Vec<Entry>, GitError> {
    let listed = git.read("listing the files of", worktree).args(["ls-files", "-v", "-z"]).stdout()?;
    let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
    for line in listed.split(|byte| *byte == 0) {
        if let [flag, b' ', path @ ..] = line {
            if flag.is_ascii_lowercase() {
                assumed.push(path);
            }
            if flag.eq_ignore_ascii_case(&b'S') {
                skipped.push(path);
            }
        }
    }
    if assumed.is_empty() && skipped.is_empty() {
        return Ok(Vec::new());
    }
    let scratch = ScratchIndex::copy_of(git, git_dir)?;
    let on_it = |operation| {
        let command = git.read(operation, worktree).args(CLOSE_LOOK);
        // Git would put the flags of a sparse checkout back.
        scratch.used_by(command.args(["-c", "core.splitIndex=false", "-c", "core.sparseCheckout=false"]))
    };
    for (option, paths) in [("--no-assume-unchanged", &assumed), ("--no-skip-worktree", &skipped)] {
        if !paths.is_empty() {
            let command = on_it("looking at hidden files of").args(["update-index", option, "-z", "--stdin"]);
            command.input(paths.join(&0)).stdout()?;
        }
    }
    let entries = status::list(on_it("looking at hidden files of"), Ignored::Left)?;
    let is_absent_by_choice = |entry: &Entry| {
        matches!(entry.kind, EntryKind::Changed { worktree: b'D', .. }) && skipped.contains(&&entry.path[..])
    };
    let is_hidden = |entry: &Entry| {
        (assumed.contains(&&entry.path[..]) || skipped.contains(&&entry.path[..]))
            && !is_absent_by_choice(entry)
    };
    Ok(entries.into_iter().filter(is_hidden).collect())
}

/// Untracked files, and ignored ones that no build makes again. What Freehold put there is neither while it is
/// as planted.
fn files_outside(
    worktree: &Path,
    entries: &[Entry],
    planted: &[PlantedFile],
) -> Result<Vec<Finding>, GitError> {
    let is_planted =
        |path: &Path| planted.iter().any(|planted| planted.path == path && planted.is_untouched(worktree));
    let mut untracked = Vec::new();
    let mut ignored: Vec<PathBuf> = Vec::new();
    for entry in entries {
        match entry.kind {
            EntryKind::Untracked if is_planted(&path_from_bytes(&entry.path)) => {}
            EntryKind::Untracked => untracked.push(entry.shown()),
            EntryKind::Ignored => ignored.extend(precious_of(worktree, &entry.path)?),
            EntryKind::Changed { .. } | EntryKind::Unmerged => {}
        }
    }
    ignored.retain(|path| !is_planted(path));
    let mut findings = Vec::new();
    if !untracked.is_empty() {
        let detail = "Files are not tracked by Git and exist nowhere else.";
        findings.push(Finding::new(FindingKind::Untracked, untracked, detail));
    }
    if !ignored.is_empty() {
        let ignored = ignored.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let detail = "Ignored files exist nowhere else and no build makes them again.";
        findings.push(Finding::new(FindingKind::Ignored, ignored, detail));
    }
    Ok(findings)
}

/// The files behind one ignored entry that matter. A directory ends with a slash.
fn precious_of(worktree: &Path, entry: &[u8]) -> Result<Vec<PathBuf>, GitError> {
    let path = path_from_bytes(entry);
    let is_directory = entry.ends_with(b"/");
    let folders = if is_directory { Some(path.as_path()) } else { path.parent() };
    if folders.into_iter().flat_map(Path::iter).any(is_disposable) {
        return Ok(Vec::new());
    }
    if is_directory { precious_files(worktree, &path) } else { Ok(vec![path]) }
}

/// Repositories inside the worktree, and other file systems. A repository may hold work of any kind, so that a
/// person decides about each.
pub(super) fn nested(git: &Git, worktree: &Path) -> Result<Vec<Finding>, GitError> {
    let survey = survey(worktree)?;
    let mut repositories = survey.repositories;
    for bare in survey.bare_repositories {
        // One that Git tracks as plain files is a fixture of a test and has been looked at like any other file.
        let command =
            git.read("listing the files of", worktree).args(["--literal-pathspecs", "ls-files", "-z", "--"]);
        if bare.as_os_str().is_empty() || command.arg(bare.join("HEAD")).stdout()?.is_empty() {
            repositories.push(bare);
        }
    }
    let shown = |paths: Vec<PathBuf>| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let mut findings = Vec::new();
    if !repositories.is_empty() {
        let detail = "Other repositories or worktrees lie inside.";
        findings.push(Finding::new(FindingKind::NestedRepository, shown(repositories), detail));
    }
    if !survey.mounts.is_empty() {
        let detail = "Other file systems are mounted inside.";
        findings.push(Finding::new(FindingKind::Unknown, shown(survey.mounts), detail));
    }
    Ok(findings)
}
