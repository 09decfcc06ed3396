//! Sessions: agent conversations that visit a task's environment and own nothing on disk.

use crate::clock::Timestamp;
use crate::id::{AgentProfileId, EnvironmentId, SessionId, TaskId};
use crate::words;

words! {
    /// What a session is doing. The words are those of databases people bring along, and `INTERRUPTED`.
    pub enum SessionState("session state") {
        /// Stored; its agent was not started.
        Created = "CREATED",
        /// Its agent is being started.
        Starting = "STARTING",
        /// A turn runs.
        Running = "RUNNING",
        /// The agent waits for an answer to a permission request.
        WaitingForInput = "WAITING_FOR_INPUT",
        /// The agent runs and waits for a prompt.
        Idle = "IDLE",
        /// The agent was stopped by a person; a prompt starts it again.
        Completed = "COMPLETED",
        /// The agent could not be started or died.
        Failed = "FAILED",
        /// The session was given up.
        Cancelled = "CANCELLED",
        /// The server went away under it; a prompt starts the agent again.
        Interrupted = "INTERRUPTED",
    }
}

impl SessionState {
    /// Whether a process of the session may be running.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::WaitingForInput | Self::Idle)
    }

    /// Moves to `next`; fails when a session in this state cannot get there.
    pub fn step(self, next: Self) -> Result<Self, InvalidSessionStep> {
        use SessionState::{
            Cancelled, Completed, Created, Failed, Idle, Interrupted, Running, Starting, WaitingForInput,
        };
        let allowed = matches!(
            (self, next),
            (Created | Completed | Failed | Interrupted | Cancelled, Starting)
                | (Starting | WaitingForInput, Idle | Running)
                | (Idle, Running)
                | (Running, Idle | WaitingForInput)
                | (Starting | Running | WaitingForInput | Idle, Completed | Failed | Interrupted | Cancelled)
                | (Created, Cancelled | Failed)
        );
        if allowed { Ok(next) } else { Err(InvalidSessionStep { from: self, to: next }) }
    }
}

/// Says that a session cannot go from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session cannot go from {from} to {to}")]
pub struct InvalidSessionStep {
    /// The state it is in.
    pub from: SessionState,
    /// The state asked for.
    pub to: SessionState,
}

/// An agent conversation of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// The environment it works in; the only link from a session to a workspace.
    pub environment_id: Option<EnvironmentId>,
    /// The agent; none when its profile was removed.
    pub agent_profile_id: Option<AgentProfileId>,
    /// The name shown, for example `Session 2`.
    pub name: String,
    /// What it is doing.
    pub state: SessionState,
    /// Why it is in [`SessionState::Failed`]; otherwise empty.
    pub error_message: String,
    /// Whether it is the one the board shows; one session per task is.
    pub is_primary: bool,
    /// The agent's own id of the conversation; empty before it was opened.
    pub acp_session_id: String,
    /// When it was made.
    pub started_at: Timestamp,
    /// When it last ended.
    pub completed_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Chooses the session that becomes primary when `deleted` goes: the newest of the others, or none.
#[must_use]
pub fn primary_after_deletion<'a>(sessions: &'a [Session], deleted: &SessionId) -> Option<&'a Session> {
    let rest = || sessions.iter().filter(|session| session.id != *deleted);
    rest().find(|session| session.is_primary).or_else(|| {
        rest().max_by(|a, b| (a.updated_at, a.started_at, &a.id).cmp(&(b.updated_at, b.started_at, &b.id)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_state() -> impl Strategy<Value = SessionState> {
        proptest::sample::select(SessionState::ALL)
    }

    proptest! {
        #[test]
        fn a_session_without_a_process_comes_to_life_only_by_starting(from in any_state(), to in any_state()) {
            if !from.is_live() && to.is_live() && from.step(to).is_ok() {
                prop_assert_eq!(to, SessionState::Starting);
            }
        }

        #[test]
        fn a_live_session_can_always_be_interrupted_and_failed(from in any_state()) {
            prop_assume!(from.is_live());
            prop_assert!(from.step(SessionState::Interrupted).is_ok());
            prop_assert!(from.step(SessionState::Failed).is_ok());
        }
    }
}
