//! Small files of a registration: the note of a taking, and what Git writes into a fresh one.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::{GitError, Oid, WorktreePlan};

/// The name of the note in a registration; Git does not look at it.
const FILE: &str = "freehold-taking";

/// Says that an idle worktree is being taken: its files are those of any of these commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) commits: Vec<Oid>,
}

impl Note {
    /// Reads the note of a registration; none when it is not being taken.
    pub(crate) fn read(registration_dir: &Path) -> Result<Option<Self>, GitError> {
        let path = registration_dir.join(FILE);
        match std::fs::read_to_string(&path) {
            // What is cut short names fewer commits, which only makes the look closer.
            Ok(text) => {
                Ok(Some(Self { commits: text.lines().filter_map(|line| line.parse().ok()).collect() }))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(GitError::io("reading", &path)(error)),
        }
    }

    pub(super) fn write(&self, registration_dir: &Path) -> Result<(), GitError> {
        let text: String = self.commits.iter().map(|commit| format!("{commit}\n")).collect();
        replace(&registration_dir.join(FILE), text.as_bytes())
    }

    pub(super) fn remove(registration_dir: &Path) -> Result<(), GitError> {
        let path = registration_dir.join(FILE);
        std::fs::remove_file(&path).map_err(GitError::io("removing", &path))
    }
}

/// Replaces a file as Git does: under its lock file, and whole or not at all.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), GitError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock = Path::new(&name);
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(lock);
    let mut file = opened.map_err(GitError::io("locking", path))?;
    let written = file.write_all(content).and_then(|()| std::fs::rename(lock, path));
    if written.is_err() {
        _ = std::fs::remove_file(lock);
    }
    written.map_err(GitError::io("writing", path))
}

/// Puts HEAD on the branch and leaves the registration as `git worktree add` would have: with the start commit
/// as the one before, and with a log that begins there.
pub(super) fn write_as_fresh(common_dir: &Path, dir: &Path, plan: &WorktreePlan) -> Result<(), GitError> {
    let start = plan.start.as_str();
    replace(&dir.join("ORIG_HEAD"), format!("{start}\n").as_bytes())?;
    let log = dir.join("logs/HEAD");
    if log.exists() {
        let branch_log = common_dir.join("logs/refs/heads").join(&plan.branch);
        let written = std::fs::read_to_string(&branch_log).map_err(GitError::io("reading", &branch_log))?;
        let line = written.lines().next_back().unwrap_or_default();
        let who = line.split('\t').next().and_then(|line| line.splitn(3, ' ').nth(2)).unwrap_or_default();
        let zeros = "0".repeat(start.len());
        let text = format!("{zeros} {start} {who}\n{start} {start} {who}\treset: moving to HEAD\n");
        replace(&log, text.as_bytes())?;
    }
    replace(&dir.join("HEAD"), format!("ref: refs/heads/{}\n", plan.branch).as_bytes())
}
