//! What was true of every file of an idle worktree: a sum over names, kinds, sizes, inodes and times.
//!
//! The time of a status change moves with every write, rename and change of mode, and no program can set it
//! back. So a file that was changed with its size and time kept is seen without reading its content.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};

use super::settings::Settings;
use crate::GitError;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How much older than the look the newest change must be: more than the coarsest clock of a file system that
/// is still fine enough for Git, so that no later change can have the same time.
const SETTLED_NS: i128 = 30_000_000;

/// The version of the text.
const VERSION: &str = "1";

/// What was true when an idle worktree was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Evidence {
    files: Sum,
    registration: Sum,
    pub(super) settings: Settings,
}

impl Evidence {
    /// Looks at a new worktree. Waits until its newest file is old enough that a later change shows.
    pub(super) fn of_new(worktree: &Path, registration: &Path, settings: Settings) -> Result<Self, GitError> {
        loop {
            let now = time_on(worktree)?;
            let files = sum(worktree, None)?;
            let registration = sum(registration, Some(LOGS))?;
            if now - files.newest.max(registration.newest) > SETTLED_NS {
                return Ok(Self { files, registration, settings });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Reads the text that `to_string` made; none when it is of another version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        if parts.next()? != VERSION {
            return None;
        }
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let mut sum = || Some(Sum { count: number()?, value: number()?, newest: 0 });
        let (files, registration) = (sum()?, sum()?);
        Some(Self { files, registration, settings: Settings::from_number(number()?) })
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, registration, settings } = self;
        let settings = settings.number();
        write!(f, "{VERSION} {:x} {:x} ", files.count, files.value)?;
        write!(f, "{:x} {:x} {settings:x}", registration.count, registration.value)
    }
}

/// The logs of HEAD: Git shortens them when it tidies the repository.
const LOGS: &[u8] = b"logs";

/// Looks again; tells in words what is not as it was.
pub(super) fn compare(
    made: &Evidence,
    worktree: &Path,
    registration: &Path,
) -> Result<Option<&'static str>, GitError> {
    if !sum(registration, Some(LOGS))?.equals(made.registration) {
        return Ok(Some("its registration was changed or is locked"));
    }
    if !sum(worktree, None)?.equals(made.files) {
        return Ok(Some("a file in it was changed, added or removed"));
    }
    Ok(None)
}

/// A sum over entries that does not depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    value: u64,
    /// The newest change, in nanoseconds.
    newest: i128,
}

impl Sum {
    const fn equals(self, other: Self) -> bool {
        self.count == other.count && self.value == other.value
    }

    fn add(&mut self, name: Hash, stat: &Stat) {
        let changed = nanoseconds(stat.st_ctime, stat.st_ctime_nsec as _);
        let modified = nanoseconds(stat.st_mtime, stat.st_mtime_nsec as _);
        let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let size = if is_dir { 0 } else { stat.st_size.cast_unsigned() };
        let fields =
            [u64::from(stat.st_mode), stat.st_ino, size, u64::from(stat.st_uid), u64::from(stat.st_gid)];
        let hash = fields.into_iter().fold(name, Hash::number);
        let hash = hash.bytes(&changed.to_le_bytes()).bytes(&modified.to_le_bytes());
        self.merge(Self { count: 1, value: hash.finish(), newest: changed });
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.value = self.value.wrapping_add(other.value);
        self.newest = self.newest.max(other.newest);
    }
}

fn nanoseconds(seconds: i64, nanoseconds: u64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

/// A hash that stays the same across versions of this program (FNV-1a, mixed at the end).
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }

    fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Spreads the bits, as a sum of plain hashes of similar names would lose some.
    pub(super) const fn finish(self) -> u64 {
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

/// A directory that is to be listed, and the hash of its path below the top.
struct Open {
    path: PathBuf,
    name: Hash,
}

/// Sums up everything below a directory, level by level on several threads. What lies below an entry of the
/// given name at the top is left out.
fn sum(top: &Path, left_out: Option<&[u8]>) -> Result<Sum, GitError> {
    let device = top.symlink_metadata().map_err(GitError::io("looking at", top))?.dev();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut total = Sum::default();
    let mut level = vec![Open { path: top.to_owned(), name: Hash::new() }];
    let mut spared = left_out;
    while !level.is_empty() {
        let share = level.len().div_ceil(threads).max(MIN_SHARE);
        let lost = || GitError::io("listing", top)(std::io::ErrorKind::Other.into());
        let parts: Vec<_> = std::thread::scope(|scope| {
            let (first, others) = level.split_at(share.min(level.len()));
            let started: Vec<_> =
                others.chunks(share).map(|part| scope.spawn(move || list(part, device, spared))).collect();
            let own = list(first, device, spared);
            let joined = started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(lost())));
            std::iter::once(own).chain(joined).collect()
        });
        level = Vec::new();
        for part in parts {
            let (sum, inner) = part?;
            total.merge(sum);
            level.extend(inner);
        }
        spared = None;
    }
    Ok(total)
}

/// How many directories are worth a thread.
const MIN_SHARE: usize = 4;

fn list(part: &[Open], device: u64, spared: Option<&[u8]>) -> Result<(Sum, Vec<Open>), GitError> {
    let (mut sum, mut inner) = (Sum::default(), Vec::new());
    for open in part {
        list_one(open, device, spared, &mut sum, &mut inner)
            .map_err(|error| GitError::io("listing", &open.path)(error.into()))?;
    }
    Ok((sum, inner))
}

fn list_one(
    open: &Open,
    device: u64,
    spared: Option<&[u8]>,
    sum: &mut Sum,
    inner: &mut Vec<Open>,
) -> Result<(), rustix::io::Errno> {
    let directory = openat(CWD, &open.path, DIRECTORY, Mode::empty())?;
    if fstat(&directory)?.st_dev != device {
        return Err(rustix::io::Errno::XDEV);
    }
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let hash = open.name.bytes(name).bytes(b"/");
        if spared == Some(name) {
            continue;
        }
        let stat = statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        sum.add(hash, &stat);
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let path = open.path.join(std::ffi::OsStr::from_bytes(name));
            inner.push(Open { path, name: hash });
        }
    }
    Ok(())
}

/// The time of the file system that holds the worktree, read from a file beside it.
fn time_on(worktree: &Path) -> Result<i128, GitError> {
    let probe = worktree.with_extension("now");
    let failed = |error| GitError::io("writing", &probe)(error);
    std::fs::File::create(&probe)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"now"))
        .map_err(failed)?;
    let metadata = probe.metadata();
    let removed = std::fs::remove_file(&probe);
    let metadata = metadata.map_err(GitError::io("looking at", &probe))?;
    removed.map_err(GitError::io("removing", &probe))?;
    Ok(i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()))
}
