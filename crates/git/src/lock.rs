//! One lock per repository, across threads and processes.
//!
//! Git takes its own locks file by file and gives up at once when one is held: parallel `git worktree add`
//! fails on `config.lock` and leaves branches behind. So everything that changes a repository first takes an
//! advisory lock (`flock`) on one file in the common directory, whichever server and home folder it belongs to.
//! The system gives the lock back when the last copy of the open file is closed, so a crash never leaves a
//! stale one and no lock file is ever deleted.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{Git, GitError};

/// The lock file's name in a common directory; Git does not look at it.
const LOCK_FILE: &str = "freehold.lock";

/// How long to wait between two attempts to get a held lock.
const RETRY: Duration = Duration::from_millis(5);

/// Tells the locks that this process took apart, so that a waiter sees that the holder changed.
static TICKETS: AtomicU64 = AtomicU64::new(0);

/// The right to change one repository; given back when the last clone is dropped and the last git that it was
/// handed to has ended.
#[derive(Debug, Clone)]
pub struct RepositoryLock {
    file: Arc<File>,
    output: PathBuf,
    common_dir: PathBuf,
}

impl RepositoryLock {
    /// The canonical common directory of the locked repository.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// An emptied file for what the holder's git prints; only one git of a holder runs at a time.
    pub(crate) fn output_file(&self) -> Result<File, GitError> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&self.output);
        opened.map_err(GitError::io("opening", &self.output))
    }
}

impl Git {
    /// Takes the lock of the repository that a path lies in; see [`Git::lock_repository`].
    pub(crate) fn lock_repository_of(&self, path: &Path) -> Result<RepositoryLock, GitError> {
        self.lock_repository(&self.common_dir(path)?)
    }

    /// Takes the lock of the repository with the given common directory and waits while others hold it: for
    /// each holder up to the limit, as a long queue of short holders is no fault.
    pub fn lock_repository(&self, common_dir: &Path) -> Result<RepositoryLock, GitError> {
        let common_dir = common_dir.canonicalize().map_err(GitError::io("opening", common_dir))?;
        let path = common_dir.join(LOCK_FILE);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(GitError::io("opening", &path))?;
        let mut holder = String::new();
        let mut since = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(GitError::io("locking", &path)(error.into())),
            }
            let current = read_holder(&mut file);
            if current != holder {
                (holder, since) = (current, Instant::now());
            } else if since.elapsed() >= self.lock_wait() {
                let waited_s = self.lock_wait().as_secs();
                return Err(GitError::LockBusy { common_dir, holder: describe(&holder), waited_s });
            }
            std::thread::sleep(RETRY);
        }
        write_holder(&mut file).map_err(GitError::io("writing", &path))?;
        let output = self.scratch_dir().join(output_name(&common_dir));
        Ok(RepositoryLock { file: Arc::new(file), output, common_dir })
    }
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
    file.rewind()?;
    file.set_len(0)?;
    writeln!(file, "{} {ticket}", std::process::id())
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(64).read_to_string(&mut text));
    if read.is_ok() { text } else { String::new() }
}

fn describe(holder: &str) -> String {
    match holder.split_once(' ') {
        Some((pid, _)) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

/// A name that every version of Freehold makes alike: for people the repository's name, and a hash (FNV-1a) of
/// the whole path to tell repositories of one name apart.
fn output_name(common_dir: &Path) -> String {
    let is_inside = common_dir.file_name().is_some_and(|name| name == ".git");
    let named = if is_inside { common_dir.parent().unwrap_or(common_dir) } else { common_dir };
    let name = named.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    format!("{name}-{:016x}.out", path_hash(common_dir))
}

/// A hash of a path that stays the same across versions of this program.
pub(crate) fn path_hash(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
