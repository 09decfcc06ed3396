//! What happens to a session, and what it makes of the session's and the task's state.
//!
//! A pure table and the one function that applies it, so that a session's state, its task's state and the
//! events that tell of both change together.

use freehold_domain::clock::Timestamp;
use freehold_domain::event::EventBody;
use freehold_domain::id::SessionId;
use freehold_domain::session::{Session, SessionState};
use freehold_domain::task::TaskState;
use freehold_store as store;
use freehold_store::{StoreError, Tx};

/// Something that happens to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TurnEvent {
    /// Its agent is being started.
    Starting,
    /// A turn began; the agent runs.
    Begun,
    /// The agent runs and waits for a prompt.
    Waiting,
    /// The agent asked for a permission.
    PermissionAsked,
    /// The last open permission request was answered.
    PermissionAnswered,
    /// The agent ended in order, or was stopped by a person.
    Stopped,
    /// The server goes away, or went away.
    Interrupted,
    /// The agent could not be started or died, for this reason.
    Failed(String),
}

impl TurnEvent {
    /// The state in which the event leaves a session.
    pub(super) const fn state(&self) -> SessionState {
        match self {
            Self::Starting => SessionState::Starting,
            Self::Begun | Self::PermissionAnswered => SessionState::Running,
            Self::Waiting => SessionState::Idle,
            Self::PermissionAsked => SessionState::WaitingForInput,
            Self::Stopped => SessionState::Completed,
            Self::Interrupted => SessionState::Interrupted,
            Self::Failed(_) => SessionState::Failed,
        }
    }
}

/// Locks a session by way of its task, the order in which every transaction locks, and reads it; none when it
/// was deleted. A transaction that changes messages and may come to [`advance`] calls this first.
pub(super) fn lock(tx: &mut Tx<'_>, session_id: &SessionId) -> Result<Option<Session>, StoreError> {
    let Some(session) = store::session::find(tx, session_id)? else { return Ok(None) };
    store::task::lock(tx, &session.task_id)?;
    store::session::find(tx, session_id)
}

/// Applies an event to a session and, when it is the primary one, to its task.
///
/// An event that leaves the session where it is does nothing; one that cannot happen in its state is logged
/// and dropped, because the database already tells a later truth.
pub(super) fn advance(
    tx: &mut Tx<'_>,
    session_id: &SessionId,
    event: TurnEvent,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(session) = lock(tx, session_id)? else { return Ok(()) };
    let next = event.state();
    if session.state == next {
        return Ok(());
    }
    if let Err(error) = session.state.step(next) {
        tracing::warn!(%session_id, %error, "a session's event came too late");
        return Ok(());
    }
    let reason = match event {
        TurnEvent::Failed(reason) => reason,
        _ => String::new(),
    };
    store::session::set_state(tx, session_id, next, &reason, now)?;
    let task_id = session.task_id;
    tx.emit(EventBody::SessionChanged { task_id: task_id.clone(), session_id: session_id.clone() }, now);
    if let Some(state) = super::task_state(next).filter(|_| session.is_primary) {
        let is_finished =
            matches!(store::task::require(tx, &task_id)?.state, TaskState::Completed | TaskState::Cancelled);
        // That the server went away is no reason to look at a finished task again.
        if is_finished && next == SessionState::Interrupted {
            return Ok(());
        }
        store::task::update_state(tx, &task_id, state, &reason, now)?;
        tx.emit(EventBody::TaskChanged { task_id }, now);
    }
    Ok(())
}
