//! Whether a path may be removed at all, whatever is there.

use std::path::{Component, Path};

use super::RemovalTarget;
use crate::registration::settled;
use crate::{GitError, ListedWorktree};

/// Refuses what is never removed: a path outside the managed root, and a repository or a folder around one.
pub(super) fn guard(
    target: &RemovalTarget,
    common_dir: &Path,
    listed: &[ListedWorktree],
) -> Result<(), GitError> {
    require_inside(&target.path, &target.managed_root)?;
    let path = settled(&target.path);
    let is_around = |place: &Path| settled(place).starts_with(&path) || common_dir.starts_with(&path);
    let main_checkout = listed.iter().find(|listed| listed.registration.is_none());
    if is_around(&target.repo) || main_checkout.is_some_and(|main| is_around(&main.path)) {
        return Err(protected(&target.path, "it is a repository, or a folder around one"));
    }
    Ok(())
}

/// As [`guard`], for a folder that belongs to no repository: it may not be around the one that holds its seal.
pub(super) fn guard_folder(path: &Path, managed_root: &Path, vault: &Path) -> Result<(), GitError> {
    require_inside(path, managed_root)?;
    if settled(vault).starts_with(settled(path)) {
        return Err(protected(path, "it is a folder around the seals"));
    }
    Ok(())
}

pub(super) fn require_inside(path: &Path, managed_root: &Path) -> Result<(), GitError> {
    let is_plain =
        |path: &Path| path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !is_plain(path) || !path.is_absolute() {
        return Err(protected(path, "it is not a plain absolute path"));
    }
    let inside = path.strip_prefix(managed_root);
    if inside.map_or(true, |inside| inside.components().next().is_none()) {
        return Err(protected(path, "it does not lie inside the folder of the workspaces"));
    }
    Ok(())
}

fn protected(path: &Path, reason: &str) -> GitError {
    GitError::Protected { path: path.to_owned(), reason: reason.to_owned() }
}

/// The first link on the way from the managed root to the path: what lies behind it is somewhere else.
pub(super) fn link_on_the_way(path: &Path, managed_root: &Path) -> Option<String> {
    let inside = path.strip_prefix(managed_root).ok()?;
    let mut place = managed_root.to_owned();
    for part in inside.components() {
        place.push(part);
        if place.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return Some(format!("{} is a symbolic link", place.display()));
        }
    }
    None
}
