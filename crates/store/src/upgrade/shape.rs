//! What kind of database this is, told by its tables and columns and by no version number.

use super::catalog::Catalog;
use crate::{DatabaseUrl, StoreError, Tx, schema};

/// What kind of database was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Empty, or no file yet.
    Fresh,
    /// Freehold's own, complete.
    Final,
    /// A worktree hangs on a session, or on flat columns of its environment.
    Legacy,
    /// The final ownership tables beside a stale legacy one, as a start of an old version leaves them.
    Hybrid,
    /// The final ownership tables in a database of another program.
    Normalised,
}

impl Shape {
    /// Whether Freehold can use the database as it is, or make it so by filling it.
    #[must_use]
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Fresh | Self::Final)
    }

    /// The shape in words for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Fresh => "an empty database",
            Self::Final => "a Freehold database",
            Self::Legacy => "an older database, in which worktrees hang on sessions",
            Self::Hybrid => "an upgraded database in which an old version left a table of its own",
            Self::Normalised => "a database of another program with the tables Freehold knows",
        }
    }
}

/// The table that makes a database an old one.
pub(super) const SESSION_WORKTREES: &str = "task_session_worktrees";

/// Tells the shape; refuses a database of an unknown program or of a newer Freehold.
pub(super) fn detect(tx: &mut Tx<'_>, url: &DatabaseUrl, catalog: &Catalog) -> Result<Shape, StoreError> {
    let has_session_worktrees = catalog.has_table(SESSION_WORKTREES);
    if catalog.is_empty() {
        return Ok(Shape::Fresh);
    }
    if catalog.has_table("freehold_meta") {
        schema::check_version(tx, url)?;
        return Ok(if has_session_worktrees { Shape::Hybrid } else { Shape::Final });
    }
    let is_known = [("workspaces", "name"), ("tasks", "title"), ("task_sessions", "task_id")]
        .into_iter()
        .all(|(table, column)| catalog.has_column(table, column));
    let has_environments = catalog.has_column("task_environments", "task_id");
    if !is_known || !(has_environments || has_session_worktrees) {
        let tables: Vec<String> = catalog.tables().map(str::to_owned).collect();
        return Err(schema::not_freehold(url, &tables));
    }
    let has_flat_columns = catalog.has_column("task_environments", "worktree_id");
    Ok(match (has_environments && !has_flat_columns, has_session_worktrees) {
        (true, true) => Shape::Hybrid,
        (true, false) => Shape::Normalised,
        (false, _) => Shape::Legacy,
    })
}
