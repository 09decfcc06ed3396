//! What a worktree changed since its recorded base commit: committed, staged, unstaged and untracked alike.
//!
//! Untracked files take part as if they had been added: a scratch copy of the index gets an entry for each, so
//! that a file moved without Git's knowledge is still seen as renamed. The settings that could change the form
//! of a diff are all given, and no program of the repository is run to make one.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::command::GitCommand;
use crate::index::ScratchIndex;
use crate::status::{self, EntryKind, Ignored};
use crate::{Git, GitError, Oid};

/// How much of one file's patch is returned.
const MAX_PATCH_BYTES: u64 = 1024 * 1024;

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or mode differs.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path, and perhaps other content.
    Renamed,
    /// It became something else, for example a link.
    TypeChanged,
}

/// One file that differs from the base commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path relative to the top of the worktree; bytes that are no text are replaced.
    pub path: String,
    /// Its path in the base commit when it was renamed.
    pub old_path: Option<String>,
    /// How it changed.
    pub kind: ChangeKind,
    /// Lines added; none for a binary file.
    pub additions: Option<u64>,
    /// Lines removed; none for a binary file.
    pub deletions: Option<u64>,
    /// Whether Git does not track it.
    pub untracked: bool,
}

/// The difference of one file from the base commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The path that was asked for.
    pub path: String,
    /// Its path in the base commit when it was renamed.
    pub old_path: Option<String>,
    /// A unified diff; empty when nothing differs. Bytes that are no text are replaced.
    pub patch: String,
    /// Whether the content is binary, so that the patch only says that it differs.
    pub binary: bool,
    /// Whether the patch was cut off at 1 MiB.
    pub too_large: bool,
}

impl Git {
    /// Lists the files of a worktree that differ from the base commit, by path.
    pub fn changes(&self, worktree: &Path, base: &Oid) -> Result<Vec<FileChange>, GitError> {
        let comparison = Comparison::new(self, worktree, base)?;
        Ok(comparison.changes()?.into_values().map(|change| change.shown()).collect())
    }

    /// Reads the difference of one file; the path is one that `changes` names.
    pub fn file_diff(&self, worktree: &Path, base: &Oid, path: &str) -> Result<FileDiff, GitError> {
        let comparison = Comparison::new(self, worktree, base)?;
        let changes = comparison.changes()?;
        file_diff(changes, || comparison.diff().arg(base.as_str()), worktree, path)
    }
}

/// A worktree as it would be with everything added, beside its base commit.
struct Comparison<'a> {
    git: &'a Git,
    worktree: &'a Path,
    base: &'a Oid,
    index: ScratchIndex,
    untracked: HashSet<Vec<u8>>,
}

impl<'a> Comparison<'a> {
    fn new(git: &'a Git, worktree: &'a Path, base: &'a Oid) -> Result<Self, GitError> {
        let index = ScratchIndex::copy_of(git, &git.git_dir(worktree)?)?;
        let entries = status::list(git.read("reading the status of", worktree), Ignored::Left)?;
        let untracked = entries.into_iter().filter(|entry| entry.kind == EntryKind::Untracked);
        // A path that ends with a slash is a repository of its own, which is no part of this one.
        let untracked = untracked.map(|entry| entry.path).filter(|path| !path.ends_with(b"/"));
        let comparison = Self { git, worktree, base, index, untracked: untracked.collect() };
        comparison.add_untracked()?;
        Ok(comparison)
    }

    fn add_untracked(&self) -> Result<(), GitError> {
        if self.untracked.is_empty() {
            return Ok(());
        }
        let mut paths = Vec::new();
        for path in &self.untracked {
            paths.extend_from_slice(path);
            paths.push(0);
        }
        let command = self.git.read("comparing the untracked files of", self.worktree);
        let command = command.args(["-c", "core.splitIndex=false", "--literal-pathspecs", "add"]);
        // A file that vanishes meanwhile is no reason to show nothing.
        let command = command.args(["--intent-to-add", "--ignore-errors", "--sparse"]);
        let command = command.args(["--pathspec-from-file=-", "--pathspec-file-nul"]).input(paths);
        let output = self.index.used_by(command).output()?;
        if !output.is_success() {
            tracing::debug!(worktree = %self.worktree.display(), error = output.stderr, "some untracked files are left out");
        }
        Ok(())
    }

    fn diff(&self) -> GitCommand {
        self.index.used_by(diff(self.git.read("comparing", self.worktree)))
    }

    fn changes(&self) -> Result<BTreeMap<Vec<u8>, Change>, GitError> {
        changes(self.diff().arg(self.base.as_str()), self.worktree, &self.untracked)
    }
}

