//! What the demo agent sees of its directory. Hidden names and links are left out.

use std::io;
use std::path::{Path, PathBuf};

use super::script::FileEdit;

/// Files larger than this are not taken for text to edit.
const MAX_TEXT_BYTES: u64 = 256 * 1024;

/// Lists the first text files, each folder's own before those of its folders, by name.
pub(super) fn text_files(folder: &Path, count: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    visit(folder, folder, &mut |path| {
        if found.len() < count && is_text(&folder.join(&path)) {
            found.push(path);
        }
        found.len() < count
    });
    found
}

/// Lists the files, the one changed last first.
pub(super) fn newest_files(folder: &Path, count: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    visit(folder, folder, &mut |path| {
        found.push((folder.join(&path).metadata().and_then(|metadata| metadata.modified()).ok(), path));
        true
    });
    found.sort_by(|(a_time, a), (b_time, b)| b_time.cmp(a_time).then_with(|| a.cmp(b)));
    found.into_iter().take(count).map(|(_, path)| path).collect()
}

/// Visits files in order, with their path below the root, until the visitor has enough.
fn visit(root: &Path, folder: &Path, visitor: &mut impl FnMut(PathBuf) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return true };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    entries.retain(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    let is = |entry: &std::fs::DirEntry, test: fn(&std::fs::FileType) -> bool| {
        entry.file_type().is_ok_and(|kind| test(&kind))
    };
    let files = entries.iter().filter(|entry| is(entry, std::fs::FileType::is_file));
    let folders = entries.iter().filter(|entry| is(entry, std::fs::FileType::is_dir));
    for file in files {
        if let Ok(path) = file.path().strip_prefix(root)
            && !visitor(path.to_owned())
        {
            return false;
        }
    }
    folders.map(std::fs::DirEntry::path).all(|folder| visit(root, &folder, visitor))
}

fn is_text(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() <= MAX_TEXT_BYTES)
        && std::fs::read_to_string(path).is_ok_and(|text| !text.contains('\0'))
}

/// What an edit did.
pub(super) struct Edited {
    pub(super) old_text: Option<String>,
    pub(super) new_text: String,
}

/// Edits a file, or makes it.
pub(super) fn edit(path: &Path, edit: &FileEdit) -> io::Result<Edited> {
    let old_text = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut new_text = edit.content.clone().or_else(|| old_text.clone()).unwrap_or_default();
    if let Some((from, to)) = &edit.replace {
        new_text = new_text.replace(from, to);
    }
    if let Some(tail) = &edit.append {
        if !new_text.is_empty() && !new_text.ends_with('\n') {
            new_text.push('\n');
        }
        new_text.push_str(tail);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, &new_text)?;
    Ok(Edited { old_text, new_text })
}
