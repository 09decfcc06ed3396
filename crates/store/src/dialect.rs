//! Every difference between the two engines; no other module asks which one is in use.
//!
//! `render` turns the SQL written once into what an engine reads, `sqlite` and `postgres` open, bind and
//! read, `tls` secures a connection to a server. The rest of the crate sees [`Database`], [`Connection`] and
//! [`Row`].

mod postgres;
mod render;
mod sqlite;
mod tls;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use freehold_domain::clock::Timestamp;
use tokio::sync::watch;

use crate::statement::Statement;
use crate::value::Value;
use crate::{DatabaseUrl, StoreError, StoreOptions};

/// One of the two database engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, embedded.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

/// What a connection or a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reading one state of the database.
    Read,
    /// Reading and writing.
    Write,
}

/// A database that connections can be opened to.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(sqlite::Database),
    Postgres(Box<postgres::Database>),
}

impl Database {
    /// Reads where the database is; touches nothing.
    pub(crate) fn new(url: &DatabaseUrl) -> Result<Self, StoreError> {
        match url {
            DatabaseUrl::Sqlite(path) => Ok(Self::Sqlite(sqlite::Database::new(path.clone()))),
            DatabaseUrl::Postgres(text) => {
                postgres::Database::new(url, text).map(|database| Self::Postgres(Box::new(database)))
            }
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    /// How many threads may write at once: SQLite has one writer.
    pub(crate) fn writers(&self, options: StoreOptions) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => options.postgres_writers.max(1),
        }
    }

    /// Opens a connection that changes nothing by being opened; none when there is no database yet.
    pub(crate) fn connect_to_inspect(&self) -> Result<Option<Connection>, StoreError> {
        match self {
            Self::Sqlite(database) => Ok(database.connect_to_inspect()?.map(Connection::Sqlite)),
            Self::Postgres(database) => Ok(Some(Connection::Postgres(database.connect()?))),
        }
    }

    /// Opens a connection, and makes the file of an SQLite database that is absent.
    pub(crate) fn connect(&self, mode: Mode) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(database) => database.connect(mode).map(Connection::Sqlite),
            Self::Postgres(database) => database.connect().map(Connection::Postgres),
        }
    }

    /// Opens the connection that upgrades: it waits long for its turn, writes through to the disk, and does not
    /// enforce foreign keys while tables are swapped. PostgreSQL has no such modes.
    pub(crate) fn connect_to_upgrade(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(database) => database.connect_to_upgrade().map(Connection::Sqlite),
            Self::Postgres(database) => database.connect().map(Connection::Postgres),
        }
    }

    /// Starts the thread that hears of events committed by other servers; SQLite has no other servers.
    pub(crate) fn listen(
        self: &Arc<Self>,
        last_event: watch::Sender<i64>,
        stop: Arc<AtomicBool>,
    ) -> std::io::Result<Option<std::thread::JoinHandle<()>>> {
        if self.engine() == Engine::Sqlite {
            return Ok(None);
        }
        let database = Arc::clone(self);
        let listen = move || {
            if let Self::Postgres(database) = &*database {
                postgres::listen(database, &last_event, &stop);
            }
        };
        std::thread::Builder::new().name("freehold-store-listen".to_owned()).spawn(listen).map(Some)
    }
}

/// Copies an SQLite database, whatever its journal holds, to a path where no file is.
pub(crate) fn copy_database(from: &std::path::Path, to: &std::path::Path) -> Result<(), StoreError> {
    sqlite::copy_database(from, to)
}

/// Whether another process held the lock of an SQLite file for too long.
pub(crate) fn is_busy(error: &StoreError) -> bool {
    match error {
        StoreError::Database { source, .. } => source.downcast_ref().is_some_and(sqlite::is_busy),
        _ => false,
    }
}

/// An open connection.
pub(crate) enum Connection {
    Sqlite(sqlite::Connection),
    Postgres(postgres::Connection),
}

