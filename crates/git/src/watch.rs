//! Waiting for a git with a limit of time.
//!
//! A git starts programs of its own: hooks, transports, credential helpers. So a git that is waited for with a
//! limit leads a process group, and the whole group is ended when the limit passes. Whoever leaves the group on
//! purpose is not found by this.

use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often it is looked whether the limit has begun to count.
const LOOK: Duration = Duration::from_millis(50);

/// How long a group may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How a child ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Whether the limit passed and its process group was ended.
    pub(crate) is_late: bool,
}

/// Waits for the leader of a process group. The time begins to count when `counts` says so, and when it is over
/// the group is ended.
pub(crate) fn wait_within(
    child: &mut Child,
    limit: Duration,
    counts: impl Fn() -> bool + Send,
) -> std::io::Result<Ended> {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Ok(Ended { status: child.wait()?, is_late: false });
    };
    let (done, is_done) = channel();
    let (waited, is_late) = std::thread::scope(|scope| {
        let watching = scope.spawn(move || watch(group, limit, counts, &is_done));
        // The child is not reaped before the watch has ended, so that its number still is its own.
        let waited = wait_unreaped(group);
        drop(done);
        (waited, watching.join().unwrap_or(false))
    });
    waited?;
    Ok(Ended { status: child.wait()?, is_late })
}

fn wait_unreaped(pid: Pid) -> std::io::Result<()> {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends the group when the limit passes first; tells whether it did.
fn watch(group: Pid, limit: Duration, counts: impl Fn() -> bool, is_done: &Receiver<()>) -> bool {
    let goes_on = |pause| matches!(is_done.recv_timeout(pause), Err(RecvTimeoutError::Timeout));
    while !counts() {
        if !goes_on(LOOK) {
            return false;
        }
    }
    let begun = Instant::now();
    if !goes_on(limit) {
        return false;
    }
    tracing::warn!(group = group.as_raw_nonzero(), after = ?begun.elapsed(), "ending a git that takes too long");
    _ = kill_process_group(group, Signal::TERM);
    // Even when the leader ends at once, what it started may ignore the request.
    _ = goes_on(GRACE);
    _ = kill_process_group(group, Signal::KILL);
    true
}
