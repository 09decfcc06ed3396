//! What takes room on disk, what nobody owns, and the quarantine.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What takes room, by its owner. Sizes are those of the last measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Storage {
    /// The folder of the workspaces on this server.
    pub root: String,
    /// How many bytes are free on its file system; none when that cannot be found out.
    pub free_bytes: Option<u64>,
    /// Whether sizes are being measured at this moment.
    pub is_measuring: bool,
    /// Every task that owns anything, in the order in which they were made.
    pub tasks: Vec<TaskStorage>,
    /// Every repository with what its worktrees and seals take.
    pub repositories: Vec<RepositoryStorage>,
    /// The worktrees of this server that were made ahead of time.
    pub idle: Room,
    /// What is in quarantine on this server.
    pub quarantine: Room,
    /// What nobody owns on this server.
    pub unowned: Room,
}

/// How much room some places take together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Room {
    /// How many places there are.
    pub count: u64,
    /// How many were not measured yet.
    pub unmeasured: u64,
    /// The bytes that those take on disk that were measured.
    pub size_bytes: u64,
    /// How many files, links and directories those have.
    pub file_count: u64,
    /// Whether they take at least this much, because a measurement did not come to its end.
    pub at_least: bool,
    /// When the one was measured whose measurement is the oldest; none when none was.
    pub measured_at: Option<String>,
}

/// What a task owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskStorage {
    /// The task.
    pub task_id: String,
    /// Its title.
    pub title: String,
    /// `open`, `archived` or `deleted`.
    pub state: String,
    /// Where its workspace is; empty when it has none on disk.
    pub workspace_path: String,
    /// The name of another server's machine that has the workspace; empty for this one.
    pub hostname: String,
    /// Whether the workspace is a checkout of a person, which is not measured and never removed.
    pub is_persons: bool,
    /// The workspace on disk.
    pub workspace: Room,
    /// Its worktrees.
    pub worktrees: Vec<WorktreeStorage>,
    /// How many bytes its seals hold.
    pub seal_bytes: u64,
    /// How many seals it has.
    pub seal_count: u64,
    /// How many runs of set-up and tear-down scripts are recorded in the database.
    pub script_runs: u64,
    /// How many characters they printed. They are kept as long as the task and go when it is purged.
    pub script_output: u64,
}

/// What a worktree takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorktreeStorage {
    /// Its repository.
    pub repository_id: String,
    /// Its absolute path.
    pub path: String,
    /// The bytes that it takes on disk; none when it was not measured yet.
    pub size_bytes: Option<u64>,
}

/// What is taken on behalf of one repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositoryStorage {
    /// The repository.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its absolute path.
    pub path: String,
    /// The worktrees of tasks and those made ahead of time.
    pub worktrees: Room,
    /// How many bytes the seals in it hold, as they were sealed.
    pub seal_bytes: u64,
    /// How many seals it holds.
    pub seal_count: u64,
}

/// Something on this server's disk that no task owns. It stays until a person does something about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnownedPlace {
    /// Its absolute path.
    pub path: String,
    /// `worktree`, `folder`, `file` or `missing`.
    pub kind: String,
    /// `lost_owner`, `given_back`, `restored`, `idle_in_doubt`, `trash_left_over`, `quarantine_left_over` or
    /// `not_recorded`.
    pub reason: String,
    /// That in words, where there is more to say; otherwise empty.
    pub detail: String,
    /// Whether nothing in this database tells whose it is, so that another Freehold may be working there.
    pub is_owner_unknown: bool,
    /// The task that had it, where one is known; it may be gone.
    pub task_id: Option<String>,
    /// The registered repository of a worktree.
    pub repository_id: Option<String>,
    /// The absolute path of the repository of a worktree, registered or not; empty for anything else.
    pub repository_path: String,
    /// The branch that is checked out; may be empty.
    pub branch: String,
    /// Since when it is known to have no owner; none before the first measurement.
    pub since: Option<String>,
    /// The bytes that it takes on disk; none when it was not measured yet.
    pub size_bytes: Option<u64>,
    /// Whether it takes at least this much.
    pub at_least: bool,
    /// When it was measured.
    pub measured_at: Option<String>,
    /// Why it cannot be put into quarantine; empty when it can.
    pub refusal: String,
}

/// Asks for something without an owner to be put into quarantine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinePlace {
    /// Its absolute path, as it is listed.
    pub path: String,
    /// The name of the directory, typed by a person; needed where the owner is unknown.
    #[serde(default)]
    pub confirm: Option<String>,
    /// Who asks, for the record; at most 100 characters.
    #[serde(default)]
    pub requested_by: Option<String>,
}

/// Something in quarantine, or that was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantineEntry {
    /// Its id.
    pub id: String,
    /// `moving`, `held`, `restoring`, `restored` or `called_off`.
    pub state: String,
    /// `worktree` or `folder`.
    pub kind: String,
    /// The absolute path where it was found.
    pub original_path: String,
    /// The absolute path where it is kept.
    pub held_path: String,
    /// The absolute path to which it is, or was, restored; otherwise empty.
    pub restore_path: String,
    /// The name of another server's machine that has it; empty for this one.
    pub hostname: String,
    /// The registered repository of a worktree.
    pub repository_id: Option<String>,
    /// The absolute path of the repository of a worktree; empty for a folder.
    pub repository_path: String,
    /// Why it had no owner.
    pub reason: String,
    /// That in words, where there is more to say; otherwise empty.
    pub detail: String,
    /// Who asked for it.
    pub requested_by: String,
    /// How many bytes it took when it was last measured; 0 before that.
    pub size_bytes: u64,
    /// The cleanup job that moves it there.
    pub job_id: String,
    /// Why it could not be restored last, or what is not as it was; otherwise empty.
    pub error_message: String,
    /// When it was asked for.
    pub created_at: String,
    /// When it came into quarantine.
    pub held_at: Option<String>,
    /// When it goes for good; none while it is not held.
    pub expires_at: Option<String>,
}

/// Where something comes back to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoreQuarantined {
    /// An absolute path at which nothing is; by default where it was.
    #[serde(default)]
    pub path: Option<String>,
}
