//! The one-way cutover: any older database becomes Freehold's, completely or not at all.
//!
//! This is the only place that knows the names of the old schema. [`initialise`] is what a server does before
//! anything else: it tells the shape of the database, makes the schema of an empty one, and upgrades an old one
//! in one transaction: evidence is read, owners are elected, shadow tables are filled, checked and swapped in,
//! and the rest of the database is completed. Where two rows contradict each other and no rule decides, it
//! changes nothing and asks ([`Conflict`]). [`plan`] shows all of it and writes nothing.

mod adopt;
pub(crate) mod catalog;
mod conflict;
mod election;
mod evidence;
mod holder;
mod import;
mod plan;
mod shape;
mod snapshot;
pub(crate) mod swap;
mod validate;

use std::path::PathBuf;
use std::sync::Arc;

use freehold_domain::clock::Timestamp;

use crate::dialect::{Connection, Database, Mode};
use crate::schema::script::Script;
use crate::transaction::run_on;
use crate::value::params;
use crate::{DatabaseUrl, Engine, StoreError, Tx, schema};
use catalog::Catalog;
use election::Outcome;
use evidence::Evidence;

pub use conflict::{Conflict, ConflictClaim, ConflictKind, InvalidResolution, Resolutions};
pub use import::{copy_database, find_database};
pub use plan::{Plan, PlannedUnowned, plan};
pub use shape::Shape;

/// Asks for a database that a server can use.
pub struct Initialise<'a> {
    /// Whether an old database may be upgraded; if not, it is refused unchanged.
    pub may_upgrade: bool,
    /// A person's answers to conflicts.
    pub resolutions: Resolutions,
    /// The present instant.
    pub now: Timestamp,
    /// Hears how far it has come.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// How far an initialisation has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// An upgrade begins, and nothing has changed yet.
    Begin {
        /// What was found.
        shape: Shape,
        /// The engine; of PostgreSQL no snapshot is taken.
        engine: Engine,
    },
    /// A snapshot is being written.
    Snapshot,
    /// The snapshot is complete, at this path.
    SnapshotTaken(PathBuf),
    /// The upgrade waits for its turn to write.
    Lock,
    /// The ownership tables are made and swapped in.
    Ownership,
    /// Conversations are numbered, session by session.
    Conversations {
        /// Sessions done.
        done: usize,
        /// Sessions in all.
        of: usize,
    },
    /// Indexes are made.
    Indexes,
    /// Everything is checked and committed.
    Finish,
}

/// What an initialisation did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Initialised {
    /// What was found.
    pub found: Shape,
    /// What the upgrade came to; none when there was nothing to upgrade.
    pub upgrade: Option<Upgraded>,
}

/// What an upgrade came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Upgraded {
    /// The snapshot of the database before; none on PostgreSQL.
    pub snapshot: Option<PathBuf>,
    /// What was done.
    pub plan: Plan,
    /// Rows that were mended so that Freehold can read them, in sentences.
    pub notes: Vec<String>,
    /// Tables with rows that stay as they are and that Freehold does not use, with their number of rows.
    pub unused: Vec<(String, i64)>,
}

/// Makes a database usable, whatever its shape; blocking. Fails without having changed anything.
pub fn initialise(url: &DatabaseUrl, request: &Initialise<'_>) -> Result<Initialised, StoreError> {
    // On a thread of its own: the PostgreSQL client must not be used on a thread of an async runtime.
    crate::store::apart(url, || initialise_here(url, request))
}

fn initialise_here(url: &DatabaseUrl, request: &Initialise<'_>) -> Result<Initialised, StoreError> {
    let database = Arc::new(Database::new(url)?);
    let plan = plan::of(&database, url, &request.resolutions)?;
    let found = plan.shape;
    if found.is_usable() {
        request.resolutions.check(&[])?;
        if found == Shape::Fresh {
            schema::establish(&database, url)?;
        }
        return Ok(Initialised { found, upgrade: None });
    }
    if !request.may_upgrade {
        return Err(StoreError::UpgradeNeeded { url: url.to_string(), plan: Box::new(plan) });
    }
    if !plan.conflicts.is_empty() {
        return Err(StoreError::UpgradeConflicts { url: url.to_string(), conflicts: plan.conflicts });
    }
    (request.progress)(Progress::Begin { shape: found, engine: database.engine() });
    let upgrade = upgrade(&database, url, request)?;
    Ok(Initialised { found, upgrade })
}

