//! Finds and ends what is left of executions, also of those that an earlier server started.
//!
//! No signal is sent on a number alone: the process must have the recorded start time or carry the mark, and it
//! is held by a handle (pidfd) while that is looked at.

use std::time::{Duration, Instant};

use super::ProcessIdentity;
use super::control_group::ControlGroup;
use super::table::{self, Entry};

const LOOK_PAUSE: Duration = Duration::from_millis(10);
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Tells whether the very process that was recorded still runs; false where the system cannot prove it.
#[must_use]
pub fn is_running(process: &ProcessIdentity) -> bool {
    leader(process).is_some()
}

/// Ends the recorded process and its group: asks, waits up to `grace_ms`, kills.
///
/// Also finds members of the group when only the leader is gone, and processes that left the group, by the
/// leader's mark. True when nothing is left.
pub async fn end_group(process: &ProcessIdentity, grace_ms: u64) -> bool {
    if process.boot_id.is_empty() || process.boot_id != table::boot_id() {
        return true;
    }
    let execution = leader(process).and_then(|leader| table::execution_of(leader.pid));
    let look = || {
        let mut found = group_members(process);
        found.extend(execution.iter().flat_map(|execution| marked(execution, process.start_ticks)));
        found
    };
    // What is proved now stays proved, also when the leader is gone first and can prove nothing any more.
    let proved = look();
    for member in &proved {
        signal(member, rustix::process::Signal::TERM);
    }
    let look = || {
        let mut found = look();
        found.extend(proved.iter().filter(|entry| is_alive(entry)));
        found
    };
    let _ = until(Duration::from_millis(grace_ms), || look().is_empty()).await;
    let control_group = execution.as_deref().and_then(ControlGroup::find);
    kill_all(control_group.as_ref(), look).await
}

/// Kills every process that carries the mark of an execution; true when none is left.
///
/// For executions of a server that died: call it after [`end_group`], with the recorded mark.
pub async fn end_execution(execution: &str) -> bool {
    if execution.is_empty() {
        return true;
    }
    kill_all(ControlGroup::find(execution).as_ref(), || marked(execution, 0)).await
}

async fn kill_all(control_group: Option<&ControlGroup>, look: impl Fn() -> Vec<Entry>) -> bool {
    until(KILL_LIMIT, || {
        let found = look();
        found.iter().for_each(kill);
        control_group.inspect(|group| group.kill());
        found.is_empty() && !control_group.is_some_and(ControlGroup::is_populated)
    })
    .await
}

/// Looks until it is so; false when it is not within the limit.
async fn until(limit: Duration, is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if begun.elapsed() >= limit {
            return false;
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

/// Lists what belongs to an execution: its group and whatever carries its mark. The leader, too, while it lives.
pub(super) fn members(process: &ProcessIdentity, execution: &str) -> Vec<Entry> {
    let mut found = marked(execution, process.start_ticks);
    found.extend(leader(process));
    found.dedup();
    found
}

fn marked(execution: &str, since_ticks: u64) -> Vec<Entry> {
    table::list()
        .into_iter()
        .filter(|entry| entry.start_ticks >= since_ticks)
        .filter(|entry| table::execution_of(entry.pid).as_deref() == Some(execution))
        .collect()
}

/// Lists the group of a recorded leader.
///
/// A group's number is not given away while a member lives. So while the leader lives, all of the group is its
/// own; once it is gone, a member must carry some mark, which no stranger's group does.
fn group_members(process: &ProcessIdentity) -> Vec<Entry> {
    let is_led = leader(process).is_some();
    let is_strangers = table::find(process.pid).is_some_and(|entry| entry.start_ticks != process.start_ticks);
    if is_strangers {
        return Vec::new();
    }
    table::list()
        .into_iter()
        .filter(|entry| entry.group == process.pid && entry.start_ticks >= process.start_ticks)
        .filter(|entry| is_led || table::execution_of(entry.pid).is_some())
        .collect()
}

fn is_alive(entry: &Entry) -> bool {
    table::find(entry.pid).is_some_and(|now| now.start_ticks == entry.start_ticks && !now.is_zombie)
}

fn leader(process: &ProcessIdentity) -> Option<Entry> {
    let is_proof = !process.boot_id.is_empty() && process.start_ticks != 0;
    let entry = table::find(process.pid).filter(|_| is_proof)?;
    (entry.start_ticks == process.start_ticks && !entry.is_zombie && process.boot_id == table::boot_id())
        .then_some(entry)
}

pub(super) fn kill(entry: &Entry) {
    signal(entry, rustix::process::Signal::KILL);
}

#[cfg(target_os = "linux")]
fn signal(entry: &Entry, signal: rustix::process::Signal) {
    use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = i32::try_from(entry.pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The handle keeps the process; only now is it sure that the number is not another's.
    if table::find(entry.pid).is_some_and(|now| now.start_ticks == entry.start_ticks) {
        let _ = pidfd_send_signal(handle, signal);
    }
}

#[cfg(not(target_os = "linux"))]
fn signal(_entry: &Entry, _signal: rustix::process::Signal) {}
