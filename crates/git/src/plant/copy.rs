//! Puts one file or link into a worktree, without following links and without overwriting.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// What the name of a copy ends with until it is whole; one that a crash left is replaced.
const PART: &str = ".freehold-part";
const CHUNK: usize = 64 * 1024;

/// A file or link that was put into a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedFile {
    /// Where, relative to the worktree.
    pub path: PathBuf,
    /// What it was copied from or leads to: an absolute path in the main checkout.
    pub source: PathBuf,
    /// Whether it is a link.
    pub is_link: bool,
}

impl PlantedFile {
    /// Whether it is still as planted, so that nothing is lost with it: the link leads where it led, or the copy
    /// has the bytes that its source has now. What cannot be read is not.
    #[must_use]
    pub fn is_untouched(&self, worktree: &Path) -> bool {
        let path = worktree.join(&self.path);
        if first_link(worktree, &self.path).is_some() {
            return false;
        }
        let link = std::fs::read_link(&path);
        if self.is_link {
            return link.is_ok_and(|target| target == self.source);
        }
        match link {
            Ok(target) => std::fs::read_link(&self.source).is_ok_and(|source| source == target),
            Err(_) => same_content(&path, &self.source).unwrap_or(false),
        }
    }
}

/// Makes a link to `source` in the worktree; the error is a reason for people.
pub(super) fn link(worktree: &Path, path: &Path, source: &Path) -> Result<PlantedFile, String> {
    prepare_folder(worktree, path)?;
    let planted = PlantedFile { path: path.to_owned(), source: source.to_owned(), is_link: true };
    match std::os::unix::fs::symlink(source, worktree.join(path)) {
        Ok(()) => Ok(planted),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && planted.is_untouched(worktree) => {
            Ok(planted)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err("something is there already".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Copies a file or a link that stays inside, at most so many bytes; the error is a reason for people.
pub(super) fn file(
    main: &Path,
    worktree: &Path,
    path: &Path,
    limit: u64,
) -> Result<(PlantedFile, u64), String> {
    if first_link(main, path).is_some() {
        return Err("a link is on the way to it in the main checkout".into());
    }
    let source = main.join(path);
    let metadata = source.symlink_metadata().map_err(|error| error.to_string())?;
    let planted = PlantedFile { path: path.to_owned(), source: source.clone(), is_link: false };
    let target = worktree.join(path);
    if metadata.is_symlink() {
        let leads_to = std::fs::read_link(&source).map_err(|error| error.to_string())?;
        if !stays_inside(path, &leads_to) {
            return Err("it is a link that leads out of the repository".into());
        }
        prepare_folder(worktree, path)?;
        return match std::os::unix::fs::symlink(&leads_to, &target) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && planted.is_untouched(worktree) => {
                Ok((planted, 0))
            }
            Err(error) => Err(existing(&error)),
            Ok(()) => Ok((planted, 0)),
        };
    }
    if !metadata.is_file() {
        return Err("it is neither a file nor a link".into());
    }
    if metadata.len() > limit {
        return Err("the files that are listed are too large together".into());
    }
    prepare_folder(worktree, path)?;
    if target.symlink_metadata().is_ok() {
        let is_same = planted.is_untouched(worktree);
        return if is_same {
            Ok((planted, metadata.len()))
        } else {
            Err("something is there already".into())
        };
    }
    copy_whole(&source, &target).map(|bytes| (planted, bytes)).map_err(|error| existing(&error))
}

fn existing(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::AlreadyExists => "something is there already".into(),
        _ => error.to_string(),
    }
}

/// Copies beside the target and gives the whole copy its name, which must be free.
fn copy_whole(source: &Path, target: &Path) -> std::io::Result<u64> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(PART);
    let part = target.with_file_name(name);
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let copied = copy_to(source, &part).and_then(|bytes| {
        // A link to the whole copy fails when the name is taken; a rename would overwrite.
        std::fs::hard_link(&part, target)?;
        Ok(bytes)
    });
    _ = std::fs::remove_file(&part);
    copied
}

fn copy_to(source: &Path, part: &Path) -> std::io::Result<u64> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let no_follow = i32::try_from(no_follow.bits()).unwrap_or_default();
    let mut from = OpenOptions::new().read(true).custom_flags(no_follow).open(source)?;
    let metadata = from.metadata()?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("it is not a file any more"));
    }
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
    let bytes = if share(&from, &to) { metadata.len() } else { std::io::copy(&mut from, &mut to)? };
    // Neither set-user nor set-group bits: the file belongs to whoever runs this.
    to.set_permissions(std::fs::Permissions::from_mode(metadata.mode() & 0o777))?;
    Ok(bytes)
}

/// Lets the copy share the blocks of the original, where the file system can.
#[cfg(target_os = "linux")]
fn share(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share(_from: &File, _to: &File) -> bool {
    false
}

/// Makes the folders around a path, none of which may be a link.
fn prepare_folder(top: &Path, path: &Path) -> Result<(), String> {
    let mut place = top.to_owned();
    for part in path.parent().unwrap_or(Path::new("")).components() {
        place.push(part);
        match place.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(format!("{} is in the way", part.as_os_str().to_string_lossy())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                std::fs::create_dir(&place).map_err(|error| error.to_string())?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// The first folder on the way to a path that is a link.
pub(super) fn first_link(top: &Path, path: &Path) -> Option<PathBuf> {
    let mut place = top.to_owned();
    path.parent()?.components().find_map(|part| {
        place.push(part);
        place.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()).then(|| place.clone())
    })
}

/// Whether a link at `path` leads to a place inside of the checkout, judged by its text alone.
fn stays_inside(path: &Path, leads_to: &Path) -> bool {
    let mut depth = path.components().count() - 1;
    for (at, part) in leads_to.components().enumerate() {
        match part {
            Component::CurDir => {}
            // A `..` behind a name may go up from wherever a link of that name leads.
            Component::ParentDir if at > 0 && depth == 0 => return false,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return false,
            },
            Component::Normal(name) if name.eq_ignore_ascii_case(".git") => return false,
            Component::Normal(_) => depth += 1,
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

fn same_content(one: &Path, other: &Path) -> std::io::Result<bool> {
    let (one_metadata, other_metadata) = (one.symlink_metadata()?, other.symlink_metadata()?);
    if !one_metadata.is_file() || !other_metadata.is_file() || one_metadata.len() != other_metadata.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let read = read_full(&mut one, &mut left)?;
        if read != read_full(&mut other, &mut right)? || left[..read] != right[..read] {
            return Ok(false);
        }
        if read < CHUNK {
            return Ok(true);
        }
    }
}

fn read_full(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_could_lead_out_is_told_from_one_that_stays() {
        for (path, leads_to) in
            [("a", ".."), ("a", "/etc"), ("d/a", "../../x"), ("a", ".git/config"), ("a", "b/../../x")]
        {
            assert!(!stays_inside(Path::new(path), Path::new(leads_to)), "{path} -> {leads_to}");
        }
        for (path, leads_to) in [("a", "b"), ("d/a", "../b"), ("d/a", "./c/d"), ("a", "b/c")] {
            assert!(stays_inside(Path::new(path), Path::new(leads_to)), "{path} -> {leads_to}");
        }
    }
}
