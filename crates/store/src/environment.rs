//! Task environments: the only record of what a task owns on disk.
//!
//! Invariant: an environment or a session is stored only while the task is open and no barrier job of it is
//! unfinished. Storing either and reserving a barrier lock the task's row first, so one of two that race sees
//! the other.

use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{
    EnvironmentRepo, EnvironmentRepoStatus, EnvironmentStatus, TaskEnvironment, WorktreeOrigin,
};
use freehold_domain::id::{EnvironmentId, EnvironmentRepoId, RepositoryId, TaskId};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::{Value, params};
use crate::{StoreError, Tx, cleanup, task};

const TABLE: &str = "task_environments";

/// The status of the environment `e`. Other programs write `stopped` when their executor ends and leave the
/// worktrees where they are, and may die while it is `creating`. What owns a worktree was not given back, and it
/// is not being made either: Freehold stores a workspace when it is ready.
macro_rules! status {
    () => {
        "CASE WHEN e.status IN ('stopped', 'creating') AND EXISTS (SELECT 1 FROM task_environment_repos r \
         WHERE r.task_environment_id = e.id AND r.worktree_id <> '' AND r.status <> 'deleted' \
         AND r.deleted_at IS NULL) THEN 'ready' ELSE e.status END AS status"
    };
}
pub(crate) use status;

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT e.id, e.task_id, e.executor_type, e.executor_id, ",
            status!(),
            ", e.workspace_path, e.task_dir_name, e.created_at, e.updated_at FROM task_environments e WHERE ",
            $condition
        )
    };
}

statements! {
    INSERT =
        "INSERT INTO task_environments (id, task_id, executor_type, executor_id, status, workspace_path, \
         task_dir_name, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    INSERT_REPO =
        "INSERT INTO task_environment_repos (id, task_environment_id, repository_id, branch_slug, worktree_id, \
         worktree_path, worktree_branch, position, error_message, status, created_at, updated_at, merged_at, deleted_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    INSERT_ORIGIN =
        "INSERT INTO task_environment_repo_origins (environment_repo_id, base_branch, base_commit, registration, \
         device, inode, branch_made, warning) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    FIND_BY_TASK = select!("e.task_id = $1");
    FIND = select!("e.id = $1");
    REPOS =
        "SELECT r.id, r.task_environment_id, r.repository_id, r.branch_slug, r.worktree_id, r.worktree_path, \
         r.worktree_branch, r.position, r.error_message, r.status, r.created_at, r.updated_at, r.merged_at, \
         r.deleted_at, o.environment_repo_id, o.base_branch, o.base_commit, o.registration, o.device, o.inode, \
         o.branch_made, o.warning \
         FROM task_environment_repos r \
         LEFT JOIN task_environment_repo_origins o ON o.environment_repo_id = r.id \
         WHERE r.task_environment_id = $1 ORDER BY r.position, r.id";
    OTHER_OWNERS =
        "SELECT id FROM task_environment_repos WHERE worktree_path = $1 AND id <> $2 AND worktree_id <> '' \
         AND status <> 'deleted' AND deleted_at IS NULL LIMIT 1";
    FIND_BORROWED = select!("e.id = (SELECT b.borrowed_environment_id FROM tasks b WHERE b.id = $1)");
    TRANSFER = "UPDATE task_environments SET task_id = $1, updated_at = $2 WHERE id = $3 AND task_id = $4";
    UNLINK_SESSIONS_OF =
        "UPDATE task_sessions SET task_environment_id = '' WHERE task_environment_id = $1 AND task_id = $2";
    SET_PLACE =
        "UPDATE task_environments SET workspace_path = $1, task_dir_name = $2, updated_at = $3 WHERE id = $4";
    OWNER_AT =
        "SELECT e.task_id FROM task_environment_repos r JOIN task_environments e ON e.id = r.task_environment_id \
         WHERE r.worktree_path = $1 AND r.worktree_id <> '' AND r.status <> 'deleted' AND r.deleted_at IS NULL \
         ORDER BY r.id LIMIT 1";
    SET_STATUS = "UPDATE task_environments SET status = $1, updated_at = $2 WHERE id = $3";
    MARK_REPO_DELETED =
        "UPDATE task_environment_repos SET status = 'deleted', deleted_at = $1, updated_at = $2 WHERE id = $3";
    REVIVE_REPO =
        "UPDATE task_environment_repos SET status = 'active', deleted_at = NULL, worktree_path = $1, \
         worktree_branch = $2, updated_at = $3 WHERE id = $4";
    DELETE_ORIGIN = "DELETE FROM task_environment_repo_origins WHERE environment_repo_id = $1";
    UNLINK_SESSIONS = "UPDATE task_sessions SET task_environment_id = '' WHERE task_environment_id = $1";
    DELETE = "DELETE FROM task_environments WHERE id = $1";
    UNOWNED =
        "SELECT id, worktree_id, worktree_path, worktree_branch, reason FROM unowned_worktrees \
         ORDER BY worktree_path, id";
}

