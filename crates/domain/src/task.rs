//! Tasks: a unit of work that owns at most one task environment.

use crate::clock::Timestamp;
use crate::id::{AgentProfileId, EnvironmentId, StepId, TaskId, WorkflowId, WorkspaceId};
use crate::words;

words! {
    /// How far a task has come. The words are those of databases people bring along.
    pub enum TaskState("task state") {
        /// Written down; no workspace was asked for.
        Todo = "TODO",
        /// Its workspace is being made.
        Scheduling = "SCHEDULING",
        /// A session of it is working.
        InProgress = "IN_PROGRESS",
        /// An agent waits for an answer.
        WaitingForInput = "WAITING_FOR_INPUT",
        /// The agents are idle; a person looks at the result.
        Review = "REVIEW",
        /// It cannot go on before another task.
        Blocked = "BLOCKED",
        /// Created, but not started; kept for databases that hold it.
        Created = "CREATED",
        /// Done.
        Completed = "COMPLETED",
        /// Its workspace could not be made, or its only session failed.
        Failed = "FAILED",
        /// Given up.
        Cancelled = "CANCELLED",
    }
}

impl TaskState {
    /// Whether nothing more is going to happen to it unless a person asks for more.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Review | Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 500;

/// How many tasks may be parts of one another in a row: a task, its sub-task, and so on.
pub const MAX_TASK_DEPTH: usize = 8;

/// The longest name of an automation, in characters.
pub const MAX_AUTOMATION_CHARS: usize = 100;

/// How many of the newest runs of an automation keep their workspaces on a board, unless a person says otherwise.
pub const AUTOMATION_RUNS_KEPT: u32 = 5;

/// The longest prompt, in bytes.
pub const MAX_PROMPT_BYTES: usize = 1_000_000;

/// Says why a text cannot be a title.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTitle {
    /// Nothing but white space.
    #[error("a task needs a title")]
    Empty,
    /// Longer than [`MAX_TITLE_CHARS`].
    #[error(
        "the title has {chars} characters; at most {MAX_TITLE_CHARS} are allowed (put the rest into the prompt)"
    )]
    TooLong {
        /// The length found, in characters.
        chars: usize,
    },
    /// Holds a line break or another control character.
    #[error("the title holds a control character (U+{code:04X}); write it on one line")]
    ControlCharacter {
        /// The code point found.
        code: u32,
    },
}

/// A title: one line of 1 to [`MAX_TITLE_CHARS`] characters, trimmed. Any words are allowed; the branch name
/// is made from it elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTitle(String);

impl TaskTitle {
    /// Accepts a text as a title.
    pub fn parse(text: &str) -> Result<Self, InvalidTitle> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars == 0 {
            return Err(InvalidTitle::Empty);
        }
        if chars > MAX_TITLE_CHARS {
            return Err(InvalidTitle::TooLong { chars });
        }
        if let Some(found) = text.chars().find(|c| c.is_control()) {
            return Err(InvalidTitle::ControlCharacter { code: found.into() });
        }
        Ok(Self(text.to_owned()))
    }

    /// The title of a task whose person wrote a prompt only: its first line, shortened to 80 characters.
    pub fn from_prompt(prompt: &str) -> Result<Self, InvalidTitle> {
        let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if line.chars().count() <= 80 {
            return Self::parse(&line);
        }
        let short: String = line.chars().take(79).collect();
        Self::parse(&format!("{}…", short.trim_end()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<TaskTitle> for String {
    fn from(title: TaskTitle) -> String {
        title.0
    }
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The task that it is a part of.
    pub parent_id: Option<TaskId>,
    /// The environment of another task that it works in; it owns nothing of it.
    pub borrowed_environment_id: Option<EnvironmentId>,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The board it is on.
    pub workflow_id: WorkflowId,
    /// The column it is in.
    pub step_id: StepId,
    /// Its title; rows of old databases may hold titles that [`TaskTitle`] would refuse.
    pub title: String,
    /// What the person asked for; the first prompt of the first session. May be empty.
    pub prompt: String,
    /// How far it has come.
    pub state: TaskState,
    /// Why it is in [`TaskState::Failed`]; otherwise empty.
    pub error_message: String,
    /// Its place within the column, ascending.
    pub position: i64,
    /// The agent that its first session uses.
    pub agent_profile_id: Option<AgentProfileId>,
    /// Whether a first session shall start as soon as the workspace is ready; cleared when it has.
    pub start_requested: bool,
    /// Whether it is a quick chat, which goes to the trash when it is closed.
    pub is_quick: bool,
    /// The name of the automation that it is a run of; empty for every other task.
    pub automation: String,
    /// When a quick chat is closed by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// When its deletion was asked for.
    pub deleted_at: Option<Timestamp>,
    /// When it came into the trash: deleted, and its workspace given back. The row goes when the trash is purged.
    pub trashed_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Task {
    /// Whether the task is still open: neither archived nor deleted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.archived_at.is_none() && self.deleted_at.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_words() {
        assert_eq!(TaskTitle::parse("  fix it ").map(String::from), Ok("fix it".to_owned()));
        assert_eq!(TaskTitle::parse(" \t"), Err(InvalidTitle::Empty));
        assert_eq!(TaskTitle::parse(&"x".repeat(10_000)), Err(InvalidTitle::TooLong { chars: 10_000 }));
        assert_eq!(TaskTitle::parse("a\nb"), Err(InvalidTitle::ControlCharacter { code: 10 }));
        for odd in ["..", "-x", "a.lock", "🦀", "$(touch X)", "名前"] {
            assert!(TaskTitle::parse(odd).is_ok(), "{odd}");
        }
    }

    #[test]
    fn a_title_can_be_taken_from_the_prompt() {
        let title = TaskTitle::from_prompt("\n  Add a test\nfor the parser").map(String::from);
        assert_eq!(title, Ok("Add a test".to_owned()));
        let long = TaskTitle::from_prompt(&"é".repeat(300)).map(String::from).unwrap();
        assert_eq!(long.chars().count(), 80);
        assert_eq!(TaskTitle::from_prompt("  "), Err(InvalidTitle::Empty));
    }
}
