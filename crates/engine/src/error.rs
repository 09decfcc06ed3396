//! What can go wrong in a use case, as the doors need to tell it: a kind, a code, the subject, a sentence and
//! a hint.

use std::borrow::Cow;

use freehold_domain::cleanup::{CleanupTrigger, InvalidCleanupStep, Stake};
use freehold_domain::id::{CleanupJobId, InvalidId, NodeId, SessionId, TaskId, WorkspaceId};
use freehold_domain::session::SessionState;
use freehold_domain::task::{InvalidTitle, MAX_PROMPT_BYTES};
use freehold_git::{RestoreError, SealError};
use freehold_store::StoreError;

use crate::cleanup::TaskRef;
use crate::storage::StorageRefusal;

/// Sorts errors by what a caller can do about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request names something that does not exist.
    NotFound,
    /// The request itself is wrong; repeating it will not help.
    Invalid,
    /// The request is right, but not in the present state.
    Conflict,
    /// A program or folder that Freehold needs does not answer as it should.
    Unavailable,
    /// A fault of Freehold or of its database.
    Internal,
}

/// Whose checkout has a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchHolder {
    /// The main checkout of the repository.
    MainCheckout,
    /// The workspace of a task.
    Task(TaskId),
    /// A worktree that a person made.
    Person,
    /// No task that is known, although it is where only Freehold makes worktrees.
    Nobody,
}

/// What could be asked for instead of what was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What a new branch could start from.
    pub base_branch: String,
    /// A name that is free for it.
    pub new_branch: String,
    /// The worktree of a person that could be adopted.
    pub adopt_path: Option<String>,
    /// Whether the main checkout could be worked in.
    pub in_place: bool,
    /// The task that could get another session.
    pub task_id: Option<TaskId>,
}

