//! A typed client for the HTTP interface and the live connection; blocking.

mod live;
mod storage;

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::{Method, Request, StatusCode};

use crate::BASE_PATH;
use crate::agent::{AddAgentProfile, AgentProfile};
use crate::cleanup::{
    CleanupDecision, CleanupJob, CleanupQuery, CloseOptions, CloseQuery, CloseReport, WorkspaceCloseReport,
};
use crate::error::ErrorBody;
use crate::preparation::{RepositoryDetail, TrustScript, UpdateRepository};
use crate::repository::{AddRepository, Branch, Repository, RepositoryAdded};
use crate::session::{
    MessagePage, MessageQuery, NewSession, PermissionAnswer, Prompt, Session, SessionDeleted,
};
use crate::task::{
    DiffQuery, FileDiff, NewTask, RepositoryChanges, ResetWorkspace, TaskDetail, TaskPage, TaskQuery,
    TaskRef, TransferWorkspace, UpdateTask,
};
use crate::trash::{ReopenTask, SealedChanges, SealedDiffQuery, TaskFromSeal, TrashQuery, TrashedTask};
use crate::workspace::{
    DeleteWorkflowOptions, DeleteWorkspaceOptions, DeletedWorkspace, Health, ServerInfo, UpdateStep,
    Workspace,
};

pub use live::LiveStream;

/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// Says why a call brought no answer of its kind.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server answered that it does not do it.
    #[error("{}", .body.message)]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        body: Box<ErrorBody>,
    },
    /// No connection, or none to the end.
    #[error("the server at {address} cannot be reached: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },
    /// The server answered something that this client does not understand.
    #[error("the server at {address} gave an answer that cannot be read: {reason}")]
    Unreadable {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },
}

/// Asks one server.
#[derive(Debug, Clone)]
pub struct Client {
    agent: ureq::Agent,
    address: String,
    token: String,
}

impl Client {
    /// Makes a client for a server at `host:port`; connects only when it is used.
    #[must_use]
    pub fn new(address: &str, token: &str) -> Self {
        // Answers with an error status are read like others; a proxy is never between a machine and itself.
        // No connection is kept: a server may close one at the moment it is used again, and whether the
        // call was carried out would be unknown.
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .max_idle_connections(0)
            .build();
        Self { agent: config.into(), address: address.to_owned(), token: token.to_owned() }
    }

    /// Asks whether the server is up.
    pub fn health(&self) -> Result<Health, ClientError> {
        self.get("/health")
    }

    /// Reads about the server.
    pub fn server(&self) -> Result<ServerInfo, ClientError> {
        self.get("/server")
    }

    /// Lists the workspaces with their boards.
    pub fn workspaces(&self) -> Result<Vec<Workspace>, ClientError> {
        self.get("/workspaces")
    }

    /// Lists the deleted workspaces whose tasks are in the trash.
    pub fn deleted_workspaces(&self) -> Result<Vec<DeletedWorkspace>, ClientError> {
        self.get("/trash/workspaces")
    }

    /// Deletes a workspace: its tasks come into the trash.
    pub fn delete_workspace(
        &self,
        id: &str,
        options: &DeleteWorkspaceOptions,
    ) -> Result<Vec<CleanupJob>, ClientError> {
        self.delete(&format!("/workspaces/{}{}", escape(id), search(options)))
    }

    /// Deletes a board: its tasks move to another.
    pub fn delete_workflow(
        &self,
        id: &str,
        options: &DeleteWorkflowOptions,
    ) -> Result<Vec<CleanupJob>, ClientError> {
        self.delete(&format!("/workflows/{}{}", escape(id), search(options)))
    }

    /// Changes a column.
    pub fn update_step(&self, id: &str, request: &UpdateStep) -> Result<Vec<Workspace>, ClientError> {
        self.send(Method::PATCH, &format!("/steps/{}", escape(id)), request)
    }

