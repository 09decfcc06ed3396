//! The files of a seal: which are kept, under what id, and what is left out.
//!
//! A file that the index vouches for is not read again, unless an attribute, a filter or a setting could have
//! changed its bytes on their way into the index. Every other file is read and hashed, on all processors. What
//! the index vouches for under attributes that were changed since is found out by its size.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use super::disk::{Found, Known, Look, Stat, Time, measure, open_file};
use super::index_file::IndexEntry;
use super::object::{Format, Hasher, Id, Kind, id_of};
use super::pack::CHUNK;
use super::tree::{EXECUTABLE, FILE, LINK, SUBMODULE};
use super::{LeftOutReason, SealLimits, SealRequest, SealedKind};
use crate::command::path_from_bytes;
use crate::{Git, GitError};

/// Attributes by which Git changes bytes between disk and index, unless they are not set.
const CONVERSIONS: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

/// The most threads that hash; more gain nothing.
const MAX_THREADS: usize = 4;

/// One file or link that is kept.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) path: Vec<u8>,
    /// The mode in a tree.
    pub(super) mode: u32,
    /// The permissions on disk; those of a link mean nothing.
    pub(super) permissions: u32,
    pub(super) kind: SealedKind,
    pub(super) id: Id,
    pub(super) size: u64,
    /// The target of a link.
    pub(super) target: Option<Vec<u8>>,
    /// Whether it changed so shortly before the look that its times could not show another change.
    pub(super) is_fresh: bool,
}

/// The files of a worktree at one moment.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) items: Vec<Item>,
    /// What is left out, with its size.
    pub(super) left_out: Vec<(Vec<u8>, Option<u64>, LeftOutReason)>,
}

impl Content {
    /// Whether there are files that the index does not have.
    pub(super) fn has_untracked(&self) -> bool {
        self.items.iter().any(|item| item.kind != SealedKind::Tracked)
    }

    /// The first file that has another content than was sealed although its times do not show it.
    pub(super) fn changed_item(
        &self,
        top: &Path,
        format: Format,
        look: &Look,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let mut buffer = vec![0; CHUNK];
        for item in self.items.iter().filter(|item| item.is_fresh) {
            let path = top.join(path_from_bytes(&item.path));
            let is_same = match look.found.get(&item.path) {
                Some(Found::File(stat)) => {
                    matches!(hash_file(&path, stat, format, &mut buffer)?, Hashed::Id(id) if id == item.id)
                }
                _ => false,
            };
            if !is_same {
                return Ok(Some(item.path.clone()));
            }
        }
        Ok(None)
    }
}

/// What is to be read, and how it is judged.
pub(super) struct Sources<'a> {
    pub(super) git: &'a Git,
    pub(super) request: &'a SealRequest,
    pub(super) format: Format,
    pub(super) index: &'a [IndexEntry],
    /// When the index was written; none when its word is not taken for any file.
    pub(super) index_written: Option<Time>,
    pub(super) untracked: &'a BTreeSet<&'a [u8]>,
    /// Whether untracked files have the limits of ignored ones, as in a folder that is no worktree.
    pub(super) limits_untracked: bool,
    /// The time on the file system when the work began.
    pub(super) begun: Time,
}

/// What became of an attempt to read everything.
pub(super) enum Gathered {
    Content(Content),
    /// This file changed while it was read.
    Changed(Vec<u8>),
}

/// A file or link that may be kept.
struct Candidate<'a> {
    path: &'a [u8],
    found: &'a Found,
    kind: SealedKind,
    /// The id in the index, where that may be trusted.
    vouched: Option<Id>,
}