/// What can go wrong in a use case. Nothing was changed unless the message says so.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No row has this id.
    #[error("there is no {noun} {id}")]
    NotFound {
        /// The noun asked for.
        noun: &'static str,
        /// The id asked for.
        id: String,
    },
    /// A text is not an id.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// A text is not a title.
    #[error(transparent)]
    InvalidTitle(#[from] InvalidTitle),
    /// A field of the request cannot be used.
    #[error("{field}: {reason}")]
    InvalidField {
        /// The field.
        field: &'static str,
        /// Why.
        reason: String,
    },
    /// A prompt is empty.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// A prompt is too long.
    #[error("the prompt has {bytes} bytes; at most {MAX_PROMPT_BYTES} are allowed")]
    PromptTooLong {
        /// The length found, in bytes.
        bytes: usize,
    },
    /// A task is archived or being deleted.
    #[error("task {task_id} is closed (archived or deleted); its workspace was given back or is about to be")]
    TaskClosed {
        /// The task.
        task_id: TaskId,
    },
    /// A cleanup job forbids new sessions and worktrees for the task.
    #[error("task {task_id} is being closed by cleanup job {job_id} ({trigger})")]
    Barrier {
        /// The task.
        task_id: TaskId,
        /// The job.
        job_id: CleanupJobId,
        /// What caused it.
        trigger: CleanupTrigger,
    },
    /// The session cannot take a prompt now.
    #[error("session {session_id} is busy ({state}); wait until the turn ends, or stop it")]
    SessionBusy {
        /// The session.
        session_id: SessionId,
        /// What it is doing.
        state: SessionState,
    },
    /// The session has no running agent or no turn.
    #[error("session {session_id} has no running turn")]
    NoTurn {
        /// The session.
        session_id: SessionId,
    },
    /// The permission request is unknown, answered or expired.
    #[error(
        "permission request {request_id} of session {session_id} is not open: it was answered or has expired"
    )]
    PermissionClosed {
        /// The session.
        session_id: SessionId,
        /// The request.
        request_id: String,
    },
    /// The task has no workspace yet.
    #[error("task {task_id} has no workspace yet")]
    NoWorkspace {
        /// The task.
        task_id: TaskId,
    },
    /// Nothing is to be run in the task's workspace.
    #[error("no repository of task {task_id} has a set-up script")]
    NoSetup {
        /// The task.
        task_id: TaskId,
    },
    /// The scripts of the task run or wait already.
    #[error("the set-up of task {task_id} is running")]
    SetupRunning {
        /// The task.
        task_id: TaskId,
    },
    /// The recorded workspace is not on disk.
    #[error("the workspace of task {task_id} is not at {path} any more")]
    WorkspaceMissing {
        /// The task.
        task_id: TaskId,
        /// Where it should be.
        path: String,
    },
    /// A name is taken.
    #[error("there is already an agent named {name:?}")]
    AgentExists {
        /// The name.
        name: String,
    },
    /// An agent of an older database, which kept its command elsewhere.
    #[error(
        "the agent {name:?} has no command to start; add one that has with `freehold agent add`, or choose another"
    )]
    AgentWithoutCommand {
        /// The name of its profile.
        name: String,
    },
    /// A decision does not fit what is at stake.
    #[error("cleanup job {job_id} cannot be decided with `{decision}`: {reason}")]
    DecisionRefused {
        /// The job.
        job_id: CleanupJobId,
        /// The decision.
        decision: &'static str,
        /// Why.
        reason: String,
    },
    /// A cleanup job is not in the state that the request needs.
    #[error("cleanup job {job_id}: {source}")]
    CleanupStep {
        /// The job.
        job_id: CleanupJobId,
        /// The step that is not possible.
        source: InvalidCleanupStep,
    },
    /// Work would be lost.
    #[error("task {task_id} was not closed: {}", details(stakes))]
    AtStake {
        /// The task.
        task_id: TaskId,
        /// What exists nowhere else.
        stakes: Vec<Stake>,
        /// How much of the disk would come back, in bytes.
        disk_bytes: u64,
    },
    /// Other open tasks work in the task's workspace.
    #[error(
        "task {task_id} was not closed: {} in its workspace{}", workers(borrowers),
        if *has_heir { "" } else { ", and none of them can take it over" }
    )]
    Borrowed {
        /// The task.
        task_id: TaskId,
        /// Who works in its workspace.
        borrowers: Vec<TaskRef>,
        /// Whether one of them could own it from then on.
        has_heir: bool,
    },
    /// A task works in the workspace of another.
    #[error("task {task_id} works in the workspace of task {owner_id} and has none of its own")]
    NotTheOwner {
        /// The task.
        task_id: TaskId,
        /// The task that owns it.
        owner_id: TaskId,
    },
    /// Tasks were added to what is closed while it was looked at.
    #[error("tasks were added while it was being closed ({looks} times); nothing was changed")]
    Growing {
        /// How often.
        looks: u32,
    },
    /// What was typed is not the name of the workspace.
    #[error("workspace {workspace_id} was not deleted: type its name, {name:?}, not {typed:?}")]
    NameNotTyped {
        /// The workspace.
        workspace_id: WorkspaceId,
        /// Its name.
        name: String,
        /// What was typed.
        typed: String,
    },
    /// A task is neither archived nor in the trash.
    #[error("task {task_id} is open; there is nothing to bring back")]
    TaskOpen {
        /// The task.
        task_id: TaskId,
    },
    /// The seal of a task is on a file system that this server does not reach.
    #[error("the workspace of task {task_id} is sealed on another machine ({node_id}); bring it back there")]
    SealedElsewhere {
        /// The task.
        task_id: TaskId,
        /// The server that reaches it.
        node_id: NodeId,
    },
    /// The workspace of a task is on the file system of another server.
    #[error("the workspace of task {task_id} is on {hostname}; only the server there can work in it")]
    WorkspaceElsewhere {
        /// The task.
        task_id: TaskId,
        /// The machine.
        hostname: String,
    },
    /// A worktree changed between its seal and its removal.
    #[error("{file} in {path} changed after it was sealed; nothing was removed")]
    ChangedAfterSeal {
        /// The worktree.
        path: String,
        /// The file, relative to it.
        file: String,
    },
    /// A seal could not be taken or read.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A seal could not be restored.
    #[error(transparent)]
    Restore(RestoreError),
    /// Another task works in the checkout of a person.
    #[error("task {task_id} ({title}) already works in {path}; two tasks would mix their work there")]
    CheckoutInUse {
        /// The checkout.
        path: String,
        /// The task.
        task_id: TaskId,
        /// Its title.
        title: String,
    },
    /// A branch cannot be checked out a second time.
    #[error(
        "the branch {branch:?} is already checked out at {checkout}{}; nothing was made",
        held_by(holder)
    )]
    BranchInUse {
        /// The branch.
        branch: String,
        /// The checkout.
        checkout: String,
        /// A name that is free for a new branch.
        free: String,
        /// Whose checkout it is.
        holder: BranchHolder,
    },
    /// Something is neither put into quarantine nor taken out of it.
    #[error(transparent)]
    Quarantine(#[from] StorageRefusal),
    /// Git refused or failed.
    #[error(transparent)]
    Git(#[from] freehold_git::GitError),
    /// An agent could not be started or does not answer.
    #[error(transparent)]
    Agent(#[from] freehold_agent::AgentError),
    /// The database refused or failed.
    #[error(transparent)]
    Store(StoreError),
    /// A folder could not be made or read.
    #[error("{operation} {path}: {source}")]
    Folder {
        /// What was tried.
        operation: &'static str,
        /// The folder.
        path: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A piece of Freehold panicked; the log tells where.
    #[error("{operation} stopped unexpectedly; nothing is known to be lost")]
    Panicked {
        /// What was running.
        operation: &'static str,
    },
}

impl From<RestoreError> for EngineError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Seal(error) => Self::Seal(error),
            RestoreError::Git(error) => Self::Git(error),
            other => Self::Restore(other),
        }
    }
}

