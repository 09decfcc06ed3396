//! How much room a directory takes on disk: nothing is followed, nothing is entered that is mounted there, and a
//! limit keeps a walk from going on for minutes.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::GitError;

/// The unit in which the system counts the blocks of a file, in bytes.
const BLOCK_BYTES: u64 = 512;

/// How far a walk goes.
#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// How many files, links and directories are looked at.
    pub entries: u64,
    /// How long it may take.
    pub time: Duration,
}

/// What a walk found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeasuredRoom {
    /// The bytes that are allocated on disk; a file with several names counts once.
    pub bytes: u64,
    /// How many files, links and directories there are, the top included.
    pub entries: u64,
    /// Whether a limit ended the walk, or something could not be read, so that it takes at least this much.
    pub is_partial: bool,
}

/// Measures what is at a path and below it, without the places to skip; none when nothing is there.
pub fn measure_room(
    top: &Path,
    skipped: &[PathBuf],
    limits: RoomLimits,
) -> Result<Option<MeasuredRoom>, GitError> {
    let metadata = match top.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(GitError::io("looking at", top)(error)),
    };
    let (began, device) = (Instant::now(), metadata.dev());
    let mut room = MeasuredRoom { bytes: metadata.blocks() * BLOCK_BYTES, entries: 1, is_partial: false };
    let mut linked = HashSet::new();
    let mut open = if metadata.is_dir() { vec![top.to_owned()] } else { Vec::new() };
    while let Some(directory) = open.pop() {
        let Ok(entries) = directory.read_dir() else {
            room.is_partial = true;
            continue;
        };
        for entry in entries {
            let Ok((path, metadata)) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))) else {
                // What goes away meanwhile takes no room; what cannot be read does.
                room.is_partial |= true;
                continue;
            };
            if metadata.dev() != device || skipped.contains(&path) {
                continue;
            }
            if room.entries >= limits.entries || began.elapsed() >= limits.time {
                room.is_partial = true;
                return Ok(Some(room));
            }
            room.entries += 1;
            if metadata.is_dir() {
                open.push(path);
            } else if metadata.nlink() > 1 && !linked.insert(metadata.ino()) {
                continue;
            }
            room.bytes += metadata.blocks() * BLOCK_BYTES;
        }
    }
    Ok(Some(room))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: RoomLimits = RoomLimits { entries: 1_000, time: Duration::from_secs(10) };

    #[test]
    fn links_are_not_followed_and_a_file_with_two_names_counts_once() {
        let home = tempfile::tempdir().unwrap();
        let (outside, top) = (home.path().join("outside"), home.path().join("top"));
        std::fs::create_dir_all(top.join("inner")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("large"), vec![1_u8; 1 << 20]).unwrap();
        std::fs::write(top.join("inner/file"), vec![1_u8; 64 << 10]).unwrap();
        let before = measure_room(&top, &[], FAR).unwrap().unwrap();
        assert!(before.bytes >= 64 << 10 && !before.is_partial);
        std::os::unix::fs::symlink(&outside, top.join("link")).unwrap();
        std::fs::hard_link(top.join("inner/file"), top.join("again")).unwrap();
        let after = measure_room(&top, &[], FAR).unwrap().unwrap();
        assert!(after.bytes < before.bytes + (16 << 10), "{before:?} {after:?}");
        assert_eq!(after.entries, before.entries + 2);
        assert_eq!(measure_room(&top.join("nothing"), &[], FAR).unwrap(), None);
    }

    #[test]
    fn a_limit_ends_the_walk_and_is_told() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::write(home.path().join(number.to_string()), "x").unwrap();
        }
        let room = measure_room(home.path(), &[], RoomLimits { entries: 5, ..FAR }).unwrap().unwrap();
        assert!(room.is_partial && room.entries == 5, "{room:?}");
        let skipped = [home.path().join("1")];
        assert_eq!(measure_room(home.path(), &skipped, FAR).unwrap().unwrap().entries, 20);
    }
}