    /// Gives a task a fresh workspace.
    pub fn reset_workspace(&self, id: &str, request: &ResetWorkspace) -> Result<CleanupJob, ClientError> {
        self.send(Method::POST, &format!("/tasks/{}/reset", escape(id)), request)
    }

    /// Gives a task's workspace to another task.
    pub fn transfer_workspace(
        &self,
        id: &str,
        request: &TransferWorkspace,
    ) -> Result<TaskDetail, ClientError> {
        self.send(Method::POST, &format!("/tasks/{}/transfer", escape(id)), request)
    }

    /// Lists the tasks that were closed together with a task and are closed still.
    pub fn closed_with(&self, id: &str) -> Result<Vec<TaskRef>, ClientError> {
        self.get(&format!("/tasks/{}/closed-with", escape(id)))
    }

    /// Lists the registered repositories.
    pub fn repositories(&self) -> Result<Vec<Repository>, ClientError> {
        self.get("/repositories")
    }

    /// Registers a repository.
    pub fn add_repository(&self, request: &AddRepository) -> Result<RepositoryAdded, ClientError> {
        self.send(Method::POST, "/repositories", request)
    }

    /// Reads a repository with what is set for its workspaces.
    pub fn repository(&self, id: &str) -> Result<RepositoryDetail, ClientError> {
        self.get(&format!("/repositories/{}", escape(id)))
    }

    /// Changes what is set for the workspaces of a repository.
    pub fn update_repository(
        &self,
        id: &str,
        request: &UpdateRepository,
    ) -> Result<RepositoryDetail, ClientError> {
        self.send(Method::PATCH, &format!("/repositories/{}", escape(id)), request)
    }

    /// Trusts a script that a repository names itself.
    pub fn trust_script(&self, id: &str, request: &TrustScript) -> Result<RepositoryDetail, ClientError> {
        self.send(Method::POST, &format!("/repositories/{}/trust", escape(id)), request)
    }

    /// Lists the branches of a repository.
    pub fn branches(&self, repository_id: &str) -> Result<Vec<Branch>, ClientError> {
        self.get(&format!("/repositories/{}/branches", escape(repository_id)))
    }

    /// Lists the agents.
    pub fn agents(&self) -> Result<Vec<AgentProfile>, ClientError> {
        self.get("/agents")
    }

    /// Stores a custom agent.
    pub fn add_agent(&self, request: &AddAgentProfile) -> Result<AgentProfile, ClientError> {
        self.send(Method::POST, "/agents", request)
    }

    /// Lists a page of tasks.
    pub fn tasks(&self, query: &TaskQuery) -> Result<TaskPage, ClientError> {
        self.get(&format!("/tasks{}", search(query)))
    }

    /// Stores a task.
    pub fn create_task(&self, request: &NewTask) -> Result<TaskDetail, ClientError> {
        self.send(Method::POST, "/tasks", request)
    }

    /// Reads a task.
    pub fn task(&self, id: &str) -> Result<TaskDetail, ClientError> {
        self.get(&format!("/tasks/{}", escape(id)))
    }

    /// Changes a task.
    pub fn update_task(&self, id: &str, request: &UpdateTask) -> Result<TaskDetail, ClientError> {
        self.send(Method::PATCH, &format!("/tasks/{}", escape(id)), request)
    }

    /// Makes a task's workspace and opens its first session.
    pub fn start_task(&self, id: &str) -> Result<TaskDetail, ClientError> {
        self.post(&format!("/tasks/{}/start", escape(id)))
    }

    /// Runs the set-up scripts of a task again.
    pub fn repeat_setup(&self, id: &str) -> Result<TaskDetail, ClientError> {
        self.post(&format!("/tasks/{}/setup", escape(id)))
    }

    /// Archives a task.
    pub fn archive_task(&self, id: &str, options: &CloseOptions) -> Result<CleanupJob, ClientError> {
        self.post(&format!("/tasks/{}/archive{}", escape(id), search(options)))
    }