impl Sources<'_> {
    /// The untracked and ignored files among what was found, and the tracked ones, with their ids.
    pub(super) fn gather(&self, look: &Look, known: &Known<'_>) -> Result<Gathered, GitError> {
        let mut left_out: Vec<(Vec<u8>, Option<u64>, LeftOutReason)> = Vec::new();
        let mut candidates = self.candidates(look, known, &mut left_out);
        self.doubt_converted(&mut candidates)?;
        let mut items = Vec::with_capacity(candidates.len());
        for (candidate, hashed) in candidates.iter().zip(self.hash(&candidates)?) {
            match hashed {
                Hashed::Id(id) => items.push(self.item(candidate, id)),
                Hashed::Changed => return Ok(Gathered::Changed(candidate.path.to_owned())),
                Hashed::Unreadable => {
                    let size = size_of(candidate.found);
                    left_out.push((candidate.path.to_owned(), Some(size), LeftOutReason::Unreadable));
                }
            }
        }
        for (path, reason) in &look.left {
            let (size, repositories) = measure(&self.request.path, path);
            left_out.push((path.clone(), size, *reason));
            let inner = repositories.into_iter().filter(|inner| inner != path);
            left_out.extend(inner.map(|inner| {
                let size = measure(&self.request.path, &inner).0;
                (inner, size, LeftOutReason::NestedRepository)
            }));
        }
        left_out.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Gathered::Content(Content { items, left_out }))
    }

    fn candidates<'a>(
        &self,
        look: &'a Look,
        known: &Known<'_>,
        left_out: &mut Vec<(Vec<u8>, Option<u64>, LeftOutReason)>,
    ) -> Vec<Candidate<'a>> {
        let mut room = Room { limits: self.request.limits, used: 0 };
        let mut candidates = Vec::with_capacity(look.found.len());
        for (path, found) in &look.found {
            if matches!(found, Found::Directory(_)) {
                continue;
            }
            let entries = entries_at(self.index, path);
            let kind = match entries {
                [] if self.untracked.contains(&path[..]) => SealedKind::Untracked,
                [] => SealedKind::Ignored,
                _ => SealedKind::Tracked,
            };
            let is_limited = kind == SealedKind::Untracked && self.limits_untracked;
            if kind == SealedKind::Ignored || is_limited {
                let size = size_of(found);
                let is_disposable = known.is_in_disposable(path);
                let refused =
                    if is_disposable { Some(LeftOutReason::Disposable) } else { room.refusal(size) };
                if let Some(reason) = refused {
                    left_out.push((path.clone(), Some(size), reason));
                    continue;
                }
            }
            let vouched = match (entries, found, self.index_written) {
                ([entry], Found::File(stat), Some(written))
                    if entry.stage == 0
                        && matches!(entry.mode, FILE | EXECUTABLE)
                        && !entry.is_announced
                        && entry.is_unchanged(stat, written) =>
                {
                    Some(entry.id)
                }
                _ => None,
            };
            candidates.push(Candidate { path, found, kind, vouched });
        }
        candidates
    }

    /// Takes the index's word back for files whose attributes let Git change their bytes.
    fn doubt_converted(&self, candidates: &mut [Candidate<'_>]) -> Result<(), GitError> {
        let mut input = Vec::new();
        for candidate in candidates.iter().filter(|candidate| candidate.vouched.is_some()) {
            input.extend_from_slice(candidate.path);
            input.push(0);
        }
        if input.is_empty() {
            return Ok(());
        }
        let command = self.git.read("reading the attributes of", &self.request.path);
        let command = command.args(["check-attr", "--stdin", "-z"]).args(CONVERSIONS).input(input);
        let answer = command.stdout()?;
        let mut fields = answer.split(|byte| *byte == 0);
        for candidate in candidates.iter_mut().filter(|candidate| candidate.vouched.is_some()) {
            for _ in CONVERSIONS {
                let (path, _, value) = (fields.next(), fields.next(), fields.next());
                let is_harmless = matches!(value, Some(b"unspecified" | b"unset"));
                if path != Some(candidate.path) || !is_harmless {
                    candidate.vouched = None;
                }
            }
        }
        Ok(())
    }

    /// Finds the id of every candidate, each thread taking the next one that is left.
    fn hash(&self, candidates: &[Candidate<'_>]) -> Result<Vec<Hashed>, GitError> {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            let mut buffer = vec![0; CHUNK];
            loop {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(candidate) = candidates.get(number) else { return Ok(done) };
                done.push((number, self.hash_one(candidate, &mut buffer)?));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let parts: Vec<Result<Vec<(usize, Hashed)>, GitError>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut parts = vec![work()];
            let lost =
                || GitError::io("reading", &self.request.path)(std::io::Error::other("a thread ended"));
            parts.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(lost()))));
            parts
        });
        let mut hashed = Vec::with_capacity(candidates.len());
        for part in parts {
            hashed.extend(part?);
        }
        hashed.sort_unstable_by_key(|(number, _)| *number);
        Ok(hashed.into_iter().map(|(_, hashed)| hashed).collect())
    }

    fn hash_one(&self, candidate: &Candidate<'_>, buffer: &mut [u8]) -> Result<Hashed, GitError> {
        match (candidate.found, candidate.vouched) {
            (_, Some(id)) => Ok(Hashed::Id(id)),
            (Found::Link(target), _) => Ok(Hashed::Id(id_of(self.format, Kind::Blob, target))),
            (Found::File(stat), _) => {
                let path = self.request.path.join(path_from_bytes(candidate.path));
                hash_file(&path, stat, self.format, buffer)
            }
            (Found::Directory(_), _) => Ok(Hashed::Changed),
        }
    }

    fn item(&self, candidate: &Candidate<'_>, id: Id) -> Item {
        let (mode, permissions, target, is_fresh) = match candidate.found {
            Found::File(stat) => {
                let mode = if stat.mode & 0o100 == 0 { FILE } else { EXECUTABLE };
                (mode, stat.mode & 0o7777, None, is_fresh(stat, self.begun))
            }
            Found::Link(target) => (LINK, 0o777, Some(target.clone()), false),
            Found::Directory(_) => (FILE, 0, None, false),
        };
        Item {
            path: candidate.path.to_owned(),
            mode,
            permissions,
            kind: candidate.kind,
            id,
            size: size_of(candidate.found),
            target,
            is_fresh,
        }
    }
}

