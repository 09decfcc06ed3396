//! The proofs that an upgrade must pass inside its own transaction. Each looks at what is stored, not at what
//! was meant to be stored.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::Catalog;
use super::election::{Outcome, Reason};
use super::evidence::{Evidence, Place, Session};
use crate::schema::script::Script;
use crate::{StoreError, Tx};

/// Tables whose number of rows the upgrade changes on purpose.
const REWRITTEN: [&str; 9] = [
    "task_environments",
    "task_environment_repos",
    "task_environment_repo_origins",
    "task_session_worktrees",
    "task_resource_cleanup_jobs",
    "unowned_worktrees",
    "upgrade_decisions",
    "freehold_meta",
    "event_sequence",
];

/// Tables that may only gain rows, because the upgrade makes a board where there is none.
const GROWING: [&str; 3] = ["workspaces", "workflows", "workflow_steps"];

fn failed(what: impl Into<String>) -> StoreError {
    StoreError::UpgradeCheck { what: what.into() }
}

/// Compares the shadow tables with the evidence: every worktree is still there, each has one owner at most, and
/// every session that used one finds a workspace.
pub(super) fn before_swap(tx: &mut Tx<'_>, evidence: &Evidence, outcome: &Outcome) -> Result<(), StoreError> {
    let environments = texts(tx, "SELECT id, task_id FROM task_environments_shadow")?;
    if environments.len() != outcome.workspaces.len() {
        return Err(failed(format!("{} environments were stored", environments.len())));
    }
    let tasks: BTreeSet<&str> = environments.iter().map(|[_, task]| task.as_str()).collect();
    if tasks.len() != environments.len() {
        return Err(failed("a task has two environments"));
    }
    if let Some(task) = tasks.iter().find(|task| !evidence.tasks.contains_key(**task)) {
        return Err(failed(format!("an environment belongs to the missing task {task}")));
    }
    let ids: BTreeSet<&str> = environments.iter().map(|[id, _]| id.as_str()).collect();
    check_inventory(tx, evidence, &ids)?;
    let rows = tx.rows_of_text(
        "SELECT id, task_environment_id FROM task_sessions ORDER BY id",
        &[],
        "task_sessions",
        |fields| Ok((fields.text()?, fields.text()?)),
    )?;
    let links: BTreeMap<String, String> = rows.into_iter().collect();
    let sessions: BTreeMap<&str, &Session> =
        evidence.sessions.iter().map(|session| (session.id.as_str(), session)).collect();
    for row in evidence.session_worktrees.iter().filter(|row| !row.place.worktree.is_empty()) {
        let session = sessions.get(row.session.as_str()).copied();
        let Some(session) = session.filter(|session| evidence.tasks.contains_key(&session.task)) else {
            continue;
        };
        let link = links.get(&session.id).map_or("", String::as_str);
        if !ids.contains(link) {
            return Err(failed(format!(
                "session {} has no workspace for worktree {}",
                session.id, row.place.worktree
            )));
        }
    }
    Ok(())
}

/// The worktrees before and after, each with its path and branch.
fn check_inventory(
    tx: &mut Tx<'_>,
    evidence: &Evidence,
    environments: &BTreeSet<&str>,
) -> Result<(), StoreError> {
    let before = mentioned(evidence);
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    let repos = texts(
        tx,
        "SELECT task_environment_id, worktree_id, worktree_path, worktree_branch, status, \
         CASE WHEN deleted_at IS NULL THEN '' ELSE 'deleted' END FROM task_environment_repos_shadow",
    )?;
    for [environment, worktree, path, branch, status, deleted] in repos {
        if !environments.contains(environment.as_str()) {
            return Err(failed(format!(
                "worktree {worktree} belongs to the missing environment {environment}"
            )));
        }
        if worktree.is_empty() {
            continue;
        }
        let owners = kept.entry(worktree.clone()).or_default();
        *owners += usize::from(status != "deleted" && deleted.is_empty());
        if *owners > 1 {
            return Err(failed(format!("worktree {worktree} has two owners")));
        }
        let known = before.get(worktree.as_str()).map(Vec::as_slice).unwrap_or_default();
        let is_known = |text: &str, of: fn(&Place) -> &String| {
            text.is_empty() || known.iter().any(|place| of(place) == text)
        };
        if !is_known(&path, |place| &place.path) || !is_known(&branch, |place| &place.branch) {
            return Err(failed(format!(
                "worktree {worktree} was stored with {path} {branch}, which no row held"
            )));
        }
    }
    let unowned =
        texts(tx, "SELECT worktree_id, worktree_path, worktree_branch, reason FROM unowned_worktrees")?;
    let mut recorded: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for [worktree, path, branch, reason] in &unowned {
        if reason != Reason::Superseded.as_str() {
            *recorded.entry((worktree, path, branch)).or_default() += 1;
        }
    }
    let is_lost = |worktree: &str| !kept.contains_key(worktree);
    let lost = before.iter().filter(|(worktree, _)| is_lost(worktree));
    for (worktree, places) in lost {
        for place in places {
            // Each row that named it has a record of its own.
            let records = recorded.entry((worktree, &place.path, &place.branch)).or_default();
            *records = records.checked_sub(1).ok_or_else(|| {
                failed(format!("worktree {worktree} at {} is neither owned nor recorded", place.path))
            })?;
        }
    }
    Ok(())
}

