//! What differs from a base commit: commits, uncommitted edits and untracked files alike.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Component, Path};

use crate::command::GitCommand;
use crate::{Git, GitError, Oid};

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or mode changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path.
    Renamed,
    /// It is of another type, for example a link instead of a file.
    TypeChanged,
}

/// One changed file. Paths are relative to the worktree; bytes that are not UTF-8 are shown as `\u{fffd}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path.
    pub path: String,
    /// The path before, for a renamed file.
    pub old_path: Option<String>,
    /// How it changed.
    pub kind: ChangeKind,
    /// Lines added; none for a binary file.
    pub additions: Option<u64>,
    /// Lines deleted; none for a binary file.
    pub deletions: Option<u64>,
    /// Whether Git does not track it yet.
    pub untracked: bool,
}

/// One file's difference from the base commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The path.
    pub path: String,
    /// The path before, for a renamed file.
    pub old_path: Option<String>,
    /// A unified diff; empty for a binary file.
    pub patch: String,
    /// Whether the file is binary.
    pub binary: bool,
    /// Whether the diff was cut off.
    pub too_large: bool,
}

/// The longest diff, in bytes.
const MAX_PATCH_BYTES: usize = 1024 * 1024;
/// The largest untracked file whose lines are counted, in bytes.
const MAX_COUNTED_BYTES: u64 = 8 * 1024 * 1024;
/// How much of a file is looked at to tell whether it is binary, in bytes; the same as Git's.
const BINARY_PROBE_BYTES: usize = 8_000;

impl Git {
    /// Lists what differs from `base`, by path.
    pub fn changes(&self, worktree: &Path, base: &Oid) -> Result<Vec<FileChange>, GitError> {
        let counts = parse_counts(&diff(worktree, base).args(["-z", "--numstat"]).run()?);
        let names = diff(worktree, base).args(["-z", "--name-status"]).run()?;
        let mut changes = parse_names(&names, &counts);
        for path in untracked(worktree, None)? {
            let full = worktree.join(crate::worktree::path_of(&path));
            let additions = count_lines(&full);
            changes.push(FileChange {
                path: lossy(&path),
                old_path: None,
                kind: ChangeKind::Added,
                additions,
                deletions: additions.map(|_| 0),
                untracked: true,
            });
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// Reads one file's difference from `base`; empty when it does not differ.
    pub fn file_diff(&self, worktree: &Path, base: &Oid, path: &str) -> Result<FileDiff, GitError> {
        require_inside(worktree, path)?;
        if untracked(worktree, Some(path))?.iter().any(|found| found == path.as_bytes()) {
            let command =
                GitCommand::read(worktree, "diff").args(FIXED).args(["--no-index", "--", "/dev/null", path]);
            // With --no-index an exit code of 1 says that there is a difference.
            let (output, ran) = command.output()?;
            return match output.status.code() {
                Some(0 | 1) => Ok(shape(path, None, &output.stdout)),
                _ => Err(ran.failed(&output)),
            };
        }
        let names = diff(worktree, base).args(["-z", "--name-status"]).run()?;
        let change = parse_names(&names, &HashMap::new()).into_iter().find(|change| change.path == path);
        let old_path = change.and_then(|change| change.old_path);
        let mut command = diff(worktree, base).env("GIT_LITERAL_PATHSPECS", "1").args(["--", path]);
        if let Some(old) = &old_path {
            command = command.arg(old);
        }
        Ok(shape(path, old_path, &command.run()?))
    }
}

const FIXED: [&str; 4] = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];

fn diff(worktree: &Path, base: &Oid) -> GitCommand {
    GitCommand::read(worktree, "diff").args(FIXED).arg("--find-renames").arg(base.as_str())
}

fn require_inside(worktree: &Path, path: &str) -> Result<(), GitError> {
    let is_inside = !path.is_empty()
        && !path.contains('\0')
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside {
        return Ok(());
    }
    Err(GitError::OutsideWorktree { path: path.chars().take(200).collect(), worktree: worktree.to_owned() })
}

/// The files that Git does not track and does not ignore.
fn untracked(worktree: &Path, only: Option<&str>) -> Result<Vec<Vec<u8>>, GitError> {
    let mut command = GitCommand::read(worktree, "ls-files").env("GIT_LITERAL_PATHSPECS", "1");
    command = command.args(["--others", "--exclude-standard", "-z", "--"]);
    if let Some(path) = only {
        command = command.arg(path);
    }
    let output = command.run()?;
    Ok(output.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
}

type Counts = HashMap<Vec<u8>, (Option<u64>, Option<u64>)>;

/// Reads `--numstat -z`: `added\tdeleted\tpath\0`, or `added\tdeleted\t\0old\0new\0` for a rename.
fn parse_counts(output: &[u8]) -> Counts {
    let mut counts = Counts::new();
    let mut fields = output.split(|byte| *byte == 0);
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let pair = (number(), number());
        let path = match parts.next() {
            Some(path) if !path.is_empty() => path.to_vec(),
            _ => {
                fields.next();
                fields.next().unwrap_or_default().to_vec()
            }
        };
        counts.insert(path, pair);
    }
    counts
}

/// Reads `--name-status -z`: `M\0path\0`, or `R100\0old\0new\0`.
fn parse_names(output: &[u8], counts: &Counts) -> Vec<FileChange> {
    let mut changes = Vec::new();
    let mut fields = output.split(|byte| *byte == 0);
    while let Some(status) = fields.next().filter(|status| !status.is_empty()) {
        let kind = match status.first() {
            Some(b'A') => ChangeKind::Added,
            Some(b'D') => ChangeKind::Deleted,
            Some(b'R' | b'C') => ChangeKind::Renamed,
            Some(b'T') => ChangeKind::TypeChanged,
            _ => ChangeKind::Modified,
        };
        let old_path = (kind == ChangeKind::Renamed).then(|| lossy(fields.next().unwrap_or_default()));
        let path = fields.next().unwrap_or_default();
        let (additions, deletions) = counts.get(path).copied().unwrap_or((None, None));
        changes.push(FileChange {
            path: lossy(path),
            old_path,
            kind,
            additions,
            deletions,
            untracked: false,
        });
    }
    changes
}

fn shape(path: &str, old_path: Option<String>, output: &[u8]) -> FileDiff {
    let too_large = output.len() > MAX_PATCH_BYTES;
    let patch = String::from_utf8_lossy(&output[..output.len().min(MAX_PATCH_BYTES)]).into_owned();
    let binary =
        patch.lines().take(10).any(|line| line.starts_with("Binary files ") && line.ends_with(" differ"));
    let patch = if binary { String::new() } else { patch };
    FileDiff { path: path.to_owned(), old_path, patch, binary, too_large }
}

/// The lines of an untracked file; none when it is binary, no regular file, or too large to count.
fn count_lines(path: &Path) -> Option<u64> {
    let found = path.symlink_metadata().ok()?;
    if found.is_symlink() {
        return Some(1);
    }
    if !found.is_file() || found.len() > MAX_COUNTED_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MAX_COUNTED_BYTES).read_to_end(&mut bytes).ok()?;
    if bytes.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) {
        return None;
    }
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
    let unfinished = usize::from(bytes.last().is_some_and(|last| *last != b'\n'));
    u64::try_from(breaks + unfinished).ok()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
