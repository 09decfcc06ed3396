//! The files of a commit, as a ground is compared with them when no seal says what is wanted.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::super::tree::{EXECUTABLE, LINK, SUBMODULE};
use super::files::Target;
use super::ground;
use super::read::{Leaf, leaves_of};
use crate::command::path_from_bytes;
use crate::{Git, GitError, Oid};

/// Everything that a commit has.
#[derive(Debug)]
pub(crate) struct CommitFiles {
    leaves: Vec<Leaf>,
    commit: Oid,
}

/// What a new file or directory gets in the worktree that is being made.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// The permissions of a directory.
    pub(crate) directory: u32,
    /// The user and the group.
    pub(crate) owner: (u32, u32),
    /// The names of the extended attributes.
    pub(crate) attributes: Vec<u8>,
}

impl CommitFiles {
    pub(crate) fn read(git: &Git, dir: &Path, commit: &Oid) -> Result<Self, GitError> {
        Ok(Self { leaves: leaves_of(git, dir, commit, &[])?, commit: commit.clone() })
    }

    /// Whether the bytes on disk are those of the commit: no attributes, no submodules, nothing that cannot be read.
    pub(crate) fn are_plain(&self) -> bool {
        self.leaves.iter().all(|leaf| {
            let name = leaf.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            leaf.mode != SUBMODULE && leaf.size.is_some() && !name.eq_ignore_ascii_case(b".gitattributes")
        })
    }

    /// Unlinks everything below a directory that a fresh checkout would write otherwise; false when something has
    /// another owner or other attributes, and then what is there is of no use.
    pub(crate) fn keep_only(&self, top: &Path, fresh: &Fresh) -> Result<bool, GitError> {
        let targets: Vec<Target<'_>> = self
            .leaves
            .iter()
            .map(|leaf| Target { path: &leaf.path, mode: leaf.mode, id: leaf.id, size: leaf.size })
            .collect();
        let mut directories = BTreeSet::new();
        for target in &targets {
            let mut path = target.path;
            while let Some(end) = path.iter().rposition(|byte| *byte == b'/') {
                path = &path[..end];
                directories.insert(path.to_owned());
            }
        }
        let (known, format) = (ground::Blobs::new(), super::files::format_of(&self.commit));
        let kept = ground::clear(top, &targets, &directories, &known, format)?;
        for directory in &kept.directories {
            if !as_fresh(&top.join(path_from_bytes(directory)), Some(fresh.directory), fresh)? {
                return Ok(false);
            }
        }
        let modes = targets.iter().filter(|target| kept.files.contains_key(target.path));
        for target in modes {
            let mode = match target.mode {
                LINK => None,
                EXECUTABLE => Some(fresh.directory & 0o777),
                _ => Some(fresh.directory & 0o666),
            };
            if !as_fresh(&top.join(path_from_bytes(target.path)), mode, fresh)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Sets the permissions; false when the owner or the attributes are not those of something new.
fn as_fresh(path: &Path, mode: Option<u32>, fresh: &Fresh) -> Result<bool, GitError> {
    let metadata = path.symlink_metadata().map_err(GitError::io("looking at", path))?;
    let is_owned = (metadata.uid(), metadata.gid()) == fresh.owner;
    if !is_owned || extended_attributes(path)? != fresh.attributes {
        return Ok(false);
    }
    if let Some(mode) = mode.filter(|mode| *mode != metadata.permissions().mode() & 0o7777) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions)
            .map_err(GitError::io("setting the permissions of", path))?;
    }
    Ok(true)
}

/// The names of the extended attributes, access lists among them; empty where the file system has none.
pub(crate) fn extended_attributes(path: &Path) -> Result<Vec<u8>, GitError> {
    let mut names = vec![0; 4096];
    match rustix::fs::llistxattr(path, &mut names[..]) {
        Ok(length) => {
            names.truncate(length);
            Ok(names)
        }
        Err(rustix::io::Errno::NOTSUP) => Ok(Vec::new()),
        Err(error) => Err(GitError::io("listing the attributes of", path)(error.into())),
    }
}
