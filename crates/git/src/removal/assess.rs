//! The look before a removal: identity first, then everything that would be lost.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::branch::{commits_at_stake, tip_of};
use super::{Assessment, BranchPolicy, Finding, FindingKind, Presence, RemovalTarget, tree};
use crate::command::GitCommand;
use crate::status::{HeadState, WorktreeStatus, unfinished_operation};
use crate::worktree::{Located, locate, registered_path};
use crate::{Git, GitError};

/// How many names a finding lists.
const MAX_LISTED: usize = 50;

/// Directories that a build or an installation makes again.
const DISPOSABLE: [&str; 24] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".cache",
    ".gradle",
    ".turbo",
    ".parcel-cache",
    "coverage",
    ".nyc_output",
    "bower_components",
    "Pods",
    "DerivedData",
];
/// Files that are made again by themselves.
const DISPOSABLE_FILES: [&str; 2] = [".DS_Store", "Thumbs.db"];

pub(super) fn assess(git: &Git, common_dir: &Path, target: &RemovalTarget) -> Result<Assessment, GitError> {
    if let Some(reason) = outside(common_dir, target) {
        return Ok(occupied(reason));
    }
    let located = match locate(common_dir, &target.path) {
        Ok(located) => located,
        Err(GitError::NotTheWorktree { .. })
            if target.never_exposed && tree::is_bare_beginning(&target.path) =>
        {
            return assess_missing(common_dir, target, Presence::Present);
        }
        Err(GitError::NotTheWorktree { reason, .. }) => return Ok(occupied(reason)),
        Err(error) => return Err(error),
    };
    let Some(located) = located else { return assess_missing(common_dir, target, Presence::Missing) };
    if let Some(reason) = other_identity(target, &located) {
        return Ok(occupied(reason));
    }
    let admin = common_dir.join("worktrees").join(&located.registration);
    if target.never_exposed {
        return assess_unexposed(git, common_dir, &admin, target);
    }
    assess_present(git, &admin, target)
}

/// Why a path can never be removed: it is not strictly inside the managed root, a link leads to it, or the
/// repository itself is at or under it.
fn outside(common_dir: &Path, target: &RemovalTarget) -> Option<String> {
    let root = &target.managed_root;
    let inside = target.path.strip_prefix(root).ok().filter(|rest| {
        let mut parts = rest.components().peekable();
        parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
    });
    let Some(inside) = inside else { return Some(format!("it is not inside {}", root.display())) };
    if common_dir.starts_with(&target.path) || target.repo.starts_with(&target.path) {
        return Some(format!("the repository {} is at or under it", target.repo.display()));
    }
    let mut step = root.clone();
    for part in inside.components() {
        step.push(part);
        if step.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Some(format!("{} is a symbolic link", step.display()));
        }
    }
    None
}

fn other_identity(target: &RemovalTarget, located: &Located) -> Option<String> {
    let expected = target.expected.as_ref()?;
    if expected.registration != located.registration {
        let (found, wanted) = (&located.registration, &expected.registration);
        return Some(format!("it is the worktree registered as {found}, not as {wanted}"));
    }
    let is_same = (expected.device, expected.inode) == (located.device, located.inode);
    (!is_same).then(|| "it is another folder than the one that was made".to_owned())
}

fn occupied(reason: String) -> Assessment {
    let detail = format!("The path holds something other than the recorded worktree: {reason}");
    let finding = Finding { kind: FindingKind::Occupied, items: Vec::new(), total: 1, detail };
    Assessment { presence: Presence::Occupied { by: reason }, head: None, findings: vec![finding] }
}

/// Nothing is there, or nothing but a beginning: only the registration and the branch are left to judge.
fn assess_missing(
    common_dir: &Path,
    target: &RemovalTarget,
    presence: Presence,
) -> Result<Assessment, GitError> {
    if let Some(moved) = moved_to(common_dir, target) {
        return Ok(occupied(format!("the worktree was moved to {}", moved.display())));
    }
    let findings = branch_finding(target)?.into_iter().collect();
    Ok(Assessment { presence, head: None, findings })
}

/// Where a person moved the worktree with `git worktree move`.
fn moved_to(common_dir: &Path, target: &RemovalTarget) -> Option<PathBuf> {
    let expected = target.expected.as_ref()?;
    let registered = registered_path(common_dir, &expected.registration).ok()?;
    (registered != target.path && registered.join(".git").is_file()).then_some(registered)
}

fn branch_finding(target: &RemovalTarget) -> Result<Option<Finding>, GitError> {
    if target.branch_policy == BranchPolicy::Keep || target.never_exposed {
        return Ok(None);
    }
    match tip_of(&target.repo, &target.branch)? {
        Some(tip) => commits_at_stake(&target.repo, &tip, Some(&target.branch)),
        None => Ok(None),
    }
}

fn assess_present(git: &Git, admin: &Path, target: &RemovalTarget) -> Result<Assessment, GitError> {
    let status = git.read_status(GitCommand::read(&target.path, "status"), &target.path, true)?;
    let hidden = hidden_edits(git, &target.path)?;
    let mut findings = Vec::new();
    findings.extend(lock_finding(admin));
    findings.extend(unfinished_operation(admin).map(operation_finding));
    findings.extend(walk_findings(&target.path)?);
    findings.extend(file_findings(&status, hidden));
    if let HeadState::Detached { tip } = &status.head {
        findings.extend(commits_at_stake(&target.repo, tip, None)?);
    }
    findings.extend(branch_finding(target)?);
    Ok(Assessment { presence: Presence::Present, head: Some(status.head), findings })
}

