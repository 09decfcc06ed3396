//! One transaction: a closure that commits whole or not at all.
//!
//! Events are buffered and stored as the last statements before the commit. They take their numbers from one
//! counter row, whose lock is held until the commit; so the order of numbers is the order of commits, and a
//! transaction that fails leaves no hole.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use freehold_domain::clock::Timestamp;
use freehold_domain::event::EventBody;

use crate::dialect::{Connection, Mode, Row};
use crate::row::Fields;
use crate::statement::Statement;
use crate::value::Value;
use crate::worker::Slot;
use crate::{StoreError, event};

/// What is done with each row of a result.
type EachRow<'r> = dyn FnMut(Row<'_>) -> Result<(), StoreError> + 'r;

/// One transaction, handed to the closure of [`crate::Store::write`] or [`crate::Store::read`].
pub struct Tx<'c> {
    connection: &'c mut Connection,
    events: Vec<(EventBody, Timestamp)>,
    failed: bool,
}

impl Tx<'_> {
    /// Adds an event to the outbox; it is stored as the transaction commits.
    pub fn emit(&mut self, body: EventBody, at: Timestamp) {
        self.events.push((body, at));
    }

    /// Runs a statement; gives the number of rows changed.
    pub(crate) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let outcome = self.connection.execute(statement, values);
        self.note(outcome)
    }

    /// Runs a statement that must change the row of `id`.
    pub(crate) fn change(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        noun: &'static str,
        id: &str,
    ) -> Result<(), StoreError> {
        match self.execute(statement, values)? {
            0 => Err(StoreError::NotFound { noun, id: id.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Runs an `INSERT … VALUES (…)` for many rows.
    pub(crate) fn execute_many(
        &mut self,
        statement: &Statement,
        rows: &[Vec<Value<'_>>],
    ) -> Result<(), StoreError> {
        let outcome = self.connection.execute_many(statement, rows);
        self.note(outcome)
    }

    /// Runs a statement and reads each row, which begins with the id of a row of `table`.
    pub(crate) fn rows<T>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        table: &'static str,
        read: impl FnMut(&mut Fields<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.collect(|connection, each| connection.query(statement, values, each), table, read)
    }

    fn collect<T>(
        &mut self,
        query: impl FnOnce(&mut Connection, &mut EachRow<'_>) -> Result<(), StoreError>,
        table: &'static str,
        mut read: impl FnMut(&mut Fields<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        let mut each = |row: Row<'_>| {
            found.push(read(&mut Fields::new(row, table))?);
            Ok(())
        };
        let outcome = query(self.connection, &mut each);
        self.note(outcome)?;
        Ok(found)
    }

    /// As [`Self::rows`], for a statement that finds one row at most.
    pub(crate) fn row<T>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        table: &'static str,
        read: impl FnMut(&mut Fields<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.rows(statement, values, table, read)?.pop())
    }

    /// Runs SQL that is put together from names of tables and columns, for the upgrade; gives the number of rows
    /// changed.
    pub(crate) fn execute_text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let outcome = self.connection.execute_text(sql, values);
        self.note(outcome)
    }

    /// As [`Self::rows`], for SQL as of [`Self::execute_text`].
    pub(crate) fn rows_of_text<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        table: &'static str,
        read: impl FnMut(&mut Fields<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.collect(|connection, each| connection.query_text(sql, values, each), table, read)
    }

    /// A number that is another one after every commit of another connection; always 0 on PostgreSQL.
    pub(crate) fn data_version(&mut self) -> Result<i64, StoreError> {
        self.connection.data_version()
    }

    /// Runs a script of several statements with marks.
    pub(crate) fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        let outcome = self.connection.script(sql);
        self.note(outcome)
    }

    /// Prepares a statement without running it.
    pub(crate) fn prepare(&mut self, statement: &Statement) -> Result<(), StoreError> {
        let outcome = self.connection.prepare(statement);
        self.note(outcome)
    }

    /// Remembers a failed statement: PostgreSQL would answer the commit with a silent rollback.
    fn note<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        self.failed |= matches!(outcome, Err(StoreError::Database { .. }));
        outcome
    }

    /// Stores the events; gives the newest one's number.
    fn finish(mut self, mode: Mode) -> Result<Option<i64>, StoreError> {
        if self.failed {
            return Err(StoreError::database("commit", "a statement of the transaction failed"));
        }
        let events = std::mem::take(&mut self.events);
        match mode {
            _ if events.is_empty() => Ok(None),
            Mode::Read => Err(StoreError::EmitInRead),
            Mode::Write => event::store(&mut self, &events).map(Some),
        }
    }
}

/// Runs a closure in a transaction on a worker's connection; tells `committed` of the newest event stored.
pub(crate) fn run<T, E: From<StoreError>>(
    slot: &mut Slot,
    committed: impl FnOnce(i64),
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let outcome = catch_unwind(AssertUnwindSafe(|| attempt(slot, committed, work)));
    let outcome = outcome.unwrap_or_else(|panic| Err(panicked(&*panic).into()));
    if outcome.is_err() {
        slot.roll_back();
    }
    outcome
}

fn attempt<T, E: From<StoreError>>(
    slot: &mut Slot,
    committed: impl FnOnce(i64),
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mode = slot.mode();
    let connection = slot.connection()?;
    connection.begin(mode)?;
    let mut tx = Tx { connection: &mut *connection, events: Vec::new(), failed: false };
    let value = work(&mut tx)?;
    let newest = tx.finish(mode)?;
    if mode == Mode::Write {
        fail::fail_point!("store.write.before_commit");
    }
    connection.commit()?;
    if mode == Mode::Write {
        fail::fail_point!("store.write.after_commit");
    }
    if let Some(seq) = newest {
        committed(seq);
    }
    Ok(value)
}

/// Runs something of the store itself on a connection that no worker owns yet.
pub(crate) fn run_on<T>(
    connection: &mut Connection,
    mode: Mode,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.begin(mode)?;
    let mut tx = Tx { connection: &mut *connection, events: Vec::new(), failed: false };
    match work(&mut tx) {
        Ok(value) => connection.commit().map(|()| value),
        Err(error) => {
            connection.rollback()?;
            Err(error)
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> StoreError {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    StoreError::Panicked { message }
}