    /// Deletes a task: it comes into the trash.
    pub fn delete_task(&self, id: &str, options: &CloseOptions) -> Result<CleanupJob, ClientError> {
        self.delete(&format!("/tasks/{}{}", escape(id), search(options)))
    }

    /// Brings an archived or deleted task back.
    pub fn reopen_task(&self, id: &str, request: &ReopenTask) -> Result<TaskDetail, ClientError> {
        self.send(Method::POST, &format!("/tasks/{}/reopen", escape(id)), request)
    }

    /// Lists the seals of a task, open or closed, with what they change.
    pub fn seals(&self, task_id: &str) -> Result<Vec<SealedChanges>, ClientError> {
        self.get(&format!("/tasks/{}/seals", escape(task_id)))
    }

    /// Reads the diff of one file of a seal.
    pub fn sealed_diff(&self, seal_id: &str, query: &SealedDiffQuery) -> Result<FileDiff, ClientError> {
        self.get(&format!("/seals/{}/diff{}", escape(seal_id), search(query)))
    }

    /// Makes a new task of the workspace that a seal is of.
    pub fn task_from_seal(&self, seal_id: &str, request: &TaskFromSeal) -> Result<TaskDetail, ClientError> {
        self.send(Method::POST, &format!("/seals/{}/task", escape(seal_id)), request)
    }

    /// Reads what deleting a workspace would give back and what is at stake.
    pub fn workspace_close_report(&self, id: &str) -> Result<WorkspaceCloseReport, ClientError> {
        self.get(&format!("/workspaces/{}/close-report", escape(id)))
    }

    /// Lists the deleted tasks.
    pub fn trash(&self, query: &TrashQuery) -> Result<Vec<TrashedTask>, ClientError> {
        self.get(&format!("/trash{}", search(query)))
    }

    /// Reads a deleted task.
    pub fn trashed_task(&self, id: &str) -> Result<TrashedTask, ClientError> {
        self.get(&format!("/trash/{}", escape(id)))
    }

    /// Takes a deleted task out of the trash for good.
    pub fn purge_task(&self, id: &str) -> Result<CleanupJob, ClientError> {
        self.delete(&format!("/trash/{}", escape(id)))
    }

    /// Reads what closing a task would give back and what is at stake.
    pub fn close_report(&self, id: &str, query: &CloseQuery) -> Result<CloseReport, ClientError> {
        self.get(&format!("/tasks/{}/close-report{}", escape(id), search(query)))
    }

    /// Lists the changed files of a task.
    pub fn changes(&self, task_id: &str) -> Result<Vec<RepositoryChanges>, ClientError> {
        self.get(&format!("/tasks/{}/changes", escape(task_id)))
    }

    /// Reads one file's diff.
    pub fn diff(&self, task_id: &str, query: &DiffQuery) -> Result<FileDiff, ClientError> {
        self.get(&format!("/tasks/{}/diff{}", escape(task_id), search(query)))
    }

    /// Opens a session of a task.
    pub fn create_session(&self, task_id: &str, request: &NewSession) -> Result<Session, ClientError> {
        self.send(Method::POST, &format!("/tasks/{}/sessions", escape(task_id)), request)
    }

    /// Reads a session.
    pub fn session(&self, id: &str) -> Result<Session, ClientError> {
        self.get(&format!("/sessions/{}", escape(id)))
    }

    /// Deletes a session.
    pub fn delete_session(&self, id: &str) -> Result<SessionDeleted, ClientError> {
        self.delete(&format!("/sessions/{}", escape(id)))
    }

    /// Sends a prompt.
    pub fn prompt(&self, id: &str, request: &Prompt) -> Result<Session, ClientError> {
        self.send(Method::POST, &format!("/sessions/{}/prompt", escape(id)), request)
    }

