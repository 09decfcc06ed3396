//! One server per home folder: an operating-system lock, taken before anything else is written.
//!
//! The system releases the lock when the process ends, however it ends, so a crash leaves no stale lock. The
//! file also holds the holder's process number, for the message that a second server shows.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// Holds a home folder until it is dropped.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

/// Says why a home folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum HomeLocked {
    /// Another server uses the folder.
    #[error("another Freehold server ({holder}) uses {home}; stop it first, or choose another home folder", home = home.display())]
    Held {
        /// The folder.
        home: PathBuf,
        /// `process 123`, or `its process number is unknown`.
        holder: String,
    },
    /// The lock file could not be made or written.
    #[error("cannot lock the home folder {home}: {source}", home = home.display())]
    Io {
        /// The folder.
        home: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl HomeLock {
    /// Locks a home folder, which is made when it is absent; fails at once when another process holds it.
    pub fn acquire(home: &Path) -> Result<Self, HomeLocked> {
        let io_error = |source| HomeLocked::Io { home: home.to_owned(), source };
        std::fs::create_dir_all(home).map_err(io_error)?;
        let path = home.join("freehold.lock");
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).to_owned();
        let mut file = options.open(path).map_err(io_error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(HomeLocked::Held { home: home.to_owned(), holder: holder_of(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(io_error(source)),
        }
        write_holder(&mut file).map_err(io_error)?;
        Ok(Self { _file: file })
    }
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder_of(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.read_to_string(&mut text).is_ok();
    match text.trim().parse::<u32>() {
        Ok(pid) if read => format!("process {pid}"),
        _ => "its process number is unknown".to_owned(),
    }
}
