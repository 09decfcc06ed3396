//! What a database says about who owns which worktree: every row that claims one, read as it is.
//!
//! Columns are read by name and only where they exist, because their order and number differ between the
//! databases that people have. NULL reads as an empty text or 0, and a time that cannot be read as none, which
//! is older than every other; neither ever stops an upgrade.

use std::collections::BTreeMap;

use freehold_domain::clock::Timestamp;

use super::catalog::{Catalog, Column};
use crate::row::Fields;
use crate::{StoreError, Tx};

/// An instant with nanoseconds, the finest that such databases hold; none when it was absent or unreadable.
pub(super) type Moment = Option<i128>;

/// Everything that decides ownership.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// Titles by task id.
    pub(super) tasks: BTreeMap<String, String>,
    pub(super) environments: Vec<Environment>,
    pub(super) repos: Vec<Repo>,
    pub(super) session_worktrees: Vec<SessionWorktree>,
    pub(super) sessions: Vec<Session>,
    /// Kinds by executor id.
    pub(super) executors: BTreeMap<String, String>,
}

/// A row of `task_environments`, with the flat columns of old ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Environment {
    pub(super) id: String,
    pub(super) task: String,
    pub(super) executor_type: String,
    pub(super) executor: String,
    pub(super) executor_profile: String,
    pub(super) control_port: i64,
    pub(super) status: String,
    pub(super) workspace_path: String,
    pub(super) container: String,
    pub(super) sandbox: String,
    pub(super) task_dir_name: String,
    pub(super) repository: String,
    pub(super) place: Place,
    pub(super) created: Moment,
    pub(super) updated: Moment,
}

/// A row of `task_environment_repos`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Repo {
    pub(super) id: String,
    pub(super) environment: String,
    pub(super) repository: String,
    pub(super) slug: String,
    pub(super) place: Place,
    pub(super) position: i64,
    pub(super) error_message: String,
    pub(super) life: Life,
}

/// A row of `task_session_worktrees`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SessionWorktree {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) repository: String,
    pub(super) slug: String,
    pub(super) place: Place,
    pub(super) position: i64,
    pub(super) life: Life,
}

/// A physical worktree as a row knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) worktree: String,
    pub(super) path: String,
    pub(super) branch: String,
}

/// Status and times of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) status: String,
    pub(super) created: Moment,
    pub(super) updated: Moment,
    pub(super) merged: Moment,
    pub(super) deleted: Moment,
}

impl Life {
    pub(super) fn is_deleted(&self) -> bool {
        self.status == "deleted" || self.deleted.is_some()
    }

    pub(super) fn is_merged(&self) -> bool {
        self.status == "merged" || self.merged.is_some()
    }
}

/// A row of `task_sessions`, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) task: String,
    pub(super) environment: String,
    pub(super) state: String,
    pub(super) executor: String,
    pub(super) executor_profile: String,
    pub(super) started: Moment,
    pub(super) updated: Moment,
}

impl Session {
    /// Every state but the three final ones is live, also one that no release ever wrote.
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.state.as_str(), "COMPLETED" | "FAILED" | "CANCELLED")
    }
}

/// Reads everything that decides ownership.
pub(super) fn read(tx: &mut Tx<'_>, catalog: &Catalog) -> Result<Evidence, StoreError> {
    let mut evidence = Evidence::default();
    if catalog.has_table("tasks") {
        evidence.tasks = pairs(tx, catalog, "tasks", "title")?;
    }
    if catalog.has_table("executors") {
        evidence.executors = pairs(tx, catalog, "executors", "type")?;
    }
    evidence.environments = rows(tx, catalog, "task_environments", ENVIRONMENT, |fields| {
        Ok(Environment {
            id: fields.text()?,
            task: fields.text()?,
            executor_type: fields.text()?,
            executor: fields.text()?,
            executor_profile: fields.text()?,
            control_port: fields.int()?,
            status: fields.text()?,
            workspace_path: fields.text()?,
            container: fields.text()?,
            sandbox: fields.text()?,
            task_dir_name: fields.text()?,
            repository: fields.text()?,
            place: place(fields)?,
            created: fields.moment()?,
            updated: fields.moment()?,
        })
    })?;
    evidence.repos = rows(tx, catalog, "task_environment_repos", REPO, |fields| {
        Ok(Repo {
            id: fields.text()?,
            environment: fields.text()?,
            repository: fields.text()?,
            slug: fields.text()?,
            place: place(fields)?,
            position: fields.int()?,
            error_message: fields.text()?,
            life: life(fields)?,
        })
    })?;
    evidence.session_worktrees = rows(tx, catalog, "task_session_worktrees", SESSION_WORKTREE, |fields| {
        Ok(SessionWorktree {
            id: fields.text()?,
            session: fields.text()?,
            repository: fields.text()?,
            slug: fields.text()?,
            place: place(fields)?,
            position: fields.int()?,
            life: life(fields)?,
        })
    })?;
    evidence.sessions = rows(tx, catalog, "task_sessions", SESSION, |fields| {
        Ok(Session {
            id: fields.text()?,
            task: fields.text()?,
            environment: fields.text()?,
            state: fields.text()?,
            executor: fields.text()?,
            executor_profile: fields.text()?,
            started: fields.moment()?,
            updated: fields.moment()?,
        })
    })?;
    Ok(evidence)
}

