//! SQLite: one file, one writer, readers that see the last commit while the writer works (WAL).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use freehold_domain::clock::Timestamp;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{OpenFlags, ToSql};

use super::{Mode, Row, render};
use crate::statement::Statement;
use crate::value::Value;
use crate::{DatabaseUrl, StoreError};

/// More than the crate has, so that each is prepared once per connection.
const STATEMENT_CACHE: usize = 256;

/// How long a connection waits for another process's lock, for example of a backup.
const BUSY_TIMEOUT: Duration = Duration::from_millis(5_000);

/// How long an upgrade waits for its turn, for example while another process upgrades the same file.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(60);

/// How many pages a copy reads before others may have their turn.
const PAGES_PER_COPY: i32 = 4_096;

/// How soon a lock that SQLite does not wait for is tried again.
const BUSY_POLL: Duration = Duration::from_millis(10);

/// A file, whether it exists or not.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
}

/// An open connection with its rendered statements.
pub(crate) struct Connection {
    connection: rusqlite::Connection,
    rendered: HashMap<&'static str, String>,
}

impl Database {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Opens the file read-only; none when it is absent or empty.
    pub(super) fn connect_to_inspect(&self) -> Result<Option<Connection>, StoreError> {
        match std::fs::metadata(&self.path) {
            Ok(found) if found.len() > 0 => self.open(OpenFlags::SQLITE_OPEN_READ_ONLY).map(Some),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(open_error(&self.path, error)),
            _ => Ok(None),
        }
    }

    pub(super) fn connect(&self, mode: Mode) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = self.open(flags)?;
        connection.configure(mode).map_err(|error| open_error(&self.path, error))?;
        Ok(connection)
    }

    pub(super) fn connect_to_upgrade(&self) -> Result<Connection, StoreError> {
        let connection = self.connect(Mode::Write)?;
        let settle = || {
            connection.connection.busy_timeout(UPGRADE_TIMEOUT)?;
            connection.connection.pragma_update(None, "synchronous", "FULL")?;
            connection.connection.pragma_update(None, "foreign_keys", false)?;
            connection.connection.create_scalar_function(
                "utf16_surplus",
                1,
                FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC,
                |context| {
                    let text = context.get_raw(0).as_str().unwrap_or_default();
                    let surplus =
                        || text.chars().filter(|character| character.len_utf16() == 2).count() as i64;
                    Ok(if text.is_ascii() { 0 } else { surplus() })
                },
            )
        };
        settle().map_err(|error| open_error(&self.path, error))?;
        Ok(connection)
    }

    fn open(&self, flags: OpenFlags) -> Result<Connection, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = rusqlite::Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // The first read: a file that is no database is told by its name.
            connection.pragma_query_value(None, "schema_version", |_| Ok(()))?;
            connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
            Ok(Connection { connection, rendered: HashMap::new() })
        };
        open().map_err(|error: rusqlite::Error| open_error(&self.path, error))
    }
}

