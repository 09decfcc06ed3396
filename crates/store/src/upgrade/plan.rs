//! What an upgrade would do, told before it does anything.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::catalog::Catalog;
use super::conflict::{Conflict, Resolutions, plain};
use super::election::Outcome;
use super::evidence::Evidence;
use super::shape::{self, Shape};
use crate::dialect::{Database, Mode};
use crate::transaction::run_on;
use crate::{DatabaseUrl, StoreError, Tx};

/// What an upgrade does, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The database, without its password.
    pub database: String,
    /// What was found.
    pub shape: Shape,
    /// Tasks in the database.
    pub tasks: usize,
    /// Sessions in the database.
    pub sessions: usize,
    /// Environments that stay.
    pub environments_kept: usize,
    /// Environments that are made, for tasks that had sessions only.
    pub environments_made: usize,
    /// Environments of tasks that had more than one, or none any more; what they held is not lost.
    pub environments_collapsed: usize,
    /// Worktrees that have one owner afterwards.
    pub worktrees_owned: usize,
    /// Worktrees that are recorded without an owner; nothing on disk is touched.
    pub unowned: Vec<PlannedUnowned>,
    /// Sessions that are linked to another environment than before.
    pub sessions_linked: usize,
    /// Cleanup jobs of a preview version, which are removed.
    pub jobs_removed: i64,
    /// Cleanup jobs that are kept as they are.
    pub jobs_kept: i64,
    /// What a person must decide first.
    pub conflicts: Vec<Conflict>,
}

/// A worktree that is recorded without an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedUnowned {
    /// The worktree.
    pub worktree_id: String,
    /// Why: `demoted`, `collapsed_environment`, `missing_task`, `missing_environment`, `missing_session`,
    /// `deleted`, or `superseded` for old data of a worktree that keeps its owner.
    pub reason: String,
    /// Where it is, as far as it is known.
    pub path: String,
    /// Its branch, as far as it is known.
    pub branch: String,
    /// The task it belonged to; empty when there was none.
    pub task_id: String,
    /// The table and id of the row that named it.
    pub row: String,
}

/// Shows what [`super::initialise`] would do with a database; blocking, and writes nothing.
pub fn plan(url: &DatabaseUrl, resolutions: &Resolutions) -> Result<Plan, StoreError> {
    crate::store::apart(url, || {
        let database = Arc::new(Database::new(url)?);
        of(&database, url, resolutions)
    })
}

/// As [`plan`], on this thread.
pub(super) fn of(
    database: &Arc<Database>,
    url: &DatabaseUrl,
    resolutions: &Resolutions,
) -> Result<Plan, StoreError> {
    leave_nothing_beside(database, url, || inspect(database, url, resolutions))
}

/// Reads an SQLite database and leaves no file beside it that was not there.
pub(super) fn leave_nothing_beside<T>(database: &Database, url: &DatabaseUrl, read: impl FnOnce() -> T) -> T {
    let had_journal = has_journal(url);
    let outcome = read();
    if !had_journal && has_journal(url) {
        // Reading made files beside the database; only a connection that may write removes them as it closes.
        // Where none can be opened they stay, and hold nothing.
        drop(database.connect(Mode::Write));
    }
    outcome
}

/// Whether the write-ahead log of an SQLite database is there, as it is while somebody works with it.
fn has_journal(url: &DatabaseUrl) -> bool {
    let DatabaseUrl::Sqlite(path) = url else { return false };
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    Path::new(&journal).exists()
}

fn inspect(
    database: &Arc<Database>,
    url: &DatabaseUrl,
    resolutions: &Resolutions,
) -> Result<Plan, StoreError> {
    let Some(mut connection) = database.connect_to_inspect()? else {
        return Ok(empty(url, Shape::Fresh));
    };
    connection.script(WAIT)?;
    run_on(&mut connection, Mode::Read, |tx| within(tx, url, resolutions))
}

/// Waits for a server that upgrades, and lets none begin before the connection ends; tables would change between
/// two looks. Not inside the transaction, whose view of the database would be from before the wait.
const WAIT: &str = "/*pg SELECT pg_advisory_lock_shared(7363217450)*/";

/// As [`plan`], in a transaction.
pub(super) fn within(
    tx: &mut Tx<'_>,
    url: &DatabaseUrl,
    resolutions: &Resolutions,
) -> Result<Plan, StoreError> {
    let catalog = Catalog::read(tx)?;
    let shape = shape::detect(tx, url, &catalog)?;
    if shape.is_usable() {
        return Ok(empty(url, shape));
    }
    let (evidence, outcome) = super::elect(tx, &catalog, shape, resolutions)?;
    resolutions.check(&outcome.asked)?;
    describe(tx, url, &catalog, shape, &evidence, &outcome)
}