/// Whether a restoration met something that a person can avoid by another choice.
const fn is_in_the_way(error: &RestoreError) -> bool {
    matches!(
        error,
        RestoreError::PathTaken { .. }
            | RestoreError::BranchMoved { .. }
            | RestoreError::BranchInUse { .. }
            | RestoreError::BranchTaken { .. }
            | RestoreError::OtherKind { .. }
            | RestoreError::NoCommit { .. }
    )
}

fn workers(borrowers: &[TaskRef]) -> String {
    let names: Vec<String> = borrowers.iter().map(|task| format!("{:?} ({})", task.title, task.id)).collect();
    match names.as_slice() {
        [only] => format!("task {only} works"),
        _ => format!("the tasks {} work", names.join(", ")),
    }
}

fn details(stakes: &[Stake]) -> String {
    stakes.iter().map(|stake| stake.detail.as_str()).collect::<Vec<_>>().join(" ")
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { noun, id } => Self::NotFound { noun, id },
            StoreError::Barrier { task_id, job_id, trigger } => Self::Barrier { task_id, job_id, trigger },
            StoreError::TaskClosed { task_id } => Self::TaskClosed { task_id },
            other => Self::Store(other),
        }
    }
}

impl EngineError {
    /// Sorts the error by what a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Quarantine(refusal) => refusal.kind(),
            Self::InvalidId(_)
            | Self::InvalidTitle(_)
            | Self::InvalidField { .. }
            | Self::EmptyPrompt
            | Self::NameNotTyped { .. }
            | Self::PromptTooLong { .. } => ErrorKind::Invalid,
            Self::Git(error) if error.is_invalid_input() => ErrorKind::Invalid,
            Self::TaskClosed { .. }
            | Self::Barrier { .. }
            | Self::SessionBusy { .. }
            | Self::NoTurn { .. }
            | Self::PermissionClosed { .. }
            | Self::NoWorkspace { .. }
            | Self::NoSetup { .. }
            | Self::SetupRunning { .. }
            | Self::WorkspaceMissing { .. }
            | Self::AgentExists { .. }
            | Self::AgentWithoutCommand { .. }
            | Self::DecisionRefused { .. }
            | Self::CleanupStep { .. }
            | Self::CheckoutInUse { .. }
            | Self::BranchInUse { .. }
            | Self::TaskOpen { .. }
            | Self::Borrowed { .. }
            | Self::NotTheOwner { .. }
            | Self::Growing { .. }
            | Self::SealedElsewhere { .. }
            | Self::WorkspaceElsewhere { .. }
            | Self::ChangedAfterSeal { .. }
            | Self::AtStake { .. } => ErrorKind::Conflict,
            Self::Seal(SealError::Unknown { .. }) => ErrorKind::NotFound,
            Self::Restore(error) if is_in_the_way(error) => ErrorKind::Conflict,
            Self::Git(_)
            | Self::Seal(_)
            | Self::Restore(_)
            | Self::Agent(_)
            | Self::Folder { .. }
            | Self::ShuttingDown => ErrorKind::Unavailable,
            Self::Store(_) | Self::Panicked { .. } => ErrorKind::Internal,
        }
    }

    /// The stable word under which the error is sent.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Quarantine(refusal) => refusal.code(),
            Self::InvalidId(_) => "invalid_id",
            Self::InvalidTitle(InvalidTitle::Empty) => "empty_title",
            Self::InvalidTitle(InvalidTitle::TooLong { .. }) => "title_too_long",
            Self::InvalidTitle(InvalidTitle::ControlCharacter { .. }) => "invalid_title",
            Self::InvalidField { .. } => "invalid_field",
            Self::EmptyPrompt => "empty_prompt",
            Self::PromptTooLong { .. } => "prompt_too_long",
            Self::TaskClosed { .. } => "task_closed",
            Self::Barrier { .. } => "task_closing",
            Self::SessionBusy { .. } => "session_busy",
            Self::NoTurn { .. } => "no_turn",
            Self::PermissionClosed { .. } => "permission_closed",
            Self::NoWorkspace { .. } => "no_workspace",
            Self::NoSetup { .. } => "no_setup",
            Self::SetupRunning { .. } => "setup_running",
            Self::WorkspaceMissing { .. } => "workspace_missing",
            Self::AgentExists { .. } => "agent_exists",
            Self::AgentWithoutCommand { .. } => "agent_without_command",
            Self::DecisionRefused { .. } => "decision_refused",
            Self::CleanupStep { .. } => "cleanup_step",
            Self::AtStake { .. } => "at_stake",
            Self::TaskOpen { .. } => "task_open",
            Self::Borrowed { .. } => "borrowed",
            Self::NotTheOwner { .. } => "not_the_owner",
            Self::Growing { .. } => "growing",
            Self::NameNotTyped { .. } => "name_not_typed",
            Self::SealedElsewhere { .. } => "sealed_elsewhere",
            Self::WorkspaceElsewhere { .. } => "workspace_elsewhere",
            Self::ChangedAfterSeal { .. } => "changed_after_seal",
            Self::Seal(SealError::Unknown { .. }) => "not_found",
            Self::Seal(_) => "seal_failed",
            Self::Restore(RestoreError::PathTaken { .. }) => "path_taken",
            Self::Restore(RestoreError::BranchMoved { .. }) => "branch_moved",
            Self::Restore(RestoreError::BranchInUse { .. }) => "branch_in_use",
            Self::Restore(RestoreError::BranchTaken { .. }) => "branch_taken",
            Self::Restore(_) => "restore_failed",
            Self::CheckoutInUse { .. } => "checkout_in_use",
            Self::BranchInUse { .. } => "branch_in_use",
            Self::Git(error) if error.is_invalid_input() => "invalid_git_input",
            Self::Git(_) => "git_failed",
            Self::Agent(_) => "agent_failed",
            Self::Store(_) => "database_failed",
            Self::Folder { .. } => "folder_failed",
            Self::ShuttingDown => "shutting_down",
            Self::Panicked { .. } => "internal",
        }
    }

    /// What to do next; may be empty.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        if let Self::BranchInUse { branch, checkout, free, holder } = self {
            return branch_in_use_hint(branch, checkout, free, holder).into();
        }
        if let Self::Quarantine(refusal) = self {
            return refusal.hint();
        }
        Cow::Borrowed(match self {
            Self::InvalidTitle(InvalidTitle::Empty) => "give a title, or a prompt to take it from",
            Self::TaskClosed { .. } => {
                "open another task, or ask for this one to be kept while its cleanup waits"
            }
            Self::Barrier { .. } => "wait until the cleanup job ends, or decide it",
            Self::SessionBusy { .. } => "stop the turn, or open another session of the task",
            Self::WorkspaceElsewhere { .. } => "use the server on that machine, or make a new task here",
            Self::NoWorkspace { .. } => "start the task to make its workspace",
            Self::NoSetup { .. } => "set one: freehold repo set REPO --setup FILE",
            Self::SetupRunning { .. } => "wait until it ends; `freehold task show TASK` tells",
            Self::WorkspaceMissing { .. } => "put the directory back, or archive the task and make a new one",
            Self::AtStake { .. } => {
                "consent to a seal, from which it can be brought back, or commit the work"
            }
            Self::Borrowed { has_heir: true, .. } => {
                "let one of them take the workspace over, or close them first"
            }
            Self::Borrowed { .. } => "close them first, or together with it",
            Self::NotTheOwner { .. } => "ask for it at the owner",
            Self::Growing { .. } => "try again",
            Self::Restore(RestoreError::PathTaken { .. }) => "bring it back at another place",
            Self::Restore(error) if is_in_the_way(error) => "bring it back on a new branch, or on none",
            Self::Store(_) => "nothing was changed; look at the server's log",
            Self::Agent(_) => "see that the agent's program is installed and logged in",
            Self::CheckoutInUse { .. } => {
                "open another session of that task, close it first, or give this task a worktree of its own"
            }
            _ => "",
        })
    }

    /// What could be asked for instead; none where there is nothing to offer.
    #[must_use]
    pub fn offer(&self) -> Option<Offer> {
        let Self::BranchInUse { branch, checkout, free, holder } = self else { return None };
        Some(Offer {
            base_branch: branch.clone(),
            new_branch: free.clone(),
            adopt_path: (*holder == BranchHolder::Person).then(|| checkout.clone()),
            in_place: *holder == BranchHolder::MainCheckout,
            task_id: match holder {
                BranchHolder::Task(id) => Some(id.clone()),
                BranchHolder::Person | BranchHolder::MainCheckout | BranchHolder::Nobody => None,
            },
        })
    }

    /// The id, path or name that the error is about; may be empty.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::NotFound { id, .. } => id.clone(),
            Self::Quarantine(refusal) => refusal.subject(),
            Self::InvalidField { field, .. } => (*field).to_owned(),
            Self::TaskClosed { task_id }
            | Self::TaskOpen { task_id }
            | Self::Borrowed { task_id, .. }
            | Self::NotTheOwner { task_id, .. }
            | Self::AtStake { task_id, .. }
            | Self::SealedElsewhere { task_id, .. }
            | Self::WorkspaceElsewhere { task_id, .. }
            | Self::Barrier { task_id, .. }
            | Self::NoWorkspace { task_id }
            | Self::NoSetup { task_id }
            | Self::SetupRunning { task_id }
            | Self::WorkspaceMissing { task_id, .. } => task_id.to_string(),
            Self::NameNotTyped { workspace_id, .. } => workspace_id.to_string(),
            Self::SessionBusy { session_id, .. }
            | Self::NoTurn { session_id }
            | Self::PermissionClosed { session_id, .. } => session_id.to_string(),
            Self::AgentExists { name } | Self::AgentWithoutCommand { name } => name.clone(),
            Self::DecisionRefused { job_id, .. } | Self::CleanupStep { job_id, .. } => job_id.to_string(),
            Self::Folder { path, .. } | Self::ChangedAfterSeal { path, .. } => path.clone(),
            Self::CheckoutInUse { task_id, .. } => task_id.to_string(),
            Self::BranchInUse { branch, .. } => branch.clone(),
            Self::Restore(RestoreError::PathTaken { path, .. }) => path.display().to_string(),
            Self::Restore(
                RestoreError::BranchMoved { branch, .. }
                | RestoreError::BranchInUse { branch, .. }
                | RestoreError::BranchTaken { branch, .. },
            ) => branch.clone(),
            _ => String::new(),
        }
    }
}

fn held_by(holder: &BranchHolder) -> String {
    match holder {
        BranchHolder::MainCheckout => ", the main checkout".into(),
        BranchHolder::Task(id) => format!(", the workspace of task {id}"),
        BranchHolder::Person => ", a worktree that Freehold did not make".into(),
        BranchHolder::Nobody => ", a worktree without a task".into(),
    }
}

fn branch_in_use_hint(branch: &str, checkout: &str, free: &str, holder: &BranchHolder) -> String {
    let anew = format!("start a new branch there (--from {branch} --branch {free})");
    match holder {
        BranchHolder::MainCheckout => {
            format!("{anew}, work in the main checkout itself (--in-place), or switch it to another branch")
        }
        BranchHolder::Task(id) => format!("{anew}, or open another session of task {id}"),
        BranchHolder::Nobody => anew,
        BranchHolder::Person => {
            format!("{anew}, or adopt that worktree, which is never removed (--adopt {checkout})")
        }
    }
}