/// Copies a database page by page through SQLite's backup interface; the original is opened for reading only.
pub(super) fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let open = |path: &Path, flags| {
        rusqlite::Connection::open_with_flags(path, flags).map_err(|error| open_error(path, error))
    };
    let source = open(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut target = open(to, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let copied = rusqlite::backup::Backup::new(&source, &mut target)
        .and_then(|backup| backup.run_to_completion(PAGES_PER_COPY, Duration::ZERO, None));
    copied.map_err(|error| StoreError::database(format!("copy {}", from.display()), error))
}

fn open_error(path: &Path, cause: impl Into<crate::Cause>) -> StoreError {
    let url = DatabaseUrl::Sqlite(path.to_owned()).to_string();
    StoreError::Open { url, source: cause.into() }
}

impl Connection {
    fn configure(&self, mode: Mode) -> Result<(), crate::Cause> {
        let connection = &self.connection;
        let journal = self.use_write_ahead_log()?;
        if journal != "wal" {
            return Err(format!("the file system does not support write-ahead logging ({journal})").into());
        }
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        if !connection.pragma_query_value(None, "foreign_keys", |row| row.get::<_, bool>(0))? {
            return Err("foreign keys cannot be enforced".into());
        }
        connection.pragma_update(None, "query_only", mode == Mode::Read)?;
        Ok(())
    }

    /// SQLite does not wait for another connection that changes the journal at the same moment, as two that
    /// open a new file do; so this waits itself.
    fn use_write_ahead_log(&self) -> rusqlite::Result<String> {
        let change =
            || self.connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        let mut waited = Duration::ZERO;
        loop {
            match change() {
                Err(error) if is_busy(&error) && waited < BUSY_TIMEOUT => {
                    std::thread::sleep(BUSY_POLL);
                    waited += BUSY_POLL;
                }
                outcome => return outcome,
            }
        }
    }

    pub(super) fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| StoreError::database(render::title(sql), error))
    }

    pub(super) fn data_version(&self) -> Result<i64, StoreError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| StoreError::database("read the data version", error))
    }

    pub(super) fn copy_into(&self, path: &Path) -> Result<(), StoreError> {
        let text = path
            .to_str()
            .ok_or_else(|| StoreError::database("copy the database", "its path is not UTF-8"))?;
        let failed =
            |error: rusqlite::Error| StoreError::Snapshot { path: path.to_owned(), source: error.into() };
        self.connection.execute("VACUUM INTO ?1", [text]).map(drop).map_err(failed)
    }

    pub(super) fn rollback(&self) -> Result<(), StoreError> {
        if self.connection.is_autocommit() { Ok(()) } else { self.batch("ROLLBACK") }
    }

    pub(super) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let run = |prepared: &mut rusqlite::CachedStatement<'_>| {
            bind(prepared, values)?;
            prepared.raw_execute()
        };
        let changed = self.cached(statement).and_then(|mut prepared| run(&mut prepared));
        changed.map(|rows| rows as u64).map_err(|error| run_error(statement, error))
    }

    pub(super) fn query(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        each: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| run_error(statement, error);
        let mut prepared = self.cached(statement).map_err(failed)?;
        bind(&mut prepared, values).map_err(failed)?;
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            each(Row::Sqlite(row))?;
        }
        Ok(())
    }

    pub(super) fn execute_text(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let run = || {
            let mut prepared =
                self.connection.prepare_cached(&render::statement(sql, super::Engine::Sqlite))?;
            bind(&mut prepared, values)?;
            prepared.raw_execute()
        };
        run().map(|rows| rows as u64).map_err(|error| StoreError::database(render::title(sql), error))
    }

    pub(super) fn query_text(
        &self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::database(render::title(sql), error);
        let rendered = render::statement(sql, super::Engine::Sqlite);
        let mut prepared = self.connection.prepare_cached(&rendered).map_err(failed)?;
        bind(&mut prepared, values).map_err(failed)?;
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            each(Row::Sqlite(row))?;
        }
        Ok(())
    }

    pub(super) fn prepare(&mut self, statement: &Statement) -> Result<(), StoreError> {
        self.cached(statement).map(drop).map_err(|error| run_error(statement, error))
    }

    /// Lets SQLite refresh its statistics where that is worth it; a connection that only reads cannot.
    pub(super) fn optimise(&self) {
        let only_reads = self.connection.pragma_query_value(None, "query_only", |row| row.get::<_, bool>(0));
        if only_reads.unwrap_or(true) {
            return;
        }
        if let Err(error) = self.connection.execute_batch("PRAGMA optimize") {
            tracing::warn!(%error, "cannot refresh the statistics of the database");
        }
    }

    fn cached(&mut self, statement: &Statement) -> rusqlite::Result<rusqlite::CachedStatement<'_>> {
        let rendered = match self.rendered.entry(statement.name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(render::statement(statement.sql, super::Engine::Sqlite)),
        };
        self.connection.prepare_cached(rendered)
    }
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

fn run_error(statement: &Statement, cause: rusqlite::Error) -> StoreError {
    StoreError::database(format!("run {}", statement.name), cause)
}