/// Begins a diff whose form no setting changes.
pub(crate) fn diff(command: GitCommand) -> GitCommand {
    let command = command.args(["--literal-pathspecs", "diff"]);
    let command = command.args(["--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"]);
    let command = command.args(["--find-renames", "--ignore-submodules=dirty", "--submodule=short"]);
    command.args(["--src-prefix=a/", "--dst-prefix=b/"])
}

/// Runs a diff that knows its sides and returns its files by path.
pub(crate) fn changes(
    diff: GitCommand,
    subject: &Path,
    untracked: &HashSet<Vec<u8>>,
) -> Result<BTreeMap<Vec<u8>, Change>, GitError> {
    let listed = diff.args(["--raw", "--numstat", "-z", "--"]).stdout()?;
    let mut changes = parse(&listed).ok_or_else(|| GitError::Unreadable {
        operation: "comparing",
        subject: subject.to_owned(),
        excerpt: lossy(&listed).chars().take(200).collect(),
    })?;
    for (path, change) in &mut changes {
        change.is_untracked = untracked.contains(path);
    }
    Ok(changes)
}

/// Runs a diff that knows its sides for one file; also tells whether the patch was cut off.
fn patch(diff: GitCommand, subject: &Path, change: &Change) -> Result<(String, bool), GitError> {
    let paths =
        change.old_path.iter().chain([&change.path]).map(|path| crate::command::path_from_bytes(path));
    let output = diff.args(["--unified=3", "--"]).args(paths).limit(MAX_PATCH_BYTES).output()?;
    if !output.is_cut && !output.is_success() {
        let (operation, subject) = ("comparing a file of", subject.to_owned());
        return Err(GitError::Failed { operation, subject, message: output.stderr });
    }
    Ok((lossy(&output.stdout), output.is_cut))
}

/// The difference of the one file that people call by this path; nothing differs where none is.
pub(crate) fn file_diff(
    changes: BTreeMap<Vec<u8>, Change>,
    diff: impl FnOnce() -> GitCommand,
    subject: &Path,
    path: &str,
) -> Result<FileDiff, GitError> {
    let Some(change) = changes.into_values().find(|change| lossy(&change.path) == path) else {
        let (path, patch) = (path.to_owned(), String::new());
        return Ok(FileDiff { path, old_path: None, patch, binary: false, too_large: false });
    };
    let (patch, too_large) = patch(diff(), subject, &change)?;
    let shown = change.shown();
    let binary = shown.additions.is_none();
    Ok(FileDiff { path: shown.path, old_path: shown.old_path, patch, binary, too_large })
}

/// One change with its paths as they are.
pub(crate) struct Change {
    path: Vec<u8>,
    old_path: Option<Vec<u8>>,
    kind: ChangeKind,
    counts: Option<(u64, u64)>,
    is_untracked: bool,
}

impl Change {
    pub(crate) fn shown(&self) -> FileChange {
        FileChange {
            path: lossy(&self.path),
            old_path: self.old_path.as_deref().map(lossy),
            kind: self.kind,
            additions: self.counts.map(|(additions, _)| additions),
            deletions: self.counts.map(|(_, deletions)| deletions),
            untracked: self.is_untracked,
        }
    }
}

/// Reads what `--raw --numstat -z` prints: first a raw line per file, `:modes ids letter` and one or two
/// paths, then a line of counts per file, `additions TAB deletions TAB` and one path or two.
fn parse(listed: &[u8]) -> Option<BTreeMap<Vec<u8>, Change>> {
    let mut changes = BTreeMap::new();
    let mut fields = listed.split(|byte| *byte == 0);
    while let Some(field) = fields.next() {
        if field.is_empty() {
            continue;
        }
        if field.starts_with(b":") {
            let letter = *field.rsplit(|byte| *byte == b' ').next()?.first()?;
            let first = fields.next()?.to_owned();
            let (old_path, path) = match letter {
                b'R' | b'C' => (Some(first), fields.next()?.to_owned()),
                _ => (None, first),
            };
            let kind = match letter {
                b'A' | b'C' => ChangeKind::Added,
                b'D' => ChangeKind::Deleted,
                b'R' => ChangeKind::Renamed,
                b'T' => ChangeKind::TypeChanged,
                _ => ChangeKind::Modified,
            };
            let change = Change { path: path.clone(), old_path, kind, counts: None, is_untracked: false };
            // A file with conflicts is listed twice.
            changes.entry(path).or_insert(change);
        } else {
            let mut parts = field.splitn(3, |byte| *byte == b'\t');
            let (additions, deletions, path) = (parts.next()?, parts.next()?, parts.next()?);
            let path = if path.is_empty() { fields.nth(1)? } else { path };
            if let (Some(change), Some(additions), Some(deletions)) =
                (changes.get_mut(path), number(additions), number(deletions))
            {
                change.counts = Some((additions, deletions));
            }
        }
    }
    Some(changes)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
