//! Processes that work inside a directory: by their working directory or by a file that they hold open.
//!
//! What such a process writes after the directory was looked at would be lost with it, and an agent whose working
//! directory vanishes may go on somewhere else. Known on Linux only, and only of processes that this user may
//! look at.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Finding, FindingKind};
use crate::registration::settled;

/// How long processes that are just ending, such as a status that a page asked for, may take.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits a moment for the processes inside to end; a finding when some are still there.
pub(super) fn after_a_moment(directory: &Path) -> Option<Finding> {
    let began = Instant::now();
    loop {
        let found = now(directory)?;
        if began.elapsed() > PATIENCE {
            return Some(found);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes inside at this moment.
fn now(directory: &Path) -> Option<Finding> {
    let directory = settled(directory);
    let own = std::process::id().to_string();
    let mut inside = Vec::new();
    for entry in Path::new("/proc").read_dir().ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != own
            && name.bytes().all(|byte| byte.is_ascii_digit())
            && is_inside(&entry.path(), &directory)
        {
            let command = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            inside.push(format!("{name} {}", command.trim()));
        }
    }
    let detail = "Programs are still working inside.";
    (!inside.is_empty()).then(|| Finding::new(FindingKind::InUse, inside, detail))
}

fn is_inside(process: &Path, directory: &Path) -> bool {
    let leads_inside = |link: &Path| link.read_link().is_ok_and(|target| target.starts_with(directory));
    let files = process.join("fd").read_dir().into_iter().flatten().flatten();
    leads_inside(&process.join("cwd")) || files.into_iter().any(|file| leads_inside(&file.path()))
}