fn bind(prepared: &mut rusqlite::Statement<'_>, values: &[Value<'_>]) -> rusqlite::Result<()> {
    if prepared.parameter_count() != values.len() {
        return Err(rusqlite::Error::InvalidParameterCount(values.len(), prepared.parameter_count()));
    }
    for (index, value) in values.iter().enumerate() {
        prepared.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Owned::Null),
            Self::Int(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Instant(instant) => ToSqlOutput::Owned(Owned::Text(instant_text(*instant)?)),
        })
    }
}

/// `YYYY-MM-DD HH:MM:SS.ffffff+00:00`: texts of this shape sort as their instants do.
fn instant_text(instant: Timestamp) -> rusqlite::Result<String> {
    let failed = |error: jiff::Error| rusqlite::Error::ToSqlConversionFailure(error.into());
    let instant = jiff::Timestamp::from_microsecond(instant.as_micros()).map_err(failed)?;
    jiff::fmt::strtime::format("%Y-%m-%d %H:%M:%S%.6f+00:00", instant).map_err(failed)
}

/// Reads the text of an instant in any of the shapes that databases hold: with an offset, with `Z`, with a
/// `T`, and without a zone, which means UTC.
fn parse_instant(text: &str) -> Option<Timestamp> {
    parse(text).map(|instant| Timestamp::from_micros(instant.as_microsecond()))
}

fn parse(text: &str) -> Option<jiff::Timestamp> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant);
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    jiff::tz::TimeZone::UTC.to_timestamp(local).ok()
}

pub(super) fn column_name(row: &rusqlite::Row<'_>, column: usize) -> String {
    row.as_ref().column_name(column).unwrap_or_default().to_owned()
}

pub(super) fn text(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<String>, String> {
    match value(row, column)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
        other => Err(show(other)),
    }
}

pub(super) fn int(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<i64>, String> {
    match value(row, column)? {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(number)),
        other => Err(show(other)),
    }
}

pub(super) fn instant(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<Timestamp>, String> {
    match text(row, column)? {
        None => Ok(None),
        Some(text) => parse_instant(&text).map(Some).ok_or(text),
    }
}

pub(super) fn nanoseconds(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<i128>, String> {
    match text(row, column)? {
        None => Ok(None),
        Some(text) => parse(&text).map(|instant| Some(instant.as_nanosecond())).ok_or(text),
    }
}

fn value<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<ValueRef<'r>, String> {
    row.get_ref(column).map_err(|error| error.to_string())
}

fn show(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pragma(connection: &Connection, name: &str) -> String {
        let value = connection.connection.pragma_query_value(None, name, |row| row.get::<_, Owned>(0));
        match value.unwrap() {
            Owned::Integer(number) => number.to_string(),
            Owned::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn connections_are_opened_with_our_settings() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::new(folder.path().join("a.db"));
        for (mode, query_only) in [(Mode::Write, "0"), (Mode::Read, "1")] {
            let connection = database.connect(mode).unwrap();
            assert_eq!(pragma(&connection, "journal_mode"), "wal");
            assert_eq!(pragma(&connection, "foreign_keys"), "1");
            assert_eq!(pragma(&connection, "busy_timeout"), "5000");
            assert_eq!(pragma(&connection, "synchronous"), "1");
            assert_eq!(pragma(&connection, "query_only"), query_only);
        }
    }

    #[test]
    fn instants_are_read_in_every_shape_that_databases_hold() {
        let instant = Timestamp::from_micros(1_796_026_500_000_001);
        assert_eq!(instant_text(instant).unwrap(), "2026-11-30 08:15:00.000001+00:00");
        for text in [
            "2026-11-30 08:15:00.000001+00:00",
            "2026-11-30 09:15:00.000001+01:00",
            "2026-11-30T08:15:00.000001Z",
            "2026-11-30 08:15:00.000001",
        ] {
            assert_eq!(parse_instant(text), Some(instant), "{text}");
        }
        let nanoseconds = parse_instant("2026-11-30 08:15:00.000001999+00:00");
        assert_eq!(nanoseconds, Some(instant));
        assert_eq!(parse_instant("2026-11-30 08:15:00"), Some(Timestamp::from_micros(1_796_026_500_000_000)));
        assert_eq!(parse_instant("yesterday"), None);
    }
}
