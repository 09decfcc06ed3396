//! Storage: which places on a server's disk the rows of this database name, and how much room they were measured
//! to take.

use freehold_domain::cleanup::Snapshot;
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{EnvironmentRepoStatus, EnvironmentStatus};
use freehold_domain::id::{CleanupJobId, NodeId, RepositoryId, TaskId};
use freehold_domain::storage::{Measure, Room};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    ENVIRONMENTS =
        "SELECT e.id, e.task_id, e.status, e.executor_type, e.workspace_path, e.task_dir_name, n.node_id \
         FROM task_environments e JOIN tasks t ON t.id = e.task_id \
         LEFT JOIN task_environment_nodes n ON n.task_environment_id = e.id ORDER BY t.created_at, e.id";
    WORKTREES =
        "SELECT r.id, e.task_id, r.repository_id, r.worktree_path, r.status, r.worktree_id \
         FROM task_environment_repos r JOIN task_environments e ON e.id = r.task_environment_id \
         ORDER BY e.id, r.position, r.id";
    CREATIONS = "SELECT id, task_dir_name, worktrees FROM workspace_creations WHERE state <> 'persisted' ORDER BY id";
    SNAPSHOTS =
        "SELECT id, resource_snapshot FROM task_resource_cleanup_jobs \
         WHERE state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY id";
    IDLE = "SELECT id, worktree_path, state, reason, repository_id FROM idle_worktrees ORDER BY id";
    UNOWNED =
        "SELECT id, worktree_path, reason, repository_id, task_id, created_at FROM unowned_worktrees ORDER BY id";
    DELETE_UNOWNED = "DELETE FROM unowned_worktrees WHERE worktree_path = $1";
    DELETE_IDLE = "DELETE FROM idle_worktrees WHERE worktree_path = $1 AND state = 'left'";
    REPOSITORIES = "SELECT id, name, local_path FROM repositories WHERE deleted_at IS NULL ORDER BY name, id";
    SEALS =
        "SELECT task_id, repository_id, CAST(SUM(size_bytes) AS BIGINT), COUNT(*) FROM workspace_seals GROUP BY task_id, repository_id \
         ORDER BY task_id, repository_id";
    OUTPUTS =
        "SELECT e.task_id, COUNT(*), CAST(SUM(LENGTH(s.output)) AS BIGINT) FROM workspace_setups s \
         JOIN task_environment_repos r ON r.id = s.environment_repo_id \
         JOIN task_environments e ON e.id = r.task_environment_id GROUP BY e.task_id ORDER BY e.task_id";
    TITLES =
        "SELECT id, title, CASE WHEN archived_at IS NULL AND deleted_at IS NULL THEN 'open' WHEN deleted_at IS NULL \
         THEN 'archived' ELSE 'deleted' END FROM tasks ORDER BY created_at, id";
    MEASURES =
        "SELECT node_id, path, size_bytes, file_count, is_complete, measured_at, unowned_since FROM storage_measures \
         ORDER BY node_id, path";
    REMEMBER =
        "INSERT INTO storage_measures (node_id, path, size_bytes, file_count, is_complete, measured_at, unowned_since) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (node_id, path) DO UPDATE SET \
         size_bytes = excluded.size_bytes, file_count = excluded.file_count, is_complete = excluded.is_complete, \
         measured_at = excluded.measured_at, unowned_since = excluded.unowned_since";
    FORGET = "DELETE FROM storage_measures WHERE node_id = $1 AND path = $2";
}

/// An environment and the places that its row names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEnvironment {
    /// The task that owns it.
    pub task_id: TaskId,
    /// Whether it can be worked in.
    pub status: EnvironmentStatus,
    /// The kind of executor.
    pub executor_type: String,
    /// The absolute directory in which agents start; may be empty.
    pub workspace_path: String,
    /// The name of the task's directory under the managed root; may be empty.
    pub task_dir_name: String,
    /// The server whose file system holds it; none where that was not recorded.
    pub node_id: Option<NodeId>,
}

