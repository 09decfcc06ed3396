//! One lock per repository: everything that changes a common directory's shared state holds it.
//!
//! Within the process it is a mutex, across processes an advisory lock on a file named after the common
//! directory. The lock file's open file is also given to a `git` child as its standard input: the lock then
//! lasts as long as the child, even when the server that started it was killed, so that a server that starts
//! meanwhile waits for the orphan to finish instead of judging a half-made worktree.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::{Git, GitError};

/// How long the lock is waited for.
const LIMIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);

/// The locks that this process holds.
static HELD: LazyLock<HeldLocks> = LazyLock::new(HeldLocks::default);

#[derive(Default)]
struct HeldLocks {
    busy: Mutex<HashSet<PathBuf>>,
    freed: Condvar,
}

/// The right to change a repository's shared state, until it is dropped.
#[derive(Debug)]
pub struct RepositoryLock {
    file: File,
    _turn: Turn,
}

/// This thread's turn within the process.
#[derive(Debug)]
struct Turn(PathBuf);

impl Drop for Turn {
    fn drop(&mut self) {
        HELD.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        HELD.freed.notify_all();
    }
}

impl Git {
    /// Waits for the lock of a repository, named by its common directory; at most two minutes.
    pub fn lock_repository(&self, common_dir: &Path) -> Result<RepositoryLock, GitError> {
        let common_dir = common_dir.canonicalize().map_err(|source| GitError::FileSystem {
            operation: "find the repository",
            path: common_dir.to_owned(),
            source,
        })?;
        let begun = Instant::now();
        let path =
            self.lock_dir().join(format!("{:016x}.lock", fnv1a(common_dir.as_os_str().as_encoded_bytes())));
        let turn = take_turn(&path, &common_dir, begun)?;
        let file = open(&path)?;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() > LIMIT {
                return Err(busy(&common_dir, holder_of(&file), begun));
            }
            std::thread::sleep(PAUSE);
        }
        record_holder(&file);
        Ok(RepositoryLock { file, _turn: turn })
    }
}

impl RepositoryLock {
    /// The lock as a child's standard input: the lock is held until both are closed. Reading gives the end of
    /// the file at once.
    pub(crate) fn for_child(&self) -> Result<File, GitError> {
        let end = |file: File| -> std::io::Result<File> {
            (&file).seek(std::io::SeekFrom::End(0))?;
            Ok(file)
        };
        self.file.try_clone().and_then(end).map_err(|source| GitError::FileSystem {
            operation: "share the lock",
            path: PathBuf::new(),
            source,
        })
    }
}

fn take_turn(path: &Path, common_dir: &Path, begun: Instant) -> Result<Turn, GitError> {
    let mut busy_locks = HELD.busy.lock().unwrap_or_else(PoisonError::into_inner);
    while busy_locks.contains(path) {
        let left = LIMIT.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(busy(common_dir, "another operation of this server".into(), begun));
        }
        busy_locks = HELD.freed.wait_timeout(busy_locks, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    busy_locks.insert(path.to_owned());
    Ok(Turn(path.to_owned()))
}

fn open(path: &Path) -> Result<File, GitError> {
    File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(|source| {
        GitError::FileSystem { operation: "open the lock file", path: path.to_owned(), source }
    })
}

/// Writes who holds the lock, for the message of those who wait; failing to is no reason to stop.
fn record_holder(mut file: &File) {
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = write!(file, "{}", std::process::id());
}

fn holder_of(mut file: &File) -> String {
    let mut text = String::new();
    let _ = file.rewind();
    let _ = file.take(20).read_to_string(&mut text);
    if text.is_empty() { "another process".into() } else { format!("process {text}, or a git it started,") }
}

fn busy(common_dir: &Path, holder: String, begun: Instant) -> GitError {
    GitError::LockBusy { common_dir: common_dir.to_owned(), holder, waited_s: begun.elapsed().as_secs() }
}

/// The FNV-1a hash: stable across versions of the program, which the name of a lock file must be.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