    /// Asks the agent to end its turn.
    pub fn cancel_turn(&self, id: &str) -> Result<Session, ClientError> {
        self.post(&format!("/sessions/{}/cancel", escape(id)))
    }

    /// Ends a session's agent.
    pub fn stop_session(&self, id: &str) -> Result<Session, ClientError> {
        self.post(&format!("/sessions/{}/stop", escape(id)))
    }

    /// Answers a permission request.
    pub fn answer_permission(
        &self,
        session_id: &str,
        request_id: &str,
        answer: &PermissionAnswer,
    ) -> Result<Session, ClientError> {
        let path = format!("/sessions/{}/permissions/{}", escape(session_id), escape(request_id));
        self.send(Method::POST, &path, answer)
    }

    /// Reads a page of a conversation.
    pub fn messages(&self, session_id: &str, query: &MessageQuery) -> Result<MessagePage, ClientError> {
        self.get(&format!("/sessions/{}/messages{}", escape(session_id), search(query)))
    }

    /// Lists cleanup jobs.
    pub fn cleanup_jobs(&self, query: &CleanupQuery) -> Result<Vec<CleanupJob>, ClientError> {
        self.get(&format!("/cleanup-jobs{}", search(query)))
    }

    /// Reads a cleanup job.
    pub fn cleanup_job(&self, id: &str) -> Result<CleanupJob, ClientError> {
        self.get(&format!("/cleanup-jobs/{}", escape(id)))
    }

    /// Decides a cleanup job.
    pub fn decide_cleanup_job(&self, id: &str, request: &CleanupDecision) -> Result<CleanupJob, ClientError> {
        self.send(Method::POST, &format!("/cleanup-jobs/{}/decision", escape(id)), request)
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, Vec::new())
    }

    fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::POST, path, Vec::new())
    }

    fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::DELETE, path, Vec::new())
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.unreadable(&error))?;
        self.call(method, path, body)
    }

    fn call<T: DeserializeOwned>(&self, method: Method, path: &str, body: Vec<u8>) -> Result<T, ClientError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{BASE_PATH}{path}", self.address))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| self.unreadable(&error))?;
        let mut answer = self.agent.run(request).map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let bytes = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let bytes = bytes.map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| self.unreadable(&error));
        }
        Err(self.refused(status, &bytes))
    }

    fn refused(&self, status: StatusCode, bytes: &[u8]) -> ClientError {
        match serde_json::from_slice(bytes) {
            Ok(body) => ClientError::Refused { status: status.as_u16(), body },
            Err(_) => ClientError::Unreadable {
                address: self.address.clone(),
                reason: format!("status {status} without an explanation"),
            },
        }
    }

    fn unreachable(&self, error: &dyn std::fmt::Display) -> ClientError {
        ClientError::Unreachable { address: self.address.clone(), reason: error.to_string() }
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> ClientError {
        ClientError::Unreadable { address: self.address.clone(), reason: error.to_string() }
    }
}

/// The query of an address from a flat shape whose absent fields are left out.
fn search(query: &impl Serialize) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(query) else { return String::new() };
    let fields: BTreeMap<String, serde_json::Value> = fields.into_iter().collect();
    let mut search = String::new();
    for (name, value) in fields {
        let text = match value {
            serde_json::Value::Null => continue,
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        let mark = if search.is_empty() { '?' } else { '&' };
        search.push_str(&format!("{mark}{name}={}", escape(&text)));
    }
    search
}

/// Escapes everything but letters, digits and `-._~`.
fn escape(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_leaves_out_what_is_absent_and_escapes_the_rest() {
        let query = TaskQuery { query: Some("a b&c=é".into()), limit: Some(5), ..TaskQuery::default() };
        assert_eq!(search(&query), "?limit=5&query=a%20b%26c%3D%C3%A9");
        assert_eq!(search(&TaskQuery::default()), "");
    }
}