/// Every place that a row names, by worktree.
fn mentioned(evidence: &Evidence) -> BTreeMap<&str, Vec<&Place>> {
    let flat = evidence.environments.iter().map(|row| &row.place);
    let repos = evidence.repos.iter().map(|row| &row.place);
    let sessions = evidence.session_worktrees.iter().map(|row| &row.place);
    let mut mentioned: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in flat.chain(repos).chain(sessions).filter(|place| !place.worktree.is_empty()) {
        mentioned.entry(&place.worktree).or_default().push(place);
    }
    mentioned
}

/// How many rows each table has.
pub(super) type Counts = BTreeMap<String, i64>;

/// Counts the rows of every table.
pub(super) fn count_rows(tx: &mut Tx<'_>, catalog: &Catalog) -> Result<Counts, StoreError> {
    let mut counts = Counts::new();
    for table in catalog.tables() {
        let count =
            tx.rows_of_text(&format!("SELECT COUNT(*) FROM \"{table}\""), &[], "", |fields| fields.int())?;
        counts.insert(table.to_owned(), count.first().copied().unwrap_or_default());
    }
    Ok(counts)
}

/// Compares the finished database with the schema and with the numbers of rows before.
pub(super) fn at_the_end(tx: &mut Tx<'_>, script: &Script, before: &Counts) -> Result<(), StoreError> {
    let catalog = Catalog::read(tx)?;
    for table in &script.tables {
        for column in &table.columns {
            if !catalog.has_column(&table.name, &column.name) {
                return Err(failed(format!("column {}.{} is missing", table.name, column.name)));
            }
        }
    }
    for name in ["task_environments", "task_environment_repos"] {
        let columns = script.table(name).map_or(0, |table| table.columns.len());
        if catalog.columns(name).count() != columns {
            return Err(failed(format!("table {name} has other columns than {columns}")));
        }
    }
    if let Some(index) = script.indexes.iter().find(|index| !catalog.has_index(&index.name)) {
        return Err(failed(format!("index {} is missing", index.name)));
    }
    let is_left_over = |table: &&str| *table == "task_session_worktrees" || table.ends_with("_shadow");
    if let Some(table) = catalog.tables().find(is_left_over) {
        return Err(failed(format!("table {table} is left over")));
    }
    let after = count_rows(tx, &catalog)?;
    for (table, rows) in before {
        let now = after.get(table).copied().unwrap_or(-1);
        let is_right = match () {
            () if REWRITTEN.contains(&table.as_str()) => true,
            () if GROWING.contains(&table.as_str()) => now >= *rows,
            () => now == *rows,
        };
        // The full-text tables of SQLite count what their own triggers keep.
        if !is_right && !table.contains("_fts") {
            return Err(failed(format!("table {table} had {rows} rows and has {now}")));
        }
    }
    check_references(tx)
}

/// Every reference of the ownership tables leads somewhere.
fn check_references(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for (table, column, target) in [
        ("task_environments", "task_id", "tasks"),
        ("task_environment_repos", "task_environment_id", "task_environments"),
        ("task_environment_repo_origins", "environment_repo_id", "task_environment_repos"),
    ] {
        let sql = format!(
            "SELECT COUNT(*) FROM {table} a WHERE NOT EXISTS (SELECT 1 FROM {target} b WHERE b.id = a.{column})"
        );
        let dangling = tx.rows_of_text(&sql, &[], "", |fields| fields.int())?;
        if dangling.first().is_some_and(|count| *count > 0) {
            return Err(failed(format!("a row of {table} refers to a missing row of {target}")));
        }
    }
    let links = "SELECT s.id FROM task_sessions s WHERE COALESCE(s.task_environment_id, '') <> '' \
                 AND NOT EXISTS (SELECT 1 FROM task_environments e WHERE e.id = s.task_environment_id)";
    match tx.rows_of_text(links, &[], "task_sessions", |fields| fields.text())?.first() {
        Some(session) => Err(failed(format!("session {session} refers to a missing environment"))),
        None => Ok(()),
    }
}

fn texts<const N: usize>(tx: &mut Tx<'_>, sql: &str) -> Result<Vec<[String; N]>, StoreError> {
    tx.rows_of_text(sql, &[], "", |fields| {
        let mut texts = std::array::from_fn(|_| String::new());
        for text in &mut texts {
            *text = fields.text()?;
        }
        Ok(texts)
    })
}