fn empty(url: &DatabaseUrl, shape: Shape) -> Plan {
    Plan {
        database: url.to_string(),
        shape,
        tasks: 0,
        sessions: 0,
        environments_kept: 0,
        environments_made: 0,
        environments_collapsed: 0,
        worktrees_owned: 0,
        unowned: Vec::new(),
        sessions_linked: 0,
        jobs_removed: 0,
        jobs_kept: 0,
        conflicts: Vec::new(),
    }
}

/// Puts an outcome into words and numbers.
pub(super) fn describe(
    tx: &mut Tx<'_>,
    url: &DatabaseUrl,
    catalog: &Catalog,
    shape: Shape,
    evidence: &Evidence,
    outcome: &Outcome,
) -> Result<Plan, StoreError> {
    let made = outcome.workspaces.iter().filter(|workspace| workspace.is_new).count();
    let kept = outcome.workspaces.len() - made;
    let repos = outcome.workspaces.iter().flat_map(|workspace| &workspace.repos);
    let owned = repos.filter(|repo| !repo.row.place.worktree.is_empty() && !repo.row.life.is_deleted());
    let is_relinked = |session: &&super::evidence::Session| {
        outcome.links.get(&session.id).is_some_and(|environment| *environment != session.environment)
    };
    let mut unowned: Vec<_> = outcome.unowned.iter().collect();
    unowned.sort_by(|one, other| (one.reason, &one.place).cmp(&(other.reason, &other.place)));
    let unowned = unowned.into_iter().map(|record| PlannedUnowned {
        worktree_id: record.place.worktree.clone(),
        reason: record.reason.as_str().to_owned(),
        path: record.place.path.clone(),
        branch: record.place.branch.clone(),
        task_id: record.task.clone(),
        row: format!("{} {}", record.source.table, record.source.id),
    });
    Ok(Plan {
        tasks: evidence.tasks.len(),
        sessions: evidence.sessions.len(),
        environments_kept: kept,
        environments_made: made,
        environments_collapsed: evidence.environments.len().saturating_sub(kept),
        worktrees_owned: owned.count(),
        unowned: unowned.collect(),
        sessions_linked: evidence.sessions.iter().filter(is_relinked).count(),
        jobs_removed: count_jobs(tx, catalog, "trigger = 'session_delete'")?,
        jobs_kept: count_jobs(tx, catalog, "trigger <> 'session_delete'")?,
        conflicts: outcome.open.clone(),
        ..empty(url, shape)
    })
}

fn count_jobs(tx: &mut Tx<'_>, catalog: &Catalog, condition: &str) -> Result<i64, StoreError> {
    if !catalog.has_table("task_resource_cleanup_jobs") {
        return Ok(0);
    }
    let sql = format!("SELECT COUNT(*) FROM task_resource_cleanup_jobs WHERE {condition}");
    Ok(tx.rows_of_text(&sql, &[], "", |fields| fields.int())?.first().copied().unwrap_or_default())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} is {}.", self.database, self.shape.describe())?;
        if self.shape.is_usable() {
            return writeln!(f, "There is nothing to upgrade.");
        }
        writeln!(f, "  tasks         {:>6}", self.tasks)?;
        writeln!(
            f,
            "  sessions      {:>6}   {} of them linked to another environment",
            self.sessions, self.sessions_linked
        )?;
        writeln!(
            f,
            "  environments  {:>6}   kept; {} made for tasks that had sessions only, {} joined or without a task",
            self.environments_kept, self.environments_made, self.environments_collapsed
        )?;
        writeln!(f, "  worktrees     {:>6}   each with one owner", self.worktrees_owned)?;
        writeln!(
            f,
            "  cleanup jobs  {:>6}   kept as they are, {} of a preview version removed",
            self.jobs_kept, self.jobs_removed
        )?;
        // Several rows may have said the same of a worktree.
        let mut told = BTreeSet::new();
        let mut records: Vec<_> = self.unowned.iter().collect();
        records.retain(|record| {
            told.insert((&record.reason, &record.worktree_id, &record.path, &record.branch))
        });
        if !records.is_empty() {
            writeln!(f, "\nRecorded without an owner, and untouched on disk ({}):", records.len())?;
        }
        for record in records {
            writeln!(
                f,
                "  {reason:<22} {worktree}  {path}  {branch}",
                reason = record.reason,
                worktree = plain(&record.worktree_id),
                path = plain(&record.path),
                branch = plain(&record.branch)
            )?;
        }
        if !self.conflicts.is_empty() {
            writeln!(f, "\nTo be decided by you first ({}):\n", self.conflicts.len())?;
        }
        for conflict in &self.conflicts {
            writeln!(f, "{conflict}")?;
        }
        Ok(())
    }
}