/// How often a snapshot is taken again because another program wrote to the database meanwhile.
const SNAPSHOT_ATTEMPTS: usize = 3;

/// Takes the snapshot and upgrades; none when another server did it meanwhile.
fn upgrade(
    database: &Arc<Database>,
    url: &DatabaseUrl,
    request: &Initialise<'_>,
) -> Result<Option<Upgraded>, StoreError> {
    let _kept = holder::keep_out(url)?;
    let mut connection = database.connect_to_upgrade()?;
    for _ in 0..SNAPSHOT_ATTEMPTS {
        let version = connection.data_version()?;
        let snapshot = take_snapshot(&mut connection, url, request)?;
        let path = snapshot.as_ref().map(|snapshot| snapshot.path.clone());
        (request.progress)(Progress::Lock);
        let outcome = run_on(&mut connection, Mode::Write, |tx| {
            schema::keep_others_out(tx)?;
            let catalog = Catalog::read(tx)?;
            let shape = shape::detect(tx, url, &catalog)?;
            if shape.is_usable() {
                return Ok(Attempt::DoneByAnother);
            }
            if tx.data_version()? != version {
                return Ok(Attempt::Changed);
            }
            run(tx, url, request, (&catalog, shape), path.clone()).map(Attempt::Done)
        });
        match outcome {
            Ok(Attempt::Done(upgraded)) => {
                boundary("upgrade.after_commit")?;
                return Ok(Some(*upgraded));
            }
            Ok(Attempt::DoneByAnother) => return Ok(None),
            Ok(Attempt::Changed) => {}
            Err(error) if crate::dialect::is_busy(&error) => {
                let holder = "another program writes to it and does not end".to_owned();
                return Err(StoreError::InUse { url: url.to_string(), holder });
            }
            Err(error) => return Err(error),
        }
    }
    let holder = "another program keeps writing to it".to_owned();
    Err(StoreError::InUse { url: url.to_string(), holder })
}

enum Attempt {
    Done(Box<Upgraded>),
    DoneByAnother,
    Changed,
}

fn take_snapshot(
    connection: &mut Connection,
    url: &DatabaseUrl,
    request: &Initialise<'_>,
) -> Result<Option<snapshot::Snapshot>, StoreError> {
    let DatabaseUrl::Sqlite(path) = url else { return Ok(None) };
    (request.progress)(Progress::Snapshot);
    let snapshot = snapshot::take(path, request.now, |copy| connection.copy_into(copy))?;
    (request.progress)(Progress::SnapshotTaken(snapshot.path.clone()));
    Ok(Some(snapshot))
}

/// Does everything inside the transaction.
fn run(
    tx: &mut Tx<'_>,
    url: &DatabaseUrl,
    request: &Initialise<'_>,
    (catalog, shape): (&Catalog, Shape),
    snapshot: Option<PathBuf>,
) -> Result<Box<Upgraded>, StoreError> {
    let script = Script::read(schema::SCRIPT);
    lock_tables(tx, url, catalog)?;
    refuse_views(tx)?;
    let before = validate::count_rows(tx, catalog)?;
    let (evidence, outcome) = elect(tx, catalog, shape, &request.resolutions)?;
    request.resolutions.check(&outcome.asked)?;
    if !outcome.open.is_empty() {
        return Err(StoreError::UpgradeConflicts { url: url.to_string(), conflicts: outcome.open });
    }
    let plan = plan::describe(tx, url, catalog, shape, &evidence, &outcome)?;
    (request.progress)(Progress::Ownership);
    for table in adopt::NEEDED_BY_SWAP {
        if let Some(table) = script.table(table) {
            adopt::complete_table(tx, catalog, table)?;
        }
    }
    for (conflict, choice) in request.resolutions.iter() {
        tx.execute_text(
            "INSERT INTO upgrade_decisions (conflict, choice, created_at) VALUES ($1, $2, $3) \
             ON CONFLICT (conflict) DO UPDATE SET choice = excluded.choice",
            params![conflict, choice, request.now],
        )?;
    }
    swap::swap(tx, &script, catalog, &evidence, &outcome, request.now)?;
    let notes = adopt::adopt(tx, &script, catalog, request.progress, request.now)?;
    (request.progress)(Progress::Finish);
    let path = snapshot.as_ref().map(|path| path.display().to_string());
    schema::write_version(tx, path.as_deref())?;
    boundary("upgrade.check")?;
    validate::at_the_end(tx, &script, &before)?;
    boundary("upgrade.commit")?;
    let unused = before.into_iter().filter(|(table, rows)| *rows > 0 && is_unused(&script, table)).collect();
    Ok(Box::new(Upgraded { snapshot, plan, notes, unused }))
}