/// Stores what a task owns now: the environment, its repositories and their origins.
///
/// Fails with [`StoreError::TaskClosed`] when the task is archived or deleted, and with
/// [`StoreError::Barrier`] while a cleanup job holds the task.
pub fn insert_ready(
    tx: &mut Tx<'_>,
    environment: &TaskEnvironment,
    repos: &[EnvironmentRepo],
) -> Result<(), StoreError> {
    require_open(tx, &environment.task_id)?;
    let values = params![
        environment.id.as_str(),
        environment.task_id.as_str(),
        &environment.executor_type,
        environment.executor_id.as_ref().map_or("", |id| id.as_str()),
        environment.status.as_str(),
        &environment.workspace_path,
        &environment.task_dir_name,
        environment.created_at,
        environment.updated_at,
    ];
    tx.execute(&INSERT, values)?;
    let rows: Vec<Vec<Value<'_>>> = repos.iter().map(repo_values).collect();
    tx.execute_many(&INSERT_REPO, &rows)?;
    let origins: Vec<Vec<Value<'_>>> =
        repos.iter().filter_map(|repo| Some(origin_values(&repo.id, repo.origin.as_ref()?))).collect();
    tx.execute_many(&INSERT_ORIGIN, &origins)
}

/// Locks a task's row; fails unless the task may get a new session or environment.
pub(crate) fn require_open(tx: &mut Tx<'_>, id: &TaskId) -> Result<(), StoreError> {
    let task = task::lock(tx, id)?;
    if let Some(job) = cleanup::barrier_of(tx, id)? {
        return Err(StoreError::Barrier { task_id: job.task_id, job_id: job.id, trigger: job.trigger });
    }
    if task.is_open() { Ok(()) } else { Err(StoreError::TaskClosed { task_id: task.id }) }
}

fn repo_values(repo: &EnvironmentRepo) -> Vec<Value<'_>> {
    params![
        repo.id.as_str(),
        repo.environment_id.as_str(),
        repo.repository_id.as_str(),
        &repo.branch_slug,
        repo.worktree_id.as_ref().map_or("", |id| id.as_str()),
        &repo.worktree_path,
        &repo.worktree_branch,
        repo.position,
        &repo.error_message,
        repo.status.as_str(),
        repo.created_at,
        repo.updated_at,
        repo.merged_at,
        repo.deleted_at,
    ]
    .to_vec()
}

fn origin_values<'a>(id: &'a EnvironmentRepoId, origin: &'a WorktreeOrigin) -> Vec<Value<'a>> {
    let WorktreeOrigin { base_branch, base_commit, registration, branch_made, warning, .. } = origin;
    let (id, device, inode) = (id.as_str(), origin.device.cast_signed(), origin.inode.cast_signed());
    params![id, base_branch, base_commit, registration, device, inode, *branch_made, warning].to_vec()
}

