//! The swap of the two ownership tables: shadow tables beside the old ones, filled, linked and checked, and
//! only then put in their place.

use std::collections::BTreeMap;

use freehold_domain::clock::Timestamp;

use super::catalog::Catalog;
use super::election::{Outcome, OwnedRepo, OwnedWorkspace};
use super::evidence::{Evidence, optional_timestamp, timestamp};
use super::{boundary, derived_id, validate};
use crate::schema::script::Script;
use crate::statement::statements;
use crate::value::{Value, params};
use crate::{StoreError, Tx};

/// The ownership tables, the one that is referred to first.
const TABLES: [&str; 2] = ["task_environments", "task_environment_repos"];

/// What a shadow table's name adds.
const SHADOW: &str = "_shadow";

statements! {
    LINK = "UPDATE task_sessions SET task_environment_id = $1 WHERE id = $2";
    // In one statement: PostgreSQL checks the reference to the task when a row is changed a second time.
    LINK_AND_END =
        "UPDATE task_sessions SET task_environment_id = $1, \
         error_message = CASE WHEN state IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN error_message \
         ELSE 'the task it belonged to is gone' END, \
         state = CASE WHEN state IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN state ELSE 'CANCELLED' END \
         WHERE id = $2";
    INSERT_UNOWNED =
        "INSERT INTO unowned_worktrees (id, worktree_id, repository_id, worktree_path, worktree_branch, reason, \
         source_table, source_id, task_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (id) DO NOTHING";
}

/// Puts the outcome of an election in the place of the tables it was read from.
pub(super) fn swap(
    tx: &mut Tx<'_>,
    script: &Script,
    catalog: &Catalog,
    evidence: &Evidence,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    boundary("upgrade.create_shadow")?;
    for table in TABLES {
        if let Some(table) = script.table(table) {
            tx.script(&shadow(&table.sql))?;
        }
    }
    boundary("upgrade.copy")?;
    copy(tx, outcome.workspaces.iter().filter(|workspace| !workspace.is_new))?;
    boundary("upgrade.backfill")?;
    copy(tx, outcome.workspaces.iter().filter(|workspace| workspace.is_new))?;
    record_unowned(tx, outcome, now)?;
    boundary("upgrade.link")?;
    link(tx, evidence, &outcome.links)?;
    boundary("upgrade.validate")?;
    validate::before_swap(tx, evidence, outcome)?;
    boundary("upgrade.before_swap")?;
    let references: Vec<Reference<'_>> = references(script, catalog).collect();
    for Reference { table, column, .. } in &references {
        tx.script(&format!("/*pg ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_{column}_fkey*/"))?;
    }
    for table in ["task_session_worktrees", "task_environment_repos", "task_environments"] {
        boundary(&format!("upgrade.drop.{table}"))?;
        if catalog.has_table(table) {
            tx.script(&format!("DROP TABLE {table}"))?;
        }
    }
    for table in TABLES {
        boundary(&format!("upgrade.rename.{table}"))?;
        tx.script(&format!("ALTER TABLE {table}{SHADOW} RENAME TO {table}"))?;
    }
    name_as_final(tx)?;
    for index in script.indexes.iter().filter(|index| TABLES.contains(&index.table.as_str())) {
        tx.script(&index.sql)?;
    }
    for Reference { table, column, target } in &references {
        let orphans = format!("DELETE FROM {table} WHERE {column} NOT IN (SELECT id FROM {target})");
        tx.execute_text(&orphans, &[])?;
        tx.script(&format!(
            "/*pg ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fkey \
             FOREIGN KEY ({column}) REFERENCES {target} (id) ON DELETE CASCADE*/"
        ))?;
    }
    boundary("upgrade.after_swap")?;
    Ok(())
}

/// A reference of another table to an ownership table; it holds neither while that is swapped nor, on PostgreSQL,
/// lets it be dropped.
struct Reference<'a> {
    table: &'a str,
    column: &'a str,
    target: &'static str,
}

/// The references of the tables that the database has already; the others are made after the swap.
fn references<'a>(script: &'a Script, catalog: &'a Catalog) -> impl Iterator<Item = Reference<'a>> {
    let others = script.tables.iter().filter(|table| !TABLES.contains(&table.name.as_str()));
    others.filter(|table| catalog.has_table(&table.name)).flat_map(|table| {
        table.columns.iter().filter_map(|column| {
            let refers = |target: &&str| column.definition.contains(&format!("REFERENCES {target} ("));
            let target = TABLES.into_iter().find(refers)?;
            Some(Reference { table: &table.name, column: &column.name, target })
        })
    })
}

