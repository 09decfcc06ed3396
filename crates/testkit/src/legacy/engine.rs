//! Running statements on either engine, with foreign keys off.
//!
//! Each call opens a connection of its own and closes it, so that none is open when the upgrade begins.

use std::path::Path;

use postgres::{Client, NoTls, SimpleQueryMessage};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// Which engine a database is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

/// The engine that a URL names.
pub(super) fn of(url: &str) -> Engine {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        Engine::Postgres
    } else {
        Engine::Sqlite
    }
}

/// The file of a database of SQLite.
pub(super) fn file_of(url: &str) -> &Path {
    Path::new(url.strip_prefix("sqlite://").unwrap_or(url))
}

/// Runs statements in one transaction, where the engine allows it.
pub(super) fn run(url: &str, statements: &str) {
    match of(url) {
        Engine::Sqlite => {
            let done = sqlite(url).execute_batch(statements);
            done.unwrap_or_else(|error| panic!("{error} in: {statements}"));
        }
        Engine::Postgres => outside_of_a_runtime(|| {
            let done = client(url).batch_execute(statements);
            done.unwrap_or_else(|error| panic!("{} in: {statements}", described(&error)));
        }),
    }
}

/// Asks, and gives each row as a line: its values as text with `|` between them, and `NULL`.
#[must_use]
pub fn rows(url: &str, query: &str) -> Vec<String> {
    let rows = match of(url) {
        Engine::Sqlite => sqlite_rows(&sqlite(url), query),
        Engine::Postgres => outside_of_a_runtime(|| postgres_rows(&mut client(url), query)),
    };
    let line = |row: Vec<Option<String>>| {
        row.into_iter().map(|value| value.unwrap_or_else(|| "NULL".to_owned())).collect::<Vec<_>>().join("|")
    };
    rows.into_iter().map(line).collect()
}

/// Opens a file as the old program does, without its foreign keys.
pub(super) fn sqlite(url: &str) -> Connection {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = Connection::open_with_flags(file_of(url), flags)?;
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 5000;")?;
        Ok::<_, rusqlite::Error>(connection)
    };
    open().unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Connects to a server, whose foreign keys are checked by triggers that do not fire for a replica.
pub(super) fn client(url: &str) -> Client {
    let open = || {
        let mut client = Client::connect(url, NoTls)?;
        client.batch_execute(
            "SET client_min_messages = warning; SET session_replication_role = replica; SET search_path = public",
        )?;
        Ok::<_, postgres::Error>(client)
    };
    open().unwrap_or_else(|error| panic!("{url}: {} (this needs a superuser)", described(&error)))
}

/// Gives the rows of a query as texts.
pub(super) fn sqlite_rows(connection: &Connection, query: &str) -> Vec<Vec<Option<String>>> {
    let read = || {
        let mut statement = connection.prepare(query)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            read.push((0..columns).map(|at| row.get_ref(at).map(text_of)).collect::<Result<_, _>>()?);
        }
        Ok::<_, rusqlite::Error>(read)
    };
    read().unwrap_or_else(|error| panic!("{error} in: {query}"))
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// Gives the rows of a query as texts.
pub(super) fn postgres_rows(client: &mut Client, query: &str) -> Vec<Vec<Option<String>>> {
    let messages = client.simple_query(query);
    let messages = messages.unwrap_or_else(|error| panic!("{} in: {query}", described(&error)));
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect::<Vec<_>>())
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// What the server said, which the error itself only names by its kind.
fn described(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Runs on a thread of its own: the client must not be used inside of an async runtime.
pub(super) fn outside_of_a_runtime<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let outcome = std::thread::scope(|scope| scope.spawn(work).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
