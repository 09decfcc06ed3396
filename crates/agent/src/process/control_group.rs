//! A control group (cgroup v2) per execution, where the system lets us make one.
//!
//! It is the one net nothing slips through: a process cannot leave it by `setsid` or by wiping its environment.
//! Most machines do not delegate a control group to a plain program, so every step here may fail, and then the
//! other nets do the work.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often and how long a busy group is waited for: 25 ms at most, since dropping blocks.
const REMOVE_TRIES: u32 = 25;
const REMOVE_PAUSE: Duration = Duration::from_millis(1);

/// The control group of one execution; removed when dropped.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// Makes the group below our own and moves the process into it.
    pub(super) fn make(execution: &str, pid: u32) -> Option<Self> {
        let folder = folder_of(execution)?;
        std::fs::create_dir(&folder).ok()?;
        let group = Self { folder };
        let can_kill = group.folder.join("cgroup.kill").exists();
        (can_kill && std::fs::write(group.folder.join("cgroup.procs"), pid.to_string()).is_ok())
            .then_some(group)
    }

    /// Finds the group that an earlier server made.
    pub(super) fn find(execution: &str) -> Option<Self> {
        let folder = folder_of(execution)?;
        folder.is_dir().then_some(Self { folder })
    }

    /// Kills everything in it.
    pub(super) fn kill(&self) {
        // Fails only when the group is gone, and then there is nothing to kill.
        let _ = std::fs::write(self.folder.join("cgroup.kill"), "1");
    }

    /// Whether a living process is in it; the dead that wait to be reaped are not listed.
    pub(super) fn is_populated(&self) -> bool {
        std::fs::read(self.folder.join("cgroup.procs")).is_ok_and(|listed| !listed.is_empty())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // It is busy until what was just killed in it is dead. Left behind empty it would cost next to nothing.
        for _ in 0..REMOVE_TRIES {
            match std::fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(REMOVE_PAUSE);
                }
                _ => break,
            }
        }
    }
}

fn folder_of(execution: &str) -> Option<PathBuf> {
    if execution.is_empty() || !execution.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind) = (fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| Path::new(folder).join(own))
    })?;
    Some(mount.join(format!("freehold-{execution}")))
}
