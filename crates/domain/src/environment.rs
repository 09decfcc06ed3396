//! Task environments and their repositories: the only record of what a task owns on disk.

use crate::clock::Timestamp;
use crate::id::{
    CreationId, EnvironmentId, EnvironmentRepoId, ExecutorId, NodeId, RepositoryId, SealId, TaskId,
    WorktreeId,
};
use crate::words;

words! {
    /// Whether a task environment can be worked in.
    pub enum EnvironmentStatus("environment status") {
        /// Being made.
        Creating = "creating",
        /// Ready to work in.
        Ready = "ready",
        /// Given back by an archive; nothing is on disk. Other programs mean by it that their executor does not
        /// run, so it is believed only where no worktree is owned.
        Stopped = "stopped",
        /// Could not be made or was damaged.
        Failed = "failed",
    }
}

words! {
    /// Where a task works, and whether what is there is its own.
    #[derive(Default)]
    pub enum WorkspaceKind("workspace kind") {
        /// Git worktrees that Freehold made; the task owns them.
        #[default]
        Worktree = "worktree",
        /// The main checkout of a repository; a person's, never removed.
        InPlace = "in_place",
        /// A worktree that a person made; referenced, never removed.
        Adopted = "adopted",
        /// A folder without a repository; the task owns it.
        Scratch = "scratch",
    }
}

impl WorkspaceKind {
    /// Whether the workspace is a person's own, so that a task that closes leaves all of it.
    #[must_use]
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::InPlace | Self::Adopted)
    }
}

words! {
    /// What became of one repository's worktree.
    pub enum EnvironmentRepoStatus("environment repository status") {
        /// On disk and owned.
        Active = "active",
        /// Merged; still on disk.
        Merged = "merged",
        /// Given back.
        Deleted = "deleted",
    }
}

impl EnvironmentStatus {
    /// Reads a stored word. One that is not known belongs to another program and says nothing about the disk;
    /// the environment counts as ready, so that a person sees its workspace and whoever uses it looks first.
    #[must_use]
    pub fn read(word: &str) -> Self {
        word.parse().unwrap_or(Self::Ready)
    }
}

impl EnvironmentRepoStatus {
    /// Reads a stored word. One that is not known belongs to another program; the worktree counts as owned and
    /// on disk, so that it is neither forgotten nor taken for given back.
    #[must_use]
    pub fn read(word: &str) -> Self {
        word.parse().unwrap_or(Self::Active)
    }
}

impl TaskEnvironment {
    /// The kind of workspace; none for an executor of another program.
    #[must_use]
    pub fn kind(&self) -> Option<WorkspaceKind> {
        self.executor_type.parse().ok()
    }
}

/// The task's materialised working place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnvironment {
    /// Its id.
    pub id: EnvironmentId,
    /// The one task that owns it.
    pub task_id: TaskId,
    /// The kind of executor: a [`WorkspaceKind`], or another program's word.
    pub executor_type: String,
    /// The executor, when one was chosen.
    pub executor_id: Option<ExecutorId>,
    /// Whether it can be worked in.
    pub status: EnvironmentStatus,
    /// The absolute directory in which agents of the task start.
    pub workspace_path: String,
    /// The name of the task's directory under the managed root.
    pub task_dir_name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// One repository of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentRepo {
    /// Its id.
    pub id: EnvironmentRepoId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The repository it is a worktree of; [`RepositoryId::unnamed`] where none is recorded.
    pub repository_id: RepositoryId,
    /// Tells several branches of one repository apart; empty for the first.
    pub branch_slug: String,
    /// The worktree's own id; none when its preparation failed, and none for a checkout of a person, so that
    /// nothing that gives worktrees back ever sees it.
    pub worktree_id: Option<WorktreeId>,
    /// The absolute path of the worktree, or of the checkout of a person that is worked in.
    pub worktree_path: String,
    /// The branch it was made on; a hint only, as a person may switch.
    pub worktree_branch: String,
    /// Its place among the environment's repositories, from 0.
    pub position: i64,
    /// Why it could not be made; otherwise empty.
    pub error_message: String,
    /// What became of it.
    pub status: EnvironmentRepoStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// When it was given back.
    pub deleted_at: Option<Timestamp>,
    /// What Freehold made; none for rows of databases that did not record it.
    pub origin: Option<WorktreeOrigin>,
}

