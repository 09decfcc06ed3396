//! Folders that do not outlive a restart of the machine, or are emptied by age: workspaces must not be there.

use std::path::{Path, PathBuf};

/// Where systems put what may go at any time.
const EMPTIED: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/// The folder around a path that the system may empty; none when the path is safe. The path need not exist.
#[must_use]
pub(crate) fn around(path: &Path) -> Option<PathBuf> {
    let named = EMPTIED.into_iter().map(PathBuf::from).chain([std::env::temp_dir()]);
    within(path, named)
}

fn within(path: &Path, mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let resolved = resolve(path);
    folders.find(|folder| folder.parent().is_some() && resolved.starts_with(resolve(folder)))
}

/// The path with every link on it resolved, as far as it exists.
fn resolve(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let Ok(resolved) = existing.canonicalize() {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return resolved.join(rest);
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_one_that_is_emptied_is_found_also_behind_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        let (emptied, safe) = (scratch.path().join("emptied"), scratch.path().join("safe"));
        std::fs::create_dir(&emptied).unwrap();
        std::fs::create_dir(&safe).unwrap();
        std::os::unix::fs::symlink(&emptied, safe.join("link")).unwrap();
        let found = |path: &Path| within(path, [emptied.clone()].into_iter()).is_some();
        assert!(found(&emptied.join("not/yet/there")) && found(&safe.join("link/home")));
        assert!(!found(&safe.join("home")) && !found(&scratch.path().join("emptied-not")));
    }

    #[test]
    fn the_folders_of_the_system_are_known_and_others_are_not() {
        for path in ["/tmp/freehold", "/var/tmp/a/b", "/dev/shm/x"] {
            assert!(around(Path::new(path)).is_some(), "{path}");
        }
        for path in ["/srv/freehold", "/tmpfiles", "/"] {
            assert_eq!(around(Path::new(path)), None, "{path}");
        }
    }
}
