//! The ground of a restoration: the files of an idle worktree, of which most are what the seal holds.
//!
//! They are moved into the worktree that is being made, so that only what differs has to be written. What is not byte
//! for byte what the seal has at its path is unlinked. By the evidence of the pool a file is as Git wrote it, so where
//! Git writes the bytes of a blob as they are, the index says what they are; anywhere else each file is read. The idle
//! worktree is used up by it. What remains of it, an empty directory with a registration, is given back like any other
//! that was half made.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::content::{Hashed, hash_file};
use super::super::disk::Stat;
use super::super::object::{Format, Id, Kind, id_of};
use super::super::pack::CHUNK;
use super::super::tree::LINK;
use super::files::Target;
use crate::command::path_from_bytes;
use crate::{Git, GitError, IdleWorktree};

/// The most threads that read.
const MAX_THREADS: usize = 4;

/// What became of an idle worktree on which a restoration was to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroundUse {
    /// Its files are the restored worktree's; what remains of it can be given back.
    Used,
    /// It is as it was.
    Unused,
    /// It is not as it was made; somebody has to look before it goes.
    Doubtful,
}

/// The files of an idle worktree where they are needed.
pub(in crate::seal) struct Ground {
    /// What became of the idle worktree.
    pub(super) used: GroundUse,
    /// The blobs whose bytes its files are known to have, by path; without those that have to be read.
    pub(super) blobs: Blobs,
}

/// Blobs by path.
pub(super) type Blobs = HashMap<Vec<u8>, Id>;

impl Ground {
    /// No ground.
    pub(super) fn none(used: GroundUse) -> Self {
        Self { used, blobs: Blobs::new() }
    }
}

/// Moves the files of an idle worktree into the top of a worktree that has none yet, if they are as they were made.
pub(super) fn lay(git: &Git, idle: &IdleWorktree, top: &Path) -> Result<Ground, GitError> {
    if !crate::pool::inherits_alike(top.parent().unwrap_or(top), &idle.identity.path)? {
        return Ok(Ground::none(GroundUse::Unused));
    }
    // Before the look: what the index says is believed only if nothing has changed by then.
    let blobs = blobs_of(git, idle)?;
    if !git.is_as_made(idle)? {
        return Ok(Ground::none(GroundUse::Doubtful));
    }
    let from = &idle.identity.path;
    let entries = from.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut used = GroundUse::Unused;
    for entry in entries.map_err(GitError::io("listing", from))? {
        if entry.file_name() == ".git" {
            continue;
        }
        if let Err(error) = std::fs::rename(entry.path(), top.join(entry.file_name())) {
            // What came along is ground all the same; what did not is written.
            tracing::info!(path = %entry.path().display(), %error, "a file is not used for a restoration");
            break;
        }
        used = GroundUse::Used;
    }
    Ok(Ground { used, blobs })
}

/// The blobs in the index of an idle worktree; empty where files may differ from them, which attributes or settings
/// can ask for.
fn blobs_of(git: &Git, idle: &IdleWorktree) -> Result<Blobs, GitError> {
    if !git.keeps_bytes_as_made(idle)? {
        return Ok(Blobs::new());
    }
    let path = &idle.identity.path;
    let listed = git.read("listing the files of", path).args(["ls-files", "--stage", "-z"]).stdout()?;
    let mut blobs = Blobs::new();
    for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let Some((id, path)) = parse_entry(entry) else { return Ok(Blobs::new()) };
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(b".gitattributes") {
            return Ok(Blobs::new());
        }
        blobs.insert(path.to_owned(), id);
    }
    Ok(blobs)
}

/// Reads one entry of an index: mode, id and stage, a tab, and the path.
fn parse_entry(entry: &[u8]) -> Option<(Id, &[u8])> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let id = entry[..tab].split(|byte| *byte == b' ').nth(1)?;
    Some((Id::from_hex(id)?, &entry[tab + 1..]))
}

/// What of the ground stays.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Directories that are there.
    pub(super) directories: HashSet<Vec<u8>>,
    /// Files and links that are there as the seal has them, files with their permissions.
    pub(super) files: HashMap<Vec<u8>, u32>,
}