/// What was true at the moment Freehold made a worktree, or began to work in a checkout of a person: the proof,
/// later, that a directory is that worktree.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WorktreeOrigin {
    /// The branch, tag or commit that the start commit was resolved from.
    pub base_branch: String,
    /// The full object id of the start commit; diffs are taken against it.
    pub base_commit: String,
    /// The name of the registration: the directory under `<common dir>/worktrees`; empty for a main checkout.
    pub registration: String,
    /// The device of the worktree's directory.
    pub device: u64,
    /// The inode of the worktree's directory.
    pub inode: u64,
    /// Whether Freehold made the branch; one that was there before stays in any case.
    #[serde(default = "made")]
    pub branch_made: bool,
    /// What went wrong without harm, such as a hook that failed; otherwise empty.
    #[serde(default)]
    pub warning: String,
}

/// Before it was recorded, Freehold made every branch.
const fn made() -> bool {
    true
}

words! {
    /// Where the branch of a planned worktree comes from.
    #[derive(Default)]
    pub enum PlannedBranch("planned branch") {
        /// It is made, under a name that was made up for this attempt and that nobody else uses.
        #[default]
        MadeUp = "made_up",
        /// It is made, under a name that a person or a remote chose, so that another may make it first.
        Named = "named",
        /// It was there before.
        Existing = "existing",
    }
}

words! {
    /// How far one attempt to create a workspace came. The journal is written before each step, so that a
    /// crash leaves the name of the step that may have been half done.
    pub enum CreationState("creation state") {
        /// Paths and branches are chosen; nothing is on disk.
        Planned = "planned",
        /// Worktrees are being made; some may exist.
        Materialising = "materialising",
        /// Ownership is stored; the attempt is history.
        Persisted = "persisted",
        /// The attempt failed or was interrupted; a cleanup job removes what it made.
        Abandoned = "abandoned",
    }
}

/// One attempt to create a task's workspace: what it may have made, written down before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// Its id.
    pub id: CreationId,
    /// The task.
    pub task_id: TaskId,
    /// The server that makes it; only that one may judge it abandoned.
    pub node_id: NodeId,
    /// How far it came.
    pub state: CreationState,
    /// The name of the task's directory under the managed root, used by this attempt alone.
    pub task_dir_name: String,
    /// The worktrees it makes, in order.
    pub worktrees: Vec<PlannedWorktree>,
    /// When it was planned.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The seal from which the folder around the worktrees, or the scratch folder, is restored.
    pub folder_seal: Option<SealId>,
}

impl Creation {
    /// Whether it brings a sealed workspace back.
    #[must_use]
    pub fn restores(&self) -> bool {
        self.folder_seal.is_some() || self.worktrees.iter().any(|worktree| worktree.seal.is_some())
    }
}

/// One worktree that an attempt is going to make.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlannedWorktree {
    /// The id the worktree will have.
    pub worktree_id: WorktreeId,
    /// The repository.
    pub repository_id: RepositoryId,
    /// The absolute path of the repository.
    pub repository_path: String,
    /// The absolute path the worktree will have; it did not exist when planned.
    pub path: String,
    /// The branch that will be checked out.
    pub branch: String,
    /// Where the branch comes from.
    #[serde(default)]
    pub branch_origin: PlannedBranch,
    /// What the start commit was resolved from.
    pub base_branch: String,
    /// The full object id of the start commit.
    pub base_commit: String,
    /// The seal it is restored from; none for one that is made anew.
    #[serde(default)]
    pub seal: Option<SealId>,
    /// The row that recorded the worktree before it was given back; none for one that is made anew.
    #[serde(default)]
    pub environment_repo_id: Option<EnvironmentRepoId>,
}
