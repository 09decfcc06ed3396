//! The processes of one running execution, as their owner holds them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

use super::control_group::ControlGroup;
use super::{ProcessIdentity, sweep, table};

/// How long killed processes are waited for, and how often they are looked for.
const KILL_LIMIT: Duration = Duration::from_secs(5);
const KILL_PAUSE: Duration = Duration::from_millis(5);

/// How a group is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Ask: SIGTERM, which a program may handle or ignore.
    Terminate,
    /// Force: SIGKILL.
    Kill,
}

/// The leader with all it started; kills them when dropped.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    identity: ProcessIdentity,
    execution: String,
    control_group: Option<ControlGroup>,
    /// False once the leader is about to be reaped: its number may then become a stranger's.
    owns_number: Mutex<bool>,
}

impl ProcessGroup {
    /// Takes charge of a leader that was just started and is not yet reaped.
    pub(super) fn adopt(pid: u32, execution: String) -> Self {
        let control_group = ControlGroup::make(&execution, pid);
        Self { identity: table::identify(pid), execution, control_group, owns_number: Mutex::new(true) }
    }

    pub(crate) fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Makes a name that no other execution uses, for ids that outlive this one.
    pub(crate) fn execution(&self) -> &str {
        &self.execution
    }

    fn leader(&self) -> Option<Pid> {
        i32::try_from(self.identity.pid).ok().and_then(Pid::from_raw)
    }

    /// Signals the process group; does nothing once the leader is reaped.
    pub(crate) fn signal(&self, ending: Ending) {
        let owns_number = self.owns_number.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(leader)) = (*owns_number, self.leader()) {
            let signal = match ending {
                Ending::Terminate => Signal::TERM,
                Ending::Kill => Signal::KILL,
            };
            // Fails only when no process is left in the group.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Kills everything that is found at this moment, in all three nets; true when nothing was found.
    pub(crate) fn kill_now(&self) -> bool {
        self.signal(Ending::Kill);
        let found = sweep::members(&self.identity, &self.execution);
        found.iter().for_each(sweep::kill);
        self.control_group.iter().for_each(ControlGroup::kill);
        found.is_empty() && !self.control_group.as_ref().is_some_and(ControlGroup::is_populated)
    }

    /// Waits until the leader has ended, without reaping it: its number stays its own.
    pub(crate) async fn leader_ended(&self, child: &mut Child) {
        // Listening begins before looking, so that an end in between is not missed.
        if let (Ok(mut ends), Some(leader)) = (signal(SignalKind::child()), self.leader()) {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            while let Ok(None) = waitid(WaitId::Pid(leader), look) {
                ends.recv().await;
            }
            return;
        }
        // Without signals, waiting reaps; the group is then signalled by a number that is free for a moment.
        let _ = child.wait().await;
    }

    /// Kills all that is left of the group and reaps the leader.
    pub(crate) async fn finish(self: &Arc<Self>, child: &mut Child) -> Option<std::process::ExitStatus> {
        let group = Arc::clone(self);
        // Reading the table of processes blocks; on a runtime that is shutting down, dropping does the same.
        let _ = tokio::time::timeout(KILL_LIMIT, async move {
            loop {
                let group = Arc::clone(&group);
                match tokio::task::spawn_blocking(move || group.kill_now()).await {
                    Ok(false) => tokio::time::sleep(KILL_PAUSE).await,
                    Ok(true) | Err(_) => break,
                }
            }
        })
        .await;
        *self.owns_number.lock().unwrap_or_else(PoisonError::into_inner) = false;
        child.wait().await.ok()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let is_reaped = !*self.owns_number.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A second look catches what was started between the look and the kill.
        if !is_reaped && !self.kill_now() {
            self.kill_now();
        }
    }
}
