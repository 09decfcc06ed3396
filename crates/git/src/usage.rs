//! How much of a disk a folder takes.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the system counts in, in bytes.
const BLOCK: u64 = 512;

/// The bytes on disk that a folder takes with everything in it: what comes back when it goes. Links are not followed
/// and other file systems not entered; a file that several names lead to counts once, and not at all while a name
/// outside leads to it. What cannot be read counts as nothing.
#[must_use]
pub fn disk_usage(top: &Path) -> u64 {
    let Ok(metadata) = top.symlink_metadata() else { return 0 };
    let (device, mut total) = (metadata.dev(), metadata.blocks() * BLOCK);
    // Of each file with several names: how many of them are inside.
    let mut shared: HashMap<(u64, u64), (u64, u64, u64)> = HashMap::new();
    let mut open = if metadata.is_dir() { vec![top.to_owned()] } else { Vec::new() };
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && metadata.dev() == device {
                open.push(entry.path());
            }
            if !metadata.is_dir() && metadata.nlink() > 1 {
                let names = (0, metadata.nlink(), metadata.blocks());
                shared.entry((metadata.dev(), metadata.ino())).or_insert(names).0 += 1;
            } else if metadata.dev() == device {
                total += metadata.blocks() * BLOCK;
            }
        }
    }
    let whole = shared.into_values().filter(|(inside, names, _)| inside == names);
    total + whole.map(|(_, _, blocks)| blocks * BLOCK).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::disk_usage;

    #[test]
    fn a_file_with_a_name_outside_stays_where_it_is() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("folder");
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        let empty = disk_usage(&folder);
        std::fs::write(folder.join("deep/file"), vec![7; 100_000]).unwrap();
        let full = disk_usage(&folder);
        assert!(full >= empty + 100_000, "{empty} {full}");
        std::fs::hard_link(folder.join("deep/file"), folder.join("again")).unwrap();
        assert_eq!(disk_usage(&folder), full, "two names, one file");
        std::fs::hard_link(folder.join("again"), home.path().join("outside")).unwrap();
        assert_eq!(disk_usage(&folder), empty);
        assert_eq!(disk_usage(&home.path().join("nothing")), 0);
    }
}