/// A worktree of an environment and the place that its row names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedWorktree {
    /// The task that owns it.
    pub task_id: TaskId,
    /// Its repository.
    pub repository_id: RepositoryId,
    /// Its absolute path; may be empty.
    pub path: String,
    /// Whether the task has it: it was not given back.
    pub is_held: bool,
    /// Whether it is a checkout of a person, which Freehold did not make.
    pub is_persons: bool,
}

/// A worktree that was made ahead of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedIdle {
    /// Its absolute path.
    pub path: String,
    /// Whether it is in doubt and stays as it is.
    pub is_left: bool,
    /// Why.
    pub reason: String,
    /// Its repository.
    pub repository_id: Option<RepositoryId>,
}

/// A worktree without an owner, as an upgrade recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedUnowned {
    /// Its absolute path; may be empty.
    pub path: String,
    /// Why it has no owner.
    pub reason: String,
    /// Its repository, where it is known.
    pub repository_id: Option<RepositoryId>,
    /// The task that it belonged to, where it is known.
    pub task_id: Option<TaskId>,
    /// When that was recorded.
    pub created_at: Timestamp,
}

/// A registered repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRepository {
    /// Its id.
    pub id: RepositoryId,
    /// Its name.
    pub name: String,
    /// Its absolute path.
    pub path: String,
}

/// A task as storage shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTask {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// `open`, `archived` or `deleted`.
    pub state: String,
}

/// How large the seals of a task in one repository are together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRoom {
    /// What was sealed: a task, or an entry of the quarantine.
    pub task_id: TaskId,
    /// The repository that holds them.
    pub repository_id: String,
    /// How large they are together, in bytes.
    pub size_bytes: u64,
    /// How many they are.
    pub count: u64,
}

/// Every place that a row of this database names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The environments of tasks.
    pub environments: Vec<NamedEnvironment>,
    /// The worktrees of those environments.
    pub worktrees: Vec<NamedWorktree>,
    /// The attempts that are not history: name of the task's directory, and paths.
    pub creations: Vec<(String, Vec<String>)>,
    /// What unfinished jobs are about.
    pub snapshots: Vec<(CleanupJobId, Snapshot)>,
    /// The worktrees that were made ahead of time.
    pub idle: Vec<NamedIdle>,
    /// The worktrees without an owner.
    pub unowned: Vec<RecordedUnowned>,
    /// The registered repositories.
    pub repositories: Vec<NamedRepository>,
}

/// Reads every place that a row names.
pub fn names(tx: &mut Tx<'_>) -> Result<Names, StoreError> {
    Ok(Names {
        environments: tx.rows(&ENVIRONMENTS, params![], "task_environments", read_environment)?,
        worktrees: tx.rows(&WORKTREES, params![], "task_environment_repos", read_worktree)?,
        creations: tx.rows(&CREATIONS, params![], "workspace_creations", |fields| {
            fields.text()?;
            let name = fields.text()?;
            let planned: Vec<freehold_domain::environment::PlannedWorktree> = fields.json()?;
            Ok((name, planned.into_iter().map(|planned| planned.path).collect()))
        })?,
        snapshots: tx.rows(&SNAPSHOTS, params![], "task_resource_cleanup_jobs", |fields| {
            Ok((fields.parse()?, Snapshot::parse(fields.text()?)))
        })?,
        idle: tx.rows(&IDLE, params![], "idle_worktrees", |fields| {
            fields.text()?;
            Ok(NamedIdle {
                path: fields.text()?,
                is_left: fields.text()? == "left",
                reason: fields.text()?,
                repository_id: fields.optional()?,
            })
        })?,
        unowned: tx.rows(&UNOWNED, params![], "unowned_worktrees", |fields| {
            fields.text()?;
            Ok(RecordedUnowned {
                path: fields.text()?,
                reason: fields.text()?,
                repository_id: fields.optional()?,
                task_id: fields.optional()?,
                created_at: fields.instant()?,
            })
        })?,
        repositories: tx.rows(&REPOSITORIES, params![], "repositories", |fields| {
            Ok(NamedRepository { id: fields.parse()?, name: fields.text()?, path: fields.text()? })
        })?,
    })
}