/// The statement that makes a table's shadow, which refers to shadows too.
fn shadow(sql: &str) -> String {
    TABLES.iter().fold(sql.to_owned(), |sql, table| sql.replace(table, &format!("{table}{SHADOW}")))
}

fn copy<'o>(tx: &mut Tx<'_>, workspaces: impl Iterator<Item = &'o OwnedWorkspace>) -> Result<(), StoreError> {
    for workspace in workspaces {
        insert_environment(tx, workspace)?;
        for repo in &workspace.repos {
            insert_repo(tx, repo)?;
        }
    }
    Ok(())
}

fn insert_environment(tx: &mut Tx<'_>, workspace: &OwnedWorkspace) -> Result<(), StoreError> {
    let row = &workspace.environment;
    let values = params![
        &row.id,
        &row.task,
        &row.executor_type,
        &row.executor,
        &row.executor_profile,
        row.control_port,
        &row.status,
        &row.workspace_path,
        &row.container,
        &row.sandbox,
        &row.task_dir_name,
        timestamp(row.created),
        timestamp(row.updated),
    ];
    tx.execute_text(
        "INSERT INTO task_environments_shadow (id, task_id, executor_type, executor_id, executor_profile_id, \
         control_port, status, workspace_path, container_id, sandbox_id, task_dir_name, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        values,
    )
    .map(drop)
}

fn insert_repo(tx: &mut Tx<'_>, repo: &OwnedRepo) -> Result<(), StoreError> {
    let row = &repo.row;
    let values = params![
        &row.id,
        &row.environment,
        &row.repository,
        &row.slug,
        &row.place.worktree,
        &row.place.path,
        &row.place.branch,
        row.position,
        &row.error_message,
        &row.life.status,
        timestamp(row.life.created),
        timestamp(row.life.updated),
        optional_timestamp(row.life.merged),
        optional_timestamp(row.life.deleted),
    ];
    tx.execute_text(
        "INSERT INTO task_environment_repos_shadow (id, task_environment_id, repository_id, branch_slug, \
         worktree_id, worktree_path, worktree_branch, position, error_message, status, created_at, updated_at, \
         merged_at, deleted_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        values,
    )
    .map(drop)
}

fn record_unowned(tx: &mut Tx<'_>, outcome: &Outcome, now: Timestamp) -> Result<(), StoreError> {
    let rows: Vec<Vec<Value<'_>>> = outcome
        .unowned
        .iter()
        .map(|record| {
            let reason = record.reason.as_str();
            params![
                derived_id(&["unowned", reason, record.source.table, &record.source.id]),
                &record.place.worktree,
                &record.repository,
                &record.place.path,
                &record.place.branch,
                reason,
                record.source.table,
                &record.source.id,
                &record.task,
                now,
            ]
            .to_vec()
        })
        .collect();
    rows.iter().try_for_each(|row| tx.execute(&INSERT_UNOWNED, row).map(drop))
}

/// Links every session to its environment, and ends those whose task is gone.
fn link(tx: &mut Tx<'_>, evidence: &Evidence, links: &BTreeMap<String, String>) -> Result<(), StoreError> {
    for session in &evidence.sessions {
        let environment = links.get(&session.id).unwrap_or(&session.environment);
        if !evidence.tasks.contains_key(&session.task) {
            tx.execute(&LINK_AND_END, params![environment, &session.id])?;
        } else if *environment != session.environment {
            tx.execute(&LINK, params![environment, &session.id])?;
        }
    }
    Ok(())
}

/// Gives the parts of the swapped tables the names that a fresh database has; SQLite names none of them.
fn name_as_final(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let names = tx.rows_of_text(
        "/*sqlite SELECT '', '' WHERE 1 = 0*/\
         /*pg SELECT con.conname::text, rel.relname::text \
         FROM pg_constraint con JOIN pg_class rel ON rel.oid = con.conrelid \
         WHERE rel.relnamespace = current_schema()::regnamespace AND con.conname LIKE '%\\_shadow%'*/",
        &[],
        "",
        |fields| Ok((fields.text()?, fields.text()?)),
    )?;
    for (name, table) in names {
        // A number was added where the tables before were made through shadows too, and kept their names.
        let name_as_fresh = name.replace(SHADOW, "");
        let name_as_fresh = name_as_fresh.trim_end_matches(|character: char| character.is_ascii_digit());
        tx.script(&format!("ALTER TABLE {table} RENAME CONSTRAINT {name} TO {name_as_fresh}"))?;
    }
    Ok(())
}
