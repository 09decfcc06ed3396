//! Identifiers: one type per noun, so that a session's id cannot stand where a task's is expected.
//!
//! An id is opaque text. Freehold makes lower-case UUIDs; databases that people bring along also hold slugs
//! such as `exec-worktree`, so an id is any short word without white space or control characters.

/// Says why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a valid {noun} id: an id has 1 to {MAX_ID_BYTES} bytes without spaces or control characters"
)]
pub struct InvalidId {
    /// The noun the id was meant for.
    pub noun: &'static str,
    /// The text that was refused, shortened to 80 characters.
    pub text: String,
}

/// The longest id in bytes.
pub const MAX_ID_BYTES: usize = 128;

fn check(noun: &'static str, text: &str) -> Result<(), InvalidId> {
    let fits = !text.is_empty() && text.len() <= MAX_ID_BYTES;
    if fits && !text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    Err(InvalidId { noun, text: text.chars().take(80).collect() })
}

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident ($noun:literal)),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Accepts a text as an id; fails when it is empty, too long or holds white space.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                check($noun, &text)?;
                Ok(Self(text))
            }

            /// Makes a new id from the source of ids.
            pub fn generate(ids: &dyn crate::clock::IdSource) -> Self {
                Self(ids.next_id())
            }

            /// The id as stored and sent.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    )+};
}

ids! {
    /// Identifies a workspace: a named container of boards, tasks and repositories.
    WorkspaceId("workspace"),
    /// Identifies a workflow (a board).
    WorkflowId("workflow"),
    /// Identifies a step (a column of a board).
    StepId("step"),
    /// Identifies a task.
    TaskId("task"),
    /// Identifies a registered repository.
    RepositoryId("repository"),
    /// Identifies the use of one repository by one task.
    TaskRepositoryId("task repository"),
    /// Identifies a task environment.
    EnvironmentId("environment"),
    /// Identifies one repository of an environment.
    EnvironmentRepoId("environment repository"),
    /// Identifies a physical worktree, independent of the row that records it.
    WorktreeId("worktree"),
    /// Identifies one attempt to create a task's workspace.
    CreationId("creation attempt"),
    /// Identifies one run of a set-up or tear-down script.
    SetupId("set-up"),
    /// Identifies a session.
    SessionId("session"),
    /// Identifies a turn of a session.
    TurnId("turn"),
    /// Identifies a message of a session.
    MessageId("message"),
    /// Identifies an agent profile.
    AgentProfileId("agent profile"),
    /// Identifies an executor.
    ExecutorId("executor"),
    /// Identifies a running execution of an agent.
    ExecutionId("execution"),
    /// Identifies a cleanup job.
    CleanupJobId("cleanup job"),
    /// Identifies a seal; also the name of the ref that holds it.
    SealId("seal"),
    /// Identifies a running server and the file system it can reach.
    NodeId("node"),
    /// Identifies a worktree that was made ahead of time.
    IdleWorktreeId("idle worktree"),
    /// Identifies something that is or was in quarantine.
    QuarantineId("quarantine entry"),
}

impl SealId {
    /// Names the seal that an attempt of a job takes of its worktree of this number; `again` counts the times
    /// that the worktree changed under an earlier name.
    #[must_use]
    pub fn of_job(job: &CleanupJobId, number: usize, again: u32) -> Self {
        let again = if again == 0 { String::new() } else { format!(".{again}") };
        Self(format!("{job}-{number}{again}"))
    }
}

impl TaskId {
    /// Stands for a place that is no task's in the jobs and seals that concern it.
    #[must_use]
    pub fn of_quarantine(id: &QuarantineId) -> Self {
        Self(id.0.clone())
    }
}

impl RepositoryId {
    /// Stands where an older database names no repository; no repository has it.
    #[must_use]
    pub fn unnamed() -> Self {
        Self("(none)".to_owned())
    }
}