/// Lists every task with its title.
pub fn tasks(tx: &mut Tx<'_>) -> Result<Vec<NamedTask>, StoreError> {
    tx.rows(&TITLES, params![], "tasks", |fields| {
        Ok(NamedTask { id: fields.parse()?, title: fields.text()?, state: fields.text()? })
    })
}

/// Sums up the seals, by what was sealed and by repository.
pub fn sealed_room(tx: &mut Tx<'_>) -> Result<Vec<SealedRoom>, StoreError> {
    tx.rows(&SEALS, params![], "workspace_seals", |fields| {
        Ok(SealedRoom {
            task_id: fields.parse()?,
            repository_id: fields.text()?,
            size_bytes: fields.int()?.cast_unsigned(),
            count: fields.int()?.cast_unsigned(),
        })
    })
}

/// Sums up what set-up and tear-down scripts printed, by task: how many runs, and how many characters.
pub fn script_output(tx: &mut Tx<'_>) -> Result<Vec<(TaskId, u64, u64)>, StoreError> {
    tx.rows(&OUTPUTS, params![], "workspace_setups", |fields| {
        Ok((fields.parse()?, fields.int()?.cast_unsigned(), fields.int()?.cast_unsigned()))
    })
}

/// Deletes the rows of a worktree without an owner that is gone for good.
pub fn forget_unowned(tx: &mut Tx<'_>, path: &str) -> Result<(), StoreError> {
    tx.execute(&DELETE_UNOWNED, params![path]).map(drop)
}

/// Deletes the row of a worktree in doubt that was made ahead of time and is in quarantine now.
pub fn forget_idle(tx: &mut Tx<'_>, path: &str) -> Result<(), StoreError> {
    tx.execute(&DELETE_IDLE, params![path]).map(drop)
}

/// Lists what was measured, by server and path.
pub fn measures(tx: &mut Tx<'_>) -> Result<Vec<Measure>, StoreError> {
    tx.rows(&MEASURES, params![], "storage_measures", |fields| {
        Ok(Measure {
            node_id: fields.parse()?,
            path: fields.text()?,
            room: Room {
                size_bytes: fields.int()?.cast_unsigned(),
                file_count: fields.int()?.cast_unsigned(),
                is_complete: fields.flag()?,
            },
            measured_at: fields.instant()?,
            unowned_since: fields.optional_instant()?,
        })
    })
}

/// Remembers a measurement instead of the one before.
pub fn remember(tx: &mut Tx<'_>, measure: &Measure) -> Result<(), StoreError> {
    let stored = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let values = params![
        measure.node_id.as_str(),
        &measure.path,
        stored(measure.room.size_bytes),
        stored(measure.room.file_count),
        measure.room.is_complete,
        measure.measured_at,
        measure.unowned_since,
    ];
    tx.execute(&REMEMBER, values).map(drop)
}

/// Forgets the measurement of a place that is gone.
pub fn forget(tx: &mut Tx<'_>, node: &NodeId, path: &str) -> Result<(), StoreError> {
    tx.execute(&FORGET, params![node.as_str(), path]).map(drop)
}

fn read_environment(fields: &mut Fields<'_>) -> Result<NamedEnvironment, StoreError> {
    fields.text()?;
    Ok(NamedEnvironment {
        task_id: fields.parse()?,
        status: EnvironmentStatus::read(&fields.text()?),
        executor_type: fields.text()?,
        workspace_path: fields.text()?,
        task_dir_name: fields.text()?,
        node_id: fields.optional()?,
    })
}

fn read_worktree(fields: &mut Fields<'_>) -> Result<NamedWorktree, StoreError> {
    fields.text()?;
    let (task_id, repository_id, path) = (fields.parse()?, fields.parse(), fields.text()?);
    let status = EnvironmentRepoStatus::read(&fields.text()?);
    Ok(NamedWorktree {
        task_id,
        repository_id: repository_id.unwrap_or_else(|_| RepositoryId::unnamed()),
        path,
        is_held: status != EnvironmentRepoStatus::Deleted,
        is_persons: fields.text()?.is_empty(),
    })
}