/// The room for ignored files.
struct Room {
    limits: SealLimits,
    used: u64,
}

impl Room {
    fn refusal(&mut self, size: u64) -> Option<LeftOutReason> {
        if size > self.limits.ignored_file_bytes {
            return Some(LeftOutReason::TooLarge);
        }
        if self.used.saturating_add(size) > self.limits.ignored_total_bytes {
            return Some(LeftOutReason::OverTotal);
        }
        self.used += size;
        None
    }
}

/// The entries of an index at a path: several in a conflict. A submodule is no file.
fn entries_at<'a>(index: &'a [IndexEntry], path: &[u8]) -> &'a [IndexEntry] {
    let first = index.partition_point(|entry| &entry.path[..] < path);
    let count = index[first..].iter().take_while(|entry| entry.path == path).count();
    let entries = &index[first..first + count];
    if entries.iter().any(|entry| entry.mode == SUBMODULE) { &[] } else { entries }
}

/// What reading a file gave.
pub(super) enum Hashed {
    Id(Id),
    Changed,
    Unreadable,
}

/// Reads a file that must be as it was looked at, before and after.
pub(super) fn hash_file(
    path: &Path,
    stat: &Stat,
    format: Format,
    buffer: &mut [u8],
) -> Result<Hashed, GitError> {
    let mut file = match open_file(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(Hashed::Unreadable),
        Err(_) => return Ok(Hashed::Changed),
    };
    let mut hasher = Hasher::of_object(format, Kind::Blob, stat.size);
    let mut total = 0;
    loop {
        let count = file.read(buffer).map_err(GitError::io("reading", path))?;
        if count == 0 {
            break;
        }
        total += count as u64;
        hasher.update(&buffer[..count]);
    }
    let after = file.metadata().map_err(GitError::io("looking at", path))?;
    let is_same = total == stat.size && Stat::from(&after) == *stat;
    Ok(if is_same { Hashed::Id(hasher.finish()) } else { Hashed::Changed })
}

const fn size_of(found: &Found) -> u64 {
    match found {
        Found::File(stat) => stat.size,
        Found::Link(target) => target.len() as u64,
        Found::Directory(_) => 0,
    }
}

/// Whether a change in the moment of the look could have left the times as they are: clocks of file systems
/// go in steps of some milliseconds, or of two seconds where they know no fractions.
fn is_fresh(stat: &Stat, begun: Time) -> bool {
    const STEP_NS: i64 = 20_000_000;
    let changed = stat.ctime.max(stat.mtime);
    let step_ns = if changed.nanoseconds == 0 { 2_000_000_000 } else { STEP_NS };
    let nanoseconds = |time: Time| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    nanoseconds(changed) + i128::from(step_ns) >= nanoseconds(begun)
}