/// Unlinks everything below the top that is not what the seal has at its path; what is not among the known blobs is
/// read.
pub(super) fn clear(
    top: &Path,
    targets: &[Target<'_>],
    directories: &BTreeSet<Vec<u8>>,
    known: &Blobs,
    format: Format,
) -> Result<Kept, GitError> {
    let found = Found::below(top)?;
    let wanted: HashMap<&[u8], &Target<'_>> = targets.iter().map(|target| (target.path, target)).collect();
    let mut kept = Kept::default();
    let files: Vec<(&[u8], &Metadata)> = found.files.iter().map(|(path, it)| (&path[..], it)).collect();
    for (part, same) in files.iter().zip(compare(top, &files, &wanted, known, format)?) {
        let (path, metadata) = *part;
        if same {
            kept.files.insert(path.to_owned(), metadata.permissions().mode() & 0o7777);
        } else {
            let path = top.join(path_from_bytes(path));
            std::fs::remove_file(&path).map_err(GitError::io("unlinking", &path))?;
        }
    }
    // The innermost first.
    for directory in found.directories.into_iter().rev() {
        if directories.contains(&directory) {
            kept.directories.insert(directory);
        } else {
            let path = top.join(path_from_bytes(&directory));
            std::fs::remove_dir(&path).map_err(GitError::io("unlinking", &path))?;
        }
    }
    Ok(kept)
}

/// What is below a directory, by path; outer directories come before inner ones.
#[derive(Default)]
struct Found {
    files: BTreeMap<Vec<u8>, Metadata>,
    directories: BTreeSet<Vec<u8>>,
}

impl Found {
    fn below(top: &Path) -> Result<Self, GitError> {
        let mut found = Self::default();
        let mut open: Vec<(Vec<u8>, PathBuf)> = vec![(Vec::new(), top.to_owned())];
        while let Some((prefix, directory)) = open.pop() {
            let failed = || GitError::io("listing", &directory);
            for entry in directory.read_dir().map_err(failed())? {
                let entry = entry.map_err(failed())?;
                let name = entry.file_name();
                if prefix.is_empty() && name == ".git" {
                    continue;
                }
                let path = [&prefix[..], name.as_encoded_bytes()].concat();
                let metadata = entry.metadata().map_err(failed())?;
                if metadata.is_dir() {
                    open.push(([&path[..], b"/"].concat(), entry.path()));
                    found.directories.insert(path);
                } else {
                    found.files.insert(path, metadata);
                }
            }
        }
        Ok(found)
    }
}

/// Tells of each file whether the seal has the same at its path; each thread takes a share.
fn compare(
    top: &Path,
    files: &[(&[u8], &Metadata)],
    wanted: &HashMap<&[u8], &Target<'_>>,
    known: &Blobs,
    format: Format,
) -> Result<Vec<bool>, GitError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let share = files.len().div_ceil(threads).max(1);
    let judge = |part: &[(&[u8], &Metadata)]| -> Result<Vec<bool>, GitError> {
        let mut buffer = vec![0; CHUNK];
        let same = part.iter().map(|(path, metadata)| {
            let Some(target) = wanted.get(path) else { return Ok(false) };
            let known = known.get(*path);
            is_same(&top.join(path_from_bytes(path)), metadata, target, known, format, &mut buffer)
        });
        same.collect()
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = files.chunks(share).map(|part| scope.spawn(move || judge(part))).collect();
        started.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let lost = || GitError::io("reading", top)(std::io::ErrorKind::Other.into());
    let mut all = Vec::with_capacity(files.len());
    for part in parts {
        all.extend(part.map_err(|_| lost())??);
    }
    Ok(all)
}

fn is_same(
    path: &Path,
    metadata: &Metadata,
    target: &Target<'_>,
    known: Option<&Id>,
    format: Format,
    buffer: &mut [u8],
) -> Result<bool, GitError> {
    if metadata.is_symlink() {
        let link = path.read_link().map_err(GitError::io("reading the link", path))?;
        return Ok(target.mode == LINK
            && id_of(format, Kind::Blob, link.as_os_str().as_encoded_bytes()) == target.id);
    }
    // Another name of the file would lead to the restored one.
    if !metadata.is_file()
        || target.mode == LINK
        || metadata.nlink() != 1
        || target.size != Some(metadata.len())
    {
        return Ok(false);
    }
    if let Some(known) = known {
        return Ok(*known == target.id);
    }
    let hashed = hash_file(path, &Stat::from(metadata), format, buffer)?;
    Ok(matches!(hashed, Hashed::Id(id) if id == target.id))
}