/// The columns of a [`Place`].
const PLACE: &[Column] =
    &[Column::text("worktree_id"), Column::text("worktree_path"), Column::text("worktree_branch")];

const TIMES: &[Column] = &[Column::instant("created_at"), Column::instant("updated_at")];

/// The columns of a [`Life`], with those of [`TIMES`] after the status.
const STATUS: &[Column] = &[Column::text("status")];
const ENDS: &[Column] = &[Column::instant("merged_at"), Column::instant("deleted_at")];

const ENVIRONMENT: &[&[Column]] = &[
    &[
        Column::text("id"),
        Column::text("task_id"),
        Column::text("executor_type"),
        Column::text("executor_id"),
        Column::text("executor_profile_id"),
        Column::int("control_port"),
        Column::text("status"),
        Column::text("workspace_path"),
        Column::text("container_id"),
        Column::text("sandbox_id"),
        Column::text("task_dir_name"),
        Column::text("repository_id"),
    ],
    PLACE,
    TIMES,
];

/// What a row of a repository has beside its id and its owner.
const SLOT: &[Column] = &[Column::text("repository_id"), Column::text("branch_slug")];

const REPO: &[&[Column]] = &[
    &[Column::text("id"), Column::text("task_environment_id")],
    SLOT,
    PLACE,
    &[Column::int("position"), Column::text("error_message")],
    STATUS,
    TIMES,
    ENDS,
];

const SESSION_WORKTREE: &[&[Column]] = &[
    &[Column::text("id"), Column::text("session_id")],
    SLOT,
    PLACE,
    &[Column::int("position")],
    STATUS,
    TIMES,
    ENDS,
];

const SESSION: &[&[Column]] = &[&[
    Column::text("id"),
    Column::text("task_id"),
    Column::text("task_environment_id"),
    Column::text("state"),
    Column::text("executor_id"),
    Column::text("executor_profile_id"),
    Column::instant("started_at"),
    Column::instant("updated_at"),
]];

fn place(fields: &mut Fields<'_>) -> Result<Place, StoreError> {
    Ok(Place { worktree: fields.text()?, path: fields.text()?, branch: fields.text()? })
}

fn life(fields: &mut Fields<'_>) -> Result<Life, StoreError> {
    Ok(Life {
        status: fields.text()?,
        created: fields.moment()?,
        updated: fields.moment()?,
        merged: fields.moment()?,
        deleted: fields.moment()?,
    })
}

fn rows<T>(
    tx: &mut Tx<'_>,
    catalog: &Catalog,
    table: &'static str,
    columns: &[&[Column]],
    read: impl FnMut(&mut Fields<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    if !catalog.has_table(table) {
        return Ok(Vec::new());
    }
    tx.rows_of_text(&catalog.select(table, &columns.concat()), &[], table, read)
}

fn pairs(
    tx: &mut Tx<'_>,
    catalog: &Catalog,
    table: &'static str,
    column: &'static str,
) -> Result<BTreeMap<String, String>, StoreError> {
    let columns = [&[Column::text("id"), Column::text(column)][..]];
    let pairs = rows(tx, catalog, table, &columns, |fields| Ok((fields.text()?, fields.text()?)))?;
    Ok(pairs.into_iter().collect())
}

/// The instant of a moment, with the microseconds that Freehold keeps; the epoch when there is none.
pub(super) fn timestamp(moment: Moment) -> Timestamp {
    optional_timestamp(moment).unwrap_or(Timestamp::from_micros(0))
}

/// As [`timestamp`]; none stays none.
pub(super) fn optional_timestamp(moment: Moment) -> Option<Timestamp> {
    let micros = moment?.div_euclid(1_000);
    Some(Timestamp::from_micros(i64::try_from(micros).unwrap_or(0)))
}
