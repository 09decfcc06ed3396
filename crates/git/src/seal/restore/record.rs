//! Writes what the registration of a restored worktree holds: HEAD, refs, index and state files.

use std::path::Path;

use super::super::manifest::Manifest;
use super::super::state;
use super::branch::Branches;
use super::read::{Leaf, Stored, each_object};
use super::{RestoreError, damaged};
use crate::command::path_from_bytes;
use crate::lock::RepositoryLock;
use crate::registration::Registration;
use crate::{Git, GitError, HeadState};

/// Files that name the branch to which an operation in progress goes back, with what stands before the name.
const HEAD_NAMES: [(&[u8], &str); 3] = [
    (b"rebase-merge/head-name", "refs/heads/"),
    (b"rebase-apply/head-name", "refs/heads/"),
    (b"BISECT_START", ""),
];

/// Makes the registration as it was sealed, apart from where its worktree is.
pub(super) fn write(
    git: &Git,
    lock: &RepositoryLock,
    stored: &Stored,
    leaves: &[Leaf],
    registration: &Registration,
    branches: &Branches,
) -> Result<(), RestoreError> {
    let dir = &registration.dir;
    write_refs(git, lock, &stored.manifest, dir, &branches.head)?;
    // Files come last: what Git itself wrote meanwhile, such as a reflog, gives way to what was sealed.
    for path in state::files(dir)?.into_keys() {
        let path = dir.join(path_from_bytes(&path));
        std::fs::remove_file(&path).map_err(GitError::io("replacing", &path))?;
    }
    let mut places = Vec::new();
    let mut has_index = false;
    for leaf in leaves {
        if leaf.path == b"index" {
            has_index = true;
            places.push((leaf.id, &leaf.path[..]));
        } else if let Some(path) = leaf.path.strip_prefix(b"state/") {
            let is_inside = path.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."));
            if !is_inside || path.starts_with(b"gitdir") || path == b"commondir" {
                return Err(damaged(&stored.seal.id, "a state file leads elsewhere"));
            }
            places.push((leaf.id, path));
        }
    }
    if has_index != stored.manifest.has_index {
        return Err(damaged(&stored.seal.id, "its index is missing"));
    }
    let ids: Vec<_> = places.iter().map(|(id, _)| *id).collect();
    each_object(git, lock.common_dir(), &ids, |number, _, content| {
        let path = dir.join(path_from_bytes(places[number].1));
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(GitError::io("reading the content for", &path))?;
        let instead = HEAD_NAMES.into_iter().find(|(file, _)| *file == places[number].1);
        if let (Some((_, prefix)), Some(branch)) = (instead, &branches.parked_instead) {
            bytes = format!("{prefix}{branch}\n").into_bytes();
        }
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent).map_err(GitError::io("making the folder", parent))?;
        std::fs::write(&path, bytes).map_err(GitError::io("writing", &path))
    })?;
    let mark = dir.join(state::RESTORED_FROM);
    std::fs::write(&mark, &stored.seal.id).map_err(GitError::io("writing", &mark))?;
    Ok(())
}

/// Sets HEAD, and the refs of the worktree where these are no files.
fn write_refs(
    git: &Git,
    lock: &RepositoryLock,
    manifest: &Manifest,
    dir: &Path,
    head: &HeadState,
) -> Result<(), GitError> {
    let write = || {
        let command = git.write("setting the refs of", dir, lock);
        command.args(["-c", "core.hooksPath=/dev/null"])
    };
    for reference in &manifest.refs {
        write().args(["update-ref", "--no-deref", &reference.name, &reference.commit]).run()?;
    }
    match head {
        HeadState::Branch { name, .. } => {
            write().args(["symbolic-ref", "HEAD", &format!("refs/heads/{name}")]).run()
        }
        // The worktree was made there.
        HeadState::Detached { .. } => Ok(()),
    }
}