/// Finds the environment of a task.
pub fn find_by_task(tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<TaskEnvironment>, StoreError> {
    tx.row(&FIND_BY_TASK, params![task.as_str()], TABLE, read)
}

/// Finds the environment that a task works in: its own, else the one that it borrows.
pub fn find_visited(tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<TaskEnvironment>, StoreError> {
    match find_by_task(tx, task)? {
        Some(own) => Ok(Some(own)),
        None => tx.row(&FIND_BORROWED, params![task.as_str()], TABLE, read),
    }
}

/// Gives an environment another owner; its repositories follow. False when `from` does not own it any more.
///
/// Fails with [`StoreError::TaskClosed`] when the new owner is archived or deleted, and with
/// [`StoreError::Barrier`] while a cleanup job holds it. The caller has locked both tasks.
pub fn transfer(
    tx: &mut Tx<'_>,
    id: &EnvironmentId,
    from: &TaskId,
    to: &TaskId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    require_open(tx, to)?;
    if tx.execute(&TRANSFER, params![to.as_str(), now, id.as_str(), from.as_str()])? == 0 {
        return Ok(false);
    }
    task::set_borrowed_environment(tx, to, None, now)?;
    Ok(true)
}

/// Unlinks the sessions of one task from an environment.
pub fn unlink_sessions_of(tx: &mut Tx<'_>, id: &EnvironmentId, task: &TaskId) -> Result<(), StoreError> {
    tx.execute(&UNLINK_SESSIONS_OF, params![id.as_str(), task.as_str()]).map(drop)
}

/// Finds an environment.
pub fn find(tx: &mut Tx<'_>, id: &EnvironmentId) -> Result<Option<TaskEnvironment>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Lists an environment's repositories, in order.
pub fn repos_of(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Vec<EnvironmentRepo>, StoreError> {
    tx.rows(&REPOS, params![environment.as_str()], "task_environment_repos", read_repo)
}

/// Whether a row other than `repo` owns a worktree at the path too, as rows of older databases may.
pub fn is_owned_twice(tx: &mut Tx<'_>, repo: &EnvironmentRepoId, path: &str) -> Result<bool, StoreError> {
    let values = params![path, repo.as_str()];
    let other = tx.row(&OTHER_OWNERS, values, "task_environment_repos", |fields| fields.text())?;
    Ok(other.is_some())
}

/// Finds the task that owns the worktree at a path.
pub fn owner_at(tx: &mut Tx<'_>, path: &str) -> Result<Option<TaskId>, StoreError> {
    tx.row(&OWNER_AT, params![path], "task_environments", |fields| fields.parse())
}

/// Sets whether an environment can be worked in.
pub fn set_status(
    tx: &mut Tx<'_>,
    id: &EnvironmentId,
    status: EnvironmentStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_STATUS, params![status.as_str(), now, id.as_str()], "environment", id.as_str())
}

/// Records that an environment is at another place from now on.
pub fn set_place(
    tx: &mut Tx<'_>,
    id: &EnvironmentId,
    workspace_path: &str,
    task_dir_name: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let values = params![workspace_path, task_dir_name, now, id.as_str()];
    tx.change(&SET_PLACE, values, "environment", id.as_str())
}

/// Records that a repository's worktree was given back.
pub fn mark_repo_deleted(tx: &mut Tx<'_>, id: &EnvironmentRepoId, now: Timestamp) -> Result<(), StoreError> {
    let values = params![now, now, id.as_str()];
    tx.change(&MARK_REPO_DELETED, values, "environment repository", id.as_str())
}

/// A worktree that is back on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevivedRepo {
    /// The row that recorded it before.
    pub id: EnvironmentRepoId,
    /// Where it is now.
    pub worktree_path: String,
    /// Its branch now.
    pub worktree_branch: String,
    /// What proves its identity from now on.
    pub origin: WorktreeOrigin,
}

/// Opens a closed task again, with the environment it had: the given worktrees are its own again.
///
/// Fails with [`StoreError::Barrier`] while a cleanup job holds the task.
pub fn revive(
    tx: &mut Tx<'_>,
    task: &TaskId,
    repos: &[RevivedRepo],
    now: Timestamp,
) -> Result<(), StoreError> {
    task::lock(tx, task)?;
    if let Some(job) = cleanup::barrier_of(tx, task)? {
        return Err(StoreError::Barrier { task_id: job.task_id, job_id: job.id, trigger: job.trigger });
    }
    for repo in repos {
        let values = params![&repo.worktree_path, &repo.worktree_branch, now, repo.id.as_str()];
        tx.change(&REVIVE_REPO, values, "environment repository", repo.id.as_str())?;
        tx.execute(&DELETE_ORIGIN, params![repo.id.as_str()])?;
        tx.execute(&INSERT_ORIGIN, &origin_values(&repo.id, &repo.origin))?;
    }
    if let Some(environment) = find_by_task(tx, task)? {
        set_status(tx, &environment.id, EnvironmentStatus::Ready, now)?;
    }
    task::reopen(tx, task, now)
}

/// Deletes an environment with its repositories and unlinks its task's sessions; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &EnvironmentId) -> Result<bool, StoreError> {
    tx.execute(&UNLINK_SESSIONS, params![id.as_str()])?;
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

/// Deletes the environment of a task when all of its worktrees were given back, so that the next start makes a new
/// one; false when it has none, or has or never had a worktree of its own.
pub fn delete_if_given_back(tx: &mut Tx<'_>, task: &TaskId) -> Result<bool, StoreError> {
    let Some(environment) = find_by_task(tx, task)? else { return Ok(false) };
    let repos = repos_of(tx, &environment.id)?;
    let owned = || repos.iter().filter(|repo| repo.worktree_id.is_some());
    if owned().next().is_none() || owned().any(|repo| repo.status != EnvironmentRepoStatus::Deleted) {
        return Ok(false);
    }
    delete(tx, &environment.id)
}

fn read(fields: &mut Fields<'_>) -> Result<TaskEnvironment, StoreError> {
    Ok(TaskEnvironment {
        id: fields.parse()?,
        task_id: fields.parse()?,
        executor_type: fields.text()?,
        executor_id: fields.optional()?,
        status: EnvironmentStatus::read(&fields.text()?),
        workspace_path: fields.text()?,
        task_dir_name: fields.text()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}

fn read_repo(fields: &mut Fields<'_>) -> Result<EnvironmentRepo, StoreError> {
    let repo = EnvironmentRepo {
        id: fields.parse()?,
        environment_id: fields.parse()?,
        repository_id: fields.optional()?.unwrap_or_else(RepositoryId::unnamed),
        branch_slug: fields.text()?,
        worktree_id: fields.optional()?,
        worktree_path: fields.text()?,
        worktree_branch: fields.text()?,
        position: fields.int()?,
        error_message: fields.text()?,
        status: EnvironmentRepoStatus::read(&fields.text()?),
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
        merged_at: fields.optional_instant()?,
        deleted_at: fields.optional_instant()?,
        origin: read_origin(fields)?,
    };
    // Whatever its status says, such a row owns nothing: another may own the worktree by now.
    let status = if repo.deleted_at.is_some() { EnvironmentRepoStatus::Deleted } else { repo.status };
    Ok(EnvironmentRepo { status, ..repo })
}

fn read_origin(fields: &mut Fields<'_>) -> Result<Option<WorktreeOrigin>, StoreError> {
    fields.begin("task_environment_repo_origins");
    if fields.optional::<EnvironmentRepoId>()?.is_none() {
        return Ok(None);
    }
    Ok(Some(WorktreeOrigin {
        base_branch: fields.text()?,
        base_commit: fields.text()?,
        registration: fields.text()?,
        device: fields.bits()?,
        inode: fields.bits()?,
        branch_made: fields.flag()?,
        warning: fields.text()?,
    }))
}

/// A worktree that lost the row that owned it, as an upgrade recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnownedWorktree {
    /// The worktree's own id; a text, as it need not be one that Freehold would make.
    pub worktree_id: String,
    /// Where it is, as far as it is known.
    pub path: String,
    /// Its branch, as far as it is known.
    pub branch: String,
    /// Why it has no owner; `superseded` for an old place of a worktree that has one.
    pub reason: String,
}

/// Lists the worktrees without an owner, by path.
pub fn unowned(tx: &mut Tx<'_>) -> Result<Vec<UnownedWorktree>, StoreError> {
    tx.rows(&UNOWNED, params![], "unowned_worktrees", |fields| {
        fields.text()?;
        Ok(UnownedWorktree {
            worktree_id: fields.text()?,
            path: fields.text()?,
            branch: fields.text()?,
            reason: fields.text()?,
        })
    })
}
