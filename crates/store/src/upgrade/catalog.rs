//! Which tables and columns a database has.

use std::collections::{BTreeMap, BTreeSet};

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    COLUMNS = "/*sqlite SELECT t.name, c.name, lower(c.type) FROM sqlite_schema t, pragma_table_info(t.name) c \
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.cid*/\
        /*pg SELECT r.relname::text, a.attname::text, format_type(a.atttypid, NULL) \
        FROM pg_attribute a JOIN pg_class r ON r.oid = a.attrelid \
        WHERE r.relnamespace = current_schema()::regnamespace AND r.relkind IN ('r', 'p') \
        AND a.attnum > 0 AND NOT a.attisdropped ORDER BY r.relname, a.attnum*/";
    INDEXES = "/*sqlite SELECT name FROM sqlite_schema WHERE type = 'index'*/\
        /*pg SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()*/";
}

/// The tables of a database with their columns, and the names of its indexes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Catalog {
    /// Types, in lower case, by column, by table.
    tables: BTreeMap<String, BTreeMap<String, String>>,
    indexes: BTreeSet<String>,
}

/// A column to read, which may be absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    absent: &'static str,
}

impl Column {
    pub(super) const fn text(name: &'static str) -> Self {
        Self { name, absent: "''" }
    }

    pub(super) const fn int(name: &'static str) -> Self {
        Self { name, absent: "0" }
    }

    pub(super) const fn instant(name: &'static str) -> Self {
        Self { name, absent: "CAST(NULL AS TIMESTAMP)" }
    }
}

impl Catalog {
    pub(super) fn read(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        let columns =
            tx.rows(&COLUMNS, params![], "", |fields| Ok((fields.text()?, fields.text()?, fields.text()?)))?;
        let mut catalog = Self::default();
        for (table, column, kind) in columns {
            catalog.tables.entry(table).or_default().insert(column, kind);
        }
        catalog.indexes = tx.rows(&INDEXES, params![], "", |fields| fields.text())?.into_iter().collect();
        Ok(catalog)
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub(super) fn has_table(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    pub(super) fn columns(&self, table: &str) -> impl Iterator<Item = &str> {
        self.tables.get(table).into_iter().flat_map(|columns| columns.keys()).map(String::as_str)
    }

    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        self.kind(table, column).is_some()
    }

    /// The type of a column, in lower case.
    pub(super) fn kind(&self, table: &str, column: &str) -> Option<&str> {
        self.tables.get(table)?.get(column).map(String::as_str)
    }

    pub(super) fn has_index(&self, index: &str) -> bool {
        self.indexes.contains(index)
    }

    /// A `SELECT` of columns in order, where an absent one gives nothing.
    pub(super) fn select(&self, table: &str, columns: &[Column]) -> String {
        let expression = |column: &Column| match self.has_column(table, column.name) {
            true => format!("\"{}\"", column.name),
            false => format!("{} AS {}", column.absent, column.name),
        };
        let expressions: Vec<String> = columns.iter().map(expression).collect();
        format!("SELECT {} FROM {table} ORDER BY id", expressions.join(", "))
    }
}