/// Whether Freehold keeps a table without using it; the tables behind a full-text index count as none.
fn is_unused(script: &Script, table: &str) -> bool {
    script.table(table).is_none() && table != shape::SESSION_WORKTREES && !table.contains("_fts")
}

/// Tells what kind of database a transaction looks at.
pub(crate) fn shape_of(tx: &mut Tx<'_>, url: &DatabaseUrl) -> Result<Shape, StoreError> {
    let catalog = Catalog::read(tx)?;
    shape::detect(tx, url, &catalog)
}

/// What an upgrade of the database that a transaction looks at would do.
pub(crate) fn plan_of(tx: &mut Tx<'_>, url: &DatabaseUrl) -> Result<Plan, StoreError> {
    plan::within(tx, url, &Resolutions::default())
}

/// Reads the evidence and decides who owns what.
fn elect(
    tx: &mut Tx<'_>,
    catalog: &Catalog,
    shape: Shape,
    resolutions: &Resolutions,
) -> Result<(Evidence, Outcome), StoreError> {
    let evidence = evidence::read(tx, catalog)?;
    let decide = |resolutions: &Resolutions| match shape {
        Shape::Normalised if election::is_sound(&evidence) => election::as_it_is(&evidence, resolutions),
        _ => election::elect(&evidence, resolutions),
    };
    let mut outcome = decide(resolutions);
    if !resolutions.is_empty() {
        // One answer may settle what another question was about; that other answer is then no mistake.
        outcome.asked.extend(decide(&Resolutions::default()).asked);
    }
    Ok((evidence, outcome))
}

/// Fails when a view that somebody added reads a table that is swapped; it would read nothing afterwards.
fn refuse_views(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let views = tx.rows_of_text(
        "/*sqlite SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name*/\
         /*pg SELECT viewname::text, definition FROM pg_views WHERE schemaname = current_schema() ORDER BY viewname*/",
        &[],
        "",
        |fields| Ok((fields.text()?, fields.text()?)),
    )?;
    let swapped = ["task_environments", "task_environment_repos", shape::SESSION_WORKTREES];
    for (view, definition) in views {
        if let Some(table) = swapped.iter().find(|table| definition.contains(**table)) {
            let what = format!("the view {view} reads {table}; drop it first, and make it again afterwards");
            return Err(StoreError::UpgradeCheck { what });
        }
    }
    Ok(())
}

/// How long the upgrade waits for tables that another program uses.
const LOCK_TIMEOUT: &str = "/*pg SET LOCAL lock_timeout = '10s'*/";

/// Locks every table that is read or written; SQLite's transaction has the whole file.
fn lock_tables(tx: &mut Tx<'_>, url: &DatabaseUrl, catalog: &Catalog) -> Result<(), StoreError> {
    let tables: Vec<String> = catalog.tables().map(|table| format!("\"{table}\"")).collect();
    tx.script(LOCK_TIMEOUT)?;
    let sql = format!("/*pg LOCK TABLE {} IN ACCESS EXCLUSIVE MODE*/", tables.join(", "));
    tx.script(&sql).map_err(|error| StoreError::InUse {
        url: url.to_string(),
        holder: format!("another program uses its tables ({error})"),
    })
}

/// An id that is the same at every attempt, made of what it stands for.
fn derived_id(parts: &[&str]) -> String {
    const FREEHOLD: uuid::Uuid = uuid::Uuid::from_u128(0x6f1e_3b52_84c7_4a0d_9b3a_51d2_7c86_e40f);
    uuid::Uuid::new_v5(&FREEHOLD, parts.join("\u{1f}").as_bytes()).to_string()
}

/// A point at which tests let the upgrade fail or the process die.
fn boundary(name: &str) -> Result<(), StoreError> {
    fail::fail_point!(name, |action| match action.as_deref() {
        Some("error") => Err(StoreError::UpgradeCheck { what: format!("a test stopped it at {name}") }),
        _ => std::process::abort(),
    });
    tracing::debug!(boundary = name, "upgrade");
    Ok(())
}
