//! Permission requests that wait for an answer. Each is answered exactly once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome,
};

use crate::error::AgentError;
use crate::event::PermissionOption;

struct Waiting {
    responder: Responder<RequestPermissionResponse>,
    option_ids: Vec<String>,
}

/// The requests that wait, by the id under which they are answered.
pub(super) struct Permissions {
    execution: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    count: u64,
    waiting: BTreeMap<String, Waiting>,
}

impl Permissions {
    /// The execution's name makes the ids unique beyond this execution.
    pub(super) fn new(execution: String) -> Self {
        Self { execution, state: Mutex::default() }
    }

    /// Keeps a request and names it.
    pub(super) fn add(
        &self,
        responder: Responder<RequestPermissionResponse>,
        options: &[PermissionOption],
    ) -> String {
        let option_ids = options.iter().map(|option| option.option_id.clone()).collect();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        let request_id = format!("{}-p{}", self.execution, state.count);
        state.waiting.insert(request_id.clone(), Waiting { responder, option_ids });
        request_id
    }

    /// Answers with an option, or as cancelled.
    pub(super) fn answer(&self, request_id: &str, option_id: Option<&str>) -> Result<(), AgentError> {
        let unknown = || AgentError::UnknownPermission { request_id: request_id.to_owned() };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = state.waiting.get(request_id).ok_or_else(unknown)?;
        if let Some(option_id) = option_id
            && !waiting.option_ids.iter().any(|offered| offered == option_id)
        {
            let (request_id, option_id) = (request_id.to_owned(), option_id.to_owned());
            return Err(AgentError::UnknownOption { request_id, option_id });
        }
        let waiting = state.waiting.remove(request_id).ok_or_else(unknown)?;
        respond(waiting, option_id);
        Ok(())
    }

    /// Answers all as cancelled, as the protocol asks of a client that cancels a turn.
    pub(super) fn cancel_all(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, waiting) in std::mem::take(&mut state.waiting) {
            respond(waiting, None);
        }
    }
}

fn respond(waiting: Waiting, option_id: Option<&str>) {
    let outcome = option_id.map_or(RequestPermissionOutcome::Cancelled, |option_id| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option_id.to_owned()))
    });
    // Fails only when the connection is closed, which the exit of the agent tells.
    let _ = waiting.responder.respond(RequestPermissionResponse::new(outcome));
}
