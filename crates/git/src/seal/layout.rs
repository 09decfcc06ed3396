//! Where things are in the tree of a seal, and what of a worktree no tree can hold.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::SealedKind;
use super::content::{Content, Item};
use super::disk::Look;
use super::index_file::IndexEntry;
use super::manifest::{OddFile, Permissions};
use super::object::{Format, Kind, id_of};
use super::pack::Objects;
use super::path_text::PathText;
use super::tree::{FILE, Folder, SUBMODULE, is_odd};
use crate::command::path_from_bytes;

/// Where an item is in the tree; none when its name cannot be there.
pub(super) fn place_of(item: &Item) -> Option<Vec<u8>> {
    let space: &[u8] = if item.kind == SealedKind::Ignored { b"ignored/" } else { b"files/" };
    (!is_odd(&item.path, item.mode)).then(|| [space, &item.path[..]].concat())
}

/// Puts all files into the tree; returns those with odd names.
pub(super) fn put_files(
    top: &Path,
    content: &Content,
    root: &mut Folder,
    objects: &mut Objects,
) -> Vec<OddFile> {
    let mut odd = Vec::new();
    for item in &content.items {
        let place = place_of(item).unwrap_or_else(|| {
            let name = format!("{:06}", odd.len());
            let place = [b"odd/", name.as_bytes()].concat();
            let is_ignored = item.kind == SealedKind::Ignored;
            odd.push(OddFile { path: PathText(item.path.clone()), name, is_ignored });
            place
        });
        root.put(&place, item.mode, item.id);
        match &item.target {
            Some(target) => objects.add(item.id, Kind::Blob, target.clone()),
            None => objects.add_file(item.id, top.join(path_from_bytes(&item.path)), item.size),
        }
    }
    odd
}

/// Puts everything that the index holds into the tree, so that it stays; what takes part in conflicts goes to
/// `objects/`.
pub(super) fn put_staged(index: &[IndexEntry], root: &mut Folder, objects: &mut Objects, format: Format) {
    let empty = id_of(format, Kind::Blob, b"");
    for entry in index {
        if entry.id == empty {
            objects.add(empty, Kind::Blob, Vec::new());
        }
        if entry.is_announced {
            // A file announced with `git add --intent-to-add` has no content yet; its entry names the empty blob.
            root.folder(b"objects").put(entry.id.to_string().as_bytes(), FILE, entry.id);
        } else if entry.stage == 0 {
            // A folder that is one entry of a sparse index ends with a slash.
            let path = entry.path.strip_suffix(b"/").unwrap_or(&entry.path);
            root.folder(b"staged").put(path, entry.mode, entry.id);
        } else if entry.mode != SUBMODULE {
            root.folder(b"objects").put(entry.id.to_string().as_bytes(), FILE, entry.id);
        }
    }
}

pub(super) fn permissions(content: &Content, look: &Look) -> Permissions {
    let files = content.items.iter().filter(|item| item.target.is_none());
    let (executable, plain): (Vec<&Item>, Vec<&Item>) = files.partition(|item| item.permissions & 0o100 != 0);
    let usual = |permissions: &mut dyn Iterator<Item = u32>, otherwise: u32| {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        permissions.for_each(|permissions| *counts.entry(permissions).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map_or(otherwise, |(permissions, _)| permissions)
    };
    let directories: Vec<(&Vec<u8>, u32)> = look.directories().collect();
    let mut permissions = Permissions {
        file: usual(&mut plain.iter().map(|item| item.permissions), 0o644),
        executable: usual(&mut executable.iter().map(|item| item.permissions), 0o755),
        directory: usual(&mut directories.iter().map(|(_, permissions)| *permissions), 0o755),
        others: Vec::new(),
    };
    let mut others: Vec<(PathText, u32)> = Vec::new();
    for (items, usual) in [(plain, permissions.file), (executable, permissions.executable)] {
        let unusual = items.into_iter().filter(|item| item.permissions != usual);
        others.extend(unusual.map(|item| (PathText(item.path.clone()), item.permissions)));
    }
    let unusual = directories.into_iter().filter(|(_, mode)| *mode != permissions.directory);
    others.extend(unusual.map(|(path, mode)| (PathText(path.clone()), mode)));
    others.sort();
    permissions.others = others;
    permissions
}

/// The directories in which no file is kept, so that the tree does not show them.
pub(super) fn empty_directories(content: &Content, look: &Look) -> Vec<PathText> {
    let mut shown: HashSet<&[u8]> = HashSet::new();
    for item in &content.items {
        let mut path = &item.path[..];
        while let Some(end) = path.iter().rposition(|byte| *byte == b'/') {
            path = &path[..end];
            if !shown.insert(path) {
                break;
            }
        }
    }
    let empty = look.directories().filter(|(path, _)| !shown.contains(&path[..]));
    empty.map(|(path, _)| PathText(path.clone())).collect()
}
