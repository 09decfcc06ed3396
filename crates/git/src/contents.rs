//! What in a worktree is not as a person might expect: submodules, large files, sparse and encrypted checkouts.
//!
//! Each is told in a sentence; nothing is fetched and nothing is run to find it out.

use std::path::Path;

use crate::command::path_from_bytes;
use crate::{Git, GitError};

/// How a pointer of Git LFS begins.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";
/// How a file begins that git-crypt encrypted.
const ENCRYPTED: &[u8] = b"\0GITCRYPT\0";
/// How many paths a sentence names.
const NAMED: usize = 3;

impl Git {
    /// Tells what a person should know about a worktree that was just made, in sentences.
    pub fn describe_contents(&self, worktree: &Path) -> Result<Vec<String>, GitError> {
        let mut notes = Vec::new();
        let (mut submodules, mut absent) = (Vec::new(), Vec::new());
        for line in self.nul_lines(worktree, &["ls-files", "--stage", "-t", "-z"])? {
            let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
            let (head, path) = (&line[..tab], &line[tab + 1..]);
            let is_empty = |path: &[u8]| {
                let entries = worktree.join(path_from_bytes(path)).read_dir();
                entries.map_or(true, |mut entries| entries.next().is_none())
            };
            if head.get(2..).is_some_and(|head| head.starts_with(b"160000")) {
                if is_empty(path) {
                    submodules.push(path.to_vec());
                }
            } else if head.starts_with(b"S ") {
                absent.push(path.to_vec());
            }
        }
        if !submodules.is_empty() {
            notes.push(format!(
                "Submodules are empty here: {}. Turn them on for the repository, or run \
                 `git submodule update --init` in the workspace.",
                named(&submodules)
            ));
        }
        if !absent.is_empty() {
            notes.push(format!(
                "The repository is checked out sparsely; {} are absent here. `git sparse-checkout disable` brings \
                 them.",
                named(&absent)
            ));
        }
        let pointers = self.files_that_begin(worktree, "lfs", POINTER)?;
        if !pointers.is_empty() {
            notes.push(format!(
                "Large files (Git LFS) are pointers here: {}. `git lfs pull` in the workspace brings them.",
                named(&pointers)
            ));
        }
        let encrypted = self.files_that_begin(worktree, "git-crypt", ENCRYPTED)?;
        if !encrypted.is_empty() {
            notes.push(format!(
                "Files are encrypted here (git-crypt): {}. Unlock them in the workspace if the task needs them.",
                named(&encrypted)
            ));
        }
        Ok(notes)
    }

    /// The sentence about a link that Git does not ignore; none when it does.
    pub fn describe_link(&self, worktree: &Path, link: &Path) -> Result<Option<String>, GitError> {
        let shown = link.display();
        Ok((!self.is_ignored(worktree, link)?).then(|| {
            format!(
                "Git does not ignore the link {shown}; a pattern that ends with a slash does not match a link. \
                 Write `{shown}` in .gitignore, so that it is not committed."
            )
        }))
    }

    /// The tracked files with a filter attribute whose content begins with these bytes. By the attribute alone a
    /// file could have been filtered and be whole.
    fn files_that_begin(
        &self,
        worktree: &Path,
        filter: &str,
        begin: &[u8],
    ) -> Result<Vec<Vec<u8>>, GitError> {
        // By the attributes of the files in the worktree, as a checkout does.
        let pathspec = format!(":(attr:filter={filter})");
        let files = self.nul_lines(worktree, &["ls-files", "-z", "--", &pathspec])?;
        let begins = |path: &Vec<u8>| {
            let path = worktree.join(path_from_bytes(path));
            let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            is_file && std::fs::File::open(path).is_ok_and(|file| starts_with(file, begin))
        };
        Ok(files.into_iter().filter(begins).collect())
    }

    fn nul_lines(&self, worktree: &Path, arguments: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
        let listed = self.read("listing the files of", worktree).args(arguments).stdout()?;
        Ok(listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
    }
}

fn starts_with(file: impl std::io::Read, begin: &[u8]) -> bool {
    let mut found = Vec::new();
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(file, begin.len() as u64), &mut found);
    read.is_ok() && found == begin
}

fn named(paths: &[Vec<u8>]) -> String {
    let some: Vec<_> = paths.iter().take(NAMED).map(|path| String::from_utf8_lossy(path)).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}