/// A worktree that nobody got to know: its checkout may be half done, so files may be missing, but every file
/// that is there must be the start commit's. Its own index is not trusted; one is made from the commit.
fn assess_unexposed(
    git: &Git,
    common_dir: &Path,
    admin: &Path,
    target: &RemovalTarget,
) -> Result<Assessment, GitError> {
    let index = ScratchIndex::new(git);
    let own_index = |command: GitCommand| {
        command.env("GIT_INDEX_FILE", &index.0).env("GIT_DIR", common_dir).env("GIT_WORK_TREE", &target.path)
    };
    own_index(GitCommand::read(&target.path, "read-tree")).arg(target.base.as_str()).run()?;
    let mut status =
        git.read_status(own_index(GitCommand::read(&target.path, "status")), &target.path, true)?;
    // Staged differences are those between two commits, HEAD of the main checkout and the start; no file's.
    status.staged.clear();
    status.unstaged.retain(|path| target.path.join(path).symlink_metadata().is_ok());
    let mut findings = walk_findings(&target.path)?;
    findings.extend(lock_finding(admin).filter(|finding| !finding.detail.ends_with(": initializing")));
    findings.extend(file_findings(&status, Vec::new()));
    Ok(Assessment { presence: Presence::Present, head: None, findings })
}

fn lock_finding(admin: &Path) -> Option<Finding> {
    let reason = std::fs::read_to_string(admin.join("locked")).ok()?;
    let detail = format!("The worktree is locked: {}", reason.trim());
    Some(Finding { kind: FindingKind::Locked, items: Vec::new(), total: 1, detail })
}

fn operation_finding(operation: String) -> Finding {
    let detail = format!("A {operation} is not finished");
    Finding { kind: FindingKind::OperationInProgress, items: vec![operation], total: 1, detail }
}

fn walk_findings(path: &Path) -> Result<Vec<Finding>, GitError> {
    let walk = tree::walk(path)?;
    let nested =
        listed(FindingKind::NestedRepository, walk.nested, "repositories or worktrees are inside it");
    let mounts = listed(FindingKind::Occupied, walk.mounts, "other file systems are mounted inside it");
    Ok(nested.into_iter().chain(mounts).collect())
}

fn file_findings(status: &WorktreeStatus, hidden: Vec<String>) -> Vec<Finding> {
    let mut uncommitted: Vec<String> = [&status.staged, &status.unstaged, &status.unmerged]
        .into_iter()
        .flatten()
        .cloned()
        .chain(hidden)
        .collect();
    uncommitted.sort();
    uncommitted.dedup();
    let precious = status.ignored.iter().filter(|path| !is_disposable(path)).cloned().collect();
    let findings = [
        listed(FindingKind::Uncommitted, uncommitted, "tracked files have changes that are not committed"),
        listed(FindingKind::Untracked, status.untracked.clone(), "files are not tracked by Git"),
        listed(FindingKind::Ignored, precious, "ignored files would be lost"),
    ];
    findings.into_iter().flatten().collect()
}

fn listed(kind: FindingKind, names: Vec<String>, what: &str) -> Option<Finding> {
    let total = u64::try_from(names.len()).unwrap_or(u64::MAX);
    let detail = format!("{total} {what}");
    (total > 0).then(|| Finding { kind, items: names.into_iter().take(MAX_LISTED).collect(), total, detail })
}

fn is_disposable(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    let is_folder = path.ends_with('/');
    while let Some(part) = parts.next() {
        let is_last_file = parts.peek().is_none() && !is_folder;
        if is_last_file {
            return DISPOSABLE_FILES.contains(&part) || part.ends_with(".pyc");
        }
        if DISPOSABLE.contains(&part) {
            return true;
        }
    }
    false
}

/// Edits that the person's index hides: files marked `assume-unchanged` or `skip-worktree` that are there and
/// differ. Looked at through a copy of the index without the marks.
fn hidden_edits(git: &Git, worktree: &Path) -> Result<Vec<String>, GitError> {
    let output = GitCommand::read(worktree, "ls-files").args(["-v", "-z"]).run()?;
    let records = output.split(|byte| *byte == 0).filter(|record| record.len() > 2);
    let is_marked = |record: &&[u8]| record[0].is_ascii_lowercase() || record[0] == b'S';
    let marked: Vec<&[u8]> = records
        .filter(is_marked)
        .map(|record| &record[2..])
        .filter(|path| worktree.join(crate::worktree::path_of(path)).symlink_metadata().is_ok())
        .collect();
    if marked.is_empty() {
        return Ok(Vec::new());
    }
    let index = ScratchIndex::copy_of(git, worktree)?;
    let unmark = |flag: &str| {
        let command =
            GitCommand::read(worktree, "update-index").env("GIT_INDEX_FILE", &index.0).arg(flag).arg("--");
        command.args(marked.iter().map(|path| crate::worktree::path_of(path))).run()
    };
    unmark("--no-assume-unchanged")?;
    unmark("--no-skip-worktree")?;
    let status = GitCommand::read(worktree, "status").env("GIT_INDEX_FILE", &index.0);
    Ok(git.read_status(status, worktree, false)?.unstaged)
}

/// An index file of our own, removed when dropped.
struct ScratchIndex(PathBuf);

impl ScratchIndex {
    fn new(git: &Git) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(git.lock_dir().join(format!("scratch-{}-{number}.index", std::process::id())))
    }

    fn copy_of(git: &Git, worktree: &Path) -> Result<Self, GitError> {
        let command =
            GitCommand::read(worktree, "rev-parse").args(["--path-format=absolute", "--git-path", "index"]);
        let index = PathBuf::from(command.run_text()?);
        let scratch = Self::new(git);
        std::fs::copy(&index, &scratch.0).map_err(|source| GitError::FileSystem {
            operation: "copy the index",
            path: index,
            source,
        })?;
        Ok(scratch)
    }
}

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
