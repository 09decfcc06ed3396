//! Writes the files of a seal into a directory, byte for byte and with their permissions.
//!
//! The directory is empty, or has a ground of which what differs was unlinked. Every file that is written is new:
//! what is there already is never opened for writing. Links come after all files and permissions of
//! directories last, so that neither can lead a file elsewhere or keep it out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::super::object::{Format, Hasher, Id, Kind};
use super::super::pack::CHUNK;
use super::super::tree::{EXECUTABLE, LINK};
use super::ground::{self, Ground, Kept};
use super::read::{Leaf, Stored, each_object};
use super::{RestoreError, damaged};
use crate::command::path_from_bytes;
use crate::lock::RepositoryLock;
use crate::{Git, GitError};

/// One file or link to be written.
pub(super) struct Target<'a> {
    pub(super) path: &'a [u8],
    pub(super) mode: u32,
    pub(super) id: Id,
    pub(super) size: Option<u64>,
}

/// Writes everything below the top, which exists and has nothing but Git's own file and, perhaps, a ground.
pub(in crate::seal) fn write(
    git: &Git,
    lock: &RepositoryLock,
    stored: &Stored,
    leaves: &[Leaf],
    top: &Path,
    ground: Option<&Ground>,
) -> Result<(), RestoreError> {
    let mut targets = targets(stored, leaves)?;
    let manifest = &stored.manifest;
    let others: HashMap<&[u8], u32> =
        manifest.permissions.others.iter().map(|(path, mode)| (&path.0[..], *mode)).collect();
    let usual = |mode: u32| match mode {
        EXECUTABLE => manifest.permissions.executable,
        _ => manifest.permissions.file,
    };
    let permissions_of =
        |target: &Target<'_>| others.get(target.path).copied().unwrap_or_else(|| usual(target.mode)) & 0o7777;
    let directories = directories_of(&targets, stored);
    let format = format_of(&stored.seal.commit);
    let kept = match ground {
        Some(ground) => ground::clear(top, &targets, &directories, &ground.blobs, format)?,
        None => Kept::default(),
    };
    make_directories(top, &directories, &kept)?;
    for target in targets.iter().filter(|target| target.mode != LINK) {
        if kept.files.get(target.path).is_some_and(|permissions| *permissions != permissions_of(target)) {
            set_permissions(&top.join(path_from_bytes(target.path)), permissions_of(target))?;
        }
    }
    targets.retain(|target| !kept.files.contains_key(target.path));
    let ids: Vec<Id> = targets.iter().map(|target| target.id).collect();
    let mut links = Vec::new();
    let mut buffer = vec![0; CHUNK];
    each_object(git, lock.common_dir(), &ids, |number, size, object| {
        let target = &targets[number];
        let path = top.join(path_from_bytes(target.path));
        if target.mode == LINK {
            let mut link = Vec::new();
            object.read_to_end(&mut link).map_err(GitError::io("reading a link for", &path))?;
            links.push((path, link));
            return Ok(());
        }
        let written = write_file(&path, size, permissions_of(target), format, object, &mut buffer)?;
        if written == target.id { Ok(()) } else { Err(corrupt(&path)) }
    })?;
    for (path, link) in links {
        std::os::unix::fs::symlink(path_from_bytes(&link), &path)
            .map_err(GitError::io("making the link", &path))?;
    }
    // The innermost first: a directory may forbid looking into it.
    for directory in directories.iter().rev() {
        let permissions = others.get(&directory[..]).copied().unwrap_or(manifest.permissions.directory);
        let path = top.join(path_from_bytes(directory));
        set_permissions(&path, permissions)?;
    }
    Ok(())
}

pub(in crate::seal) fn format_of(commit: &crate::Oid) -> Format {
    if commit.as_str().len() == 64 { Format::Sha256 } else { Format::Sha1 }
}

/// The files to be written, by path. A path that would lead elsewhere is refused.
fn targets<'a>(stored: &'a Stored, leaves: &'a [Leaf]) -> Result<Vec<Target<'a>>, RestoreError> {
    let odd: BTreeMap<&[u8], &[u8]> =
        stored.manifest.odd.iter().map(|odd| (odd.name.as_bytes(), &odd.path.0[..])).collect();
    let mut targets = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        let path = if let Some(path) = leaf.path.strip_prefix(b"files/") {
            path
        } else if let Some(path) = leaf.path.strip_prefix(b"ignored/") {
            path
        } else if let Some(name) = leaf.path.strip_prefix(b"odd/") {
            odd.get(name).ok_or_else(|| damaged(&stored.seal.id, "a file with an odd name has no name"))?
        } else {
            continue;
        };
        targets.push(Target { path, mode: leaf.mode, id: leaf.id, size: leaf.size });
    }
    let empty = stored.manifest.empty_directories.iter().map(|path| &path.0[..]);
    for path in targets.iter().map(|target| target.path).chain(empty) {
        let is_inside = path.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
            && path.split(|byte| *byte == b'/').next() != Some(b".git");
        if !is_inside {
            return Err(damaged(&stored.seal.id, "a path leads out of the worktree"));
        }
    }
    if (targets.len() as u64) != stored.manifest.file_count {
        return Err(damaged(&stored.seal.id, "files are missing in it"));
    }
    Ok(targets)
}

/// Every directory, the outermost first.
fn directories_of(targets: &[Target<'_>], stored: &Stored) -> BTreeSet<Vec<u8>> {
    let mut directories: BTreeSet<Vec<u8>> =
        stored.manifest.empty_directories.iter().map(|path| path.0.clone()).collect();
    let inner: Vec<&[u8]> = directories.iter().map(|path| &path[..]).collect();
    let mut around = BTreeSet::new();
    for path in targets.iter().map(|target| target.path).chain(inner) {
        let mut path = path;
        while let Some(end) = path.iter().rposition(|byte| *byte == b'/') {
            path = &path[..end];
            if !around.insert(path.to_owned()) {
                break;
            }
        }
    }
    directories.append(&mut around);
    directories
}

/// Makes every directory that is not there.
fn make_directories(top: &Path, directories: &BTreeSet<Vec<u8>>, kept: &Kept) -> Result<(), GitError> {
    for directory in directories.iter().filter(|directory| !kept.directories.contains(*directory)) {
        let path = top.join(path_from_bytes(directory));
        std::fs::create_dir(&path).map_err(GitError::io("making the folder", &path))?;
    }
    Ok(())
}

fn write_file(
    path: &Path,
    size: u64,
    permissions: u32,
    format: Format,
    content: &mut dyn Read,
    buffer: &mut [u8],
) -> Result<Id, GitError> {
    let failed = || GitError::io("writing", path);
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(failed())?;
    let mut hasher = Hasher::of_object(format, Kind::Blob, size);
    loop {
        let count = content.read(buffer).map_err(GitError::io("reading the content for", path))?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        file.write_all(&buffer[..count]).map_err(failed())?;
    }
    let permissions = std::fs::Permissions::from_mode(permissions & 0o7777);
    file.set_permissions(permissions).map_err(failed())?;
    Ok(hasher.finish())
}

pub(in crate::seal) fn set_permissions(path: &Path, permissions: u32) -> Result<(), GitError> {
    let permissions = std::fs::Permissions::from_mode(permissions & 0o7777);
    std::fs::set_permissions(path, permissions).map_err(GitError::io("setting the permissions of", path))
}

fn corrupt(path: &Path) -> GitError {
    let reason = "the repository gave other bytes than were sealed";
    GitError::io("writing", path)(std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
}
