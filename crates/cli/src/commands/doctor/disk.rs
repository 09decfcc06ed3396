//! The home folder: whether it can be used, who uses it, and how much room there is.

use std::path::Path;

use freehold_store::{HomeLock, HomeLocked};
use rustix::fs::{Access, access, statvfs};

use super::Finding;
use crate::compose::Setup;
use crate::connection::Connection;
use crate::home::Home;
use crate::temporary;

const GIBIBYTE: u64 = 1 << 30;
/// Below this a warning, in bytes.
const LITTLE_SPACE: u64 = 2 * GIBIBYTE;
/// Below this a failure, in bytes.
const NO_SPACE: u64 = GIBIBYTE / 8;

/// Looks whether the home folder can be written.
pub(super) fn home(home: &Home) -> Finding {
    const CHECK: &str = "home folder";
    let root = home.root();
    let (folder, note) =
        if root.exists() { (root, "") } else { (nearest(root), "; made at the first start") };
    let can_write = access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok() && folder.is_dir();
    if can_write {
        return Finding::ok(CHECK, format!("{}{note}", root.display()));
    }
    let message = format!("{} cannot be written", folder.display());
    Finding::fail(CHECK, message, "make it yours with chown, or choose another with --home")
}

/// Looks whether the system may empty the folder in which the home folder is.
pub(super) fn place(home: &Home) -> Finding {
    const CHECK: &str = "home place";
    match temporary::around(home.root()) {
        None => Finding::ok(CHECK, "outlives a restart of the machine"),
        Some(folder) => Finding::warn(
            CHECK,
            format!("{} is for temporary files: what is there may be gone after a restart", folder.display()),
            "move the home folder while no server runs, or choose another with --home",
        ),
    }
}

/// Looks who uses the home folder.
pub(super) fn server(setup: &Setup) -> Finding {
    const CHECK: &str = "server";
    let root = setup.home.root();
    match Connection::find(setup) {
        Ok(Some(_)) => {
            let record = setup.home.find_server();
            let record = record.map(|record| format!("process {} at {}", record.pid, record.address));
            return Finding::ok(CHECK, record.unwrap_or_else(|| "it answers".to_owned()));
        }
        Ok(None) => {}
        Err(failure) => return Finding::warn(CHECK, failure.body.message, failure.body.hint),
    }
    if !root.exists() {
        return Finding::ok(CHECK, "none runs");
    }
    match HomeLock::acquire(root) {
        Ok(_) => Finding::ok(CHECK, "none runs"),
        Err(error @ HomeLocked::Held { .. }) => {
            Finding::warn(CHECK, error.to_string(), "if it does not answer for long, end that process")
        }
        Err(error @ HomeLocked::Io { .. }) => Finding::fail(
            CHECK,
            error.to_string(),
            "make the home folder writable, or choose another with --home",
        ),
    }
}

/// Looks how much room there is for workspaces.
pub(super) fn space(home: &Home) -> Finding {
    const CHECK: &str = "disk space";
    let folder = nearest(home.root());
    let Ok(facts) = statvfs(folder) else {
        return Finding::warn(CHECK, format!("the file system of {} does not tell", folder.display()), "");
    };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let message = format!("{}.{} GiB free", free / GIBIBYTE, free % GIBIBYTE * 10 / GIBIBYTE);
    let remedy = "archive tasks, or move the home folder to a larger disk";
    match free {
        0..NO_SPACE => Finding::fail(CHECK, message, remedy),
        NO_SPACE..LITTLE_SPACE => Finding::warn(CHECK, message, remedy),
        _ => Finding::ok(CHECK, message),
    }
}

/// The folder itself, or the nearest one above that exists.
fn nearest(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"))
}