impl Connection {
    pub(crate) fn begin(&mut self, mode: Mode) -> Result<(), StoreError> {
        match (self, mode) {
            // IMMEDIATE: a transaction that reads first and writes later could not be upgraded for certain.
            (Self::Sqlite(connection), Mode::Write) => connection.batch("BEGIN IMMEDIATE"),
            (Self::Sqlite(connection), Mode::Read) => connection.batch("BEGIN"),
            (Self::Postgres(connection), Mode::Write) => connection.batch("BEGIN"),
            (Self::Postgres(connection), Mode::Read) => {
                connection.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            }
        }
    }

    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.batch("COMMIT"),
            Self::Postgres(connection) => connection.batch("COMMIT"),
        }
    }

    /// Ends the transaction without its changes; does nothing when none is open.
    pub(crate) fn rollback(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.rollback(),
            Self::Postgres(connection) => connection.batch("ROLLBACK"),
        }
    }

    /// Whether the connection is lost and another must be opened.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(connection) => connection.is_lost(),
        }
    }

    /// Runs a script of several statements with marks.
    pub(crate) fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.batch(&render::statement(sql, Engine::Sqlite)),
            Self::Postgres(connection) => connection.batch(&render::statement(sql, Engine::Postgres)),
        }
    }

    /// Runs a statement; gives the number of rows changed.
    pub(crate) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(connection) => connection.execute(statement, values),
            Self::Postgres(connection) => connection.execute(statement, values),
        }
    }

    /// Runs an `INSERT … VALUES (…)` for many rows.
    pub(crate) fn execute_many(
        &mut self,
        statement: &Statement,
        rows: &[Vec<Value<'_>>],
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => {
                rows.iter().try_for_each(|row| connection.execute(statement, row).map(drop))
            }
            Self::Postgres(connection) => connection.execute_many(statement, rows),
        }
    }

    /// Runs a statement and shows each row of its result.
    pub(crate) fn query(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        each: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.query(statement, values, each),
            Self::Postgres(connection) => connection.query(statement, values, each),
        }
    }

    /// Runs SQL of one use; gives the number of rows changed.
    pub(crate) fn execute_text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(connection) => connection.execute_text(sql, values),
            Self::Postgres(connection) => connection.execute_text(sql, values),
        }
    }

    /// Runs SQL of one use and shows each row of its result.
    pub(crate) fn query_text(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.query_text(sql, values, each),
            Self::Postgres(connection) => connection.query_text(sql, values, each),
        }
    }

    /// A number that is another one after every commit of another connection; always 0 on PostgreSQL.
    pub(crate) fn data_version(&mut self) -> Result<i64, StoreError> {
        match self {
            Self::Sqlite(connection) => connection.data_version(),
            Self::Postgres(_) => Ok(0),
        }
    }

    /// Writes a whole copy of an SQLite database to a path where no file is.
    pub(crate) fn copy_into(&mut self, path: &std::path::Path) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.copy_into(path),
            Self::Postgres(_) => Err(StoreError::database("copy the database", "it is not a file")),
        }
    }

    /// Prepares a statement without running it.
    pub(crate) fn prepare(&mut self, statement: &Statement) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.prepare(statement),
            Self::Postgres(connection) => connection.prepare(statement),
        }
    }

    /// Does what an engine wants done before a connection ends.
    pub(crate) fn retire(&mut self) {
        if let Self::Sqlite(connection) = self {
            connection.optimise();
        }
    }
}

/// One row of a result. Each reader gives, as its error, what the column holds instead.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r ::postgres::Row),
}

impl Row<'_> {
    pub(crate) fn name(&self, column: usize) -> String {
        match self {
            Self::Sqlite(row) => sqlite::column_name(row, column),
            Self::Postgres(row) => postgres::column_name(row, column),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<Option<String>, String> {
        match self {
            Self::Sqlite(row) => sqlite::text(row, column),
            Self::Postgres(row) => postgres::text(row, column),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<Option<i64>, String> {
        match self {
            Self::Sqlite(row) => sqlite::int(row, column),
            Self::Postgres(row) => postgres::int(row, column),
        }
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn nanoseconds(&self, column: usize) -> Result<Option<i128>, String> {
        match self {
            Self::Sqlite(row) => sqlite::nanoseconds(row, column),
            Self::Postgres(row) => {
                let instant = postgres::instant(row, column)?;
                Ok(instant.map(|instant| i128::from(instant.as_micros()) * 1_000))
            }
        }
    }

    pub(crate) fn instant(&self, column: usize) -> Result<Option<Timestamp>, String> {
        match self {
            Self::Sqlite(row) => sqlite::instant(row, column),
            Self::Postgres(row) => postgres::instant(row, column),
        }
    }
}
