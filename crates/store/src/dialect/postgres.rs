//! PostgreSQL: blocking connections, each owned by one worker thread.

use std::collections::HashMap;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use freehold_domain::clock::Timestamp;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config};
use tokio::sync::watch;

use super::tls::{self, TlsMode};
use super::{Row, render};
use crate::statement::Statement;
use crate::value::Value;
use crate::{Cause, DatabaseUrl, StoreError};

/// The most rows that one `INSERT` stores; larger sets go in several.
const ROWS_PER_INSERT: usize = 64;

/// How long to wait for a server that does not answer, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How soon the listening thread sees that it shall stop.
const LISTEN_POLL: Duration = Duration::from_millis(200);

/// How long the listening thread waits before it connects again.
const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// What every connection begins with: instants have no zone in the tables, so the session's must be UTC.
const SESSION: &str = "SET TIME ZONE 'UTC'; SET client_min_messages = warning";

/// A database of a server.
#[derive(Debug)]
pub(crate) struct Database {
    shown: String,
    config: Config,
    tls: TlsMode,
}

/// An open connection with its prepared statements, by name and number of rows.
pub(crate) struct Connection {
    client: Client,
    prepared: HashMap<(&'static str, usize), postgres::Statement>,
}

impl Database {
    pub(super) fn new(url: &DatabaseUrl, text: &str) -> Result<Self, StoreError> {
        let shown = url.to_string();
        let invalid = |reason: String| StoreError::InvalidUrl { url: shown.clone(), reason };
        let (text, tls) = tls::split_mode(text).map_err(invalid)?;
        let mut config = Config::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        config.ssl_mode(tls.negotiation());
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("freehold");
        }
        Ok(Self { shown, config, tls })
    }

    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        let open = || {
            let mut client = self.config.connect(self.tls.connector()?)?;
            client.batch_execute(SESSION)?;
            Ok(Connection { client, prepared: HashMap::new() })
        };
        open().map_err(|source: Cause| StoreError::Open { url: self.shown.clone(), source })
    }
}

impl Connection {
    pub(super) fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.client
            .batch_execute(sql)
            .map_err(|error| StoreError::database(render::title(sql), Explained::new(&error)))
    }

    pub(super) fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let prepared = self.cached(statement, 1)?;
        let bound = bind(&prepared, values);
        self.client.execute(&prepared, &borrowed(&bound)).map_err(|error| run_error(statement, &error))
    }

    pub(super) fn execute_many(
        &mut self,
        statement: &Statement,
        rows: &[Vec<Value<'_>>],
    ) -> Result<(), StoreError> {
        for chunk in rows.chunks(ROWS_PER_INSERT) {
            let prepared = self.cached(statement, chunk.len())?;
            let values: Vec<Value<'_>> = chunk.iter().flatten().cloned().collect();
            let bound = bind(&prepared, &values);
            self.client
                .execute(&prepared, &borrowed(&bound))
                .map_err(|error| run_error(statement, &error))?;
        }
        Ok(())
    }

    pub(super) fn query(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        each: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let prepared = self.cached(statement, 1)?;
        let bound = bind(&prepared, values);
        let rows =
            self.client.query(&prepared, &borrowed(&bound)).map_err(|error| run_error(statement, &error))?;
        rows.iter().try_for_each(|row| each(Row::Postgres(row)))
    }

    pub(super) fn execute_text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let failed =
            |error: postgres::Error| StoreError::database(render::title(sql), Explained::new(&error));
        let prepared =
            self.client.prepare(&render::statement(sql, super::Engine::Postgres)).map_err(failed)?;
        self.client.execute(&prepared, &borrowed(&bind(&prepared, values))).map_err(failed)
    }

    pub(super) fn query_text(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed =
            |error: postgres::Error| StoreError::database(render::title(sql), Explained::new(&error));
        let prepared =
            self.client.prepare(&render::statement(sql, super::Engine::Postgres)).map_err(failed)?;
        let rows = self.client.query(&prepared, &borrowed(&bind(&prepared, values))).map_err(failed)?;
        rows.iter().try_for_each(|row| each(Row::Postgres(row)))
    }

    pub(super) fn prepare(&mut self, statement: &Statement) -> Result<(), StoreError> {
        self.cached(statement, 1).map(drop)
    }

    fn cached(&mut self, statement: &Statement, rows: usize) -> Result<postgres::Statement, StoreError> {
        let key = (statement.name, rows);
        if let Some(prepared) = self.prepared.get(&key) {
            return Ok(prepared.clone());
        }
        let mut sql = render::statement(statement.sql, super::Engine::Postgres);
        if rows > 1 {
            let one = self.cached(statement, 1)?;
            sql = render::insert_many(&sql, one.params().len(), rows);
        }
        let prepared = self.client.prepare(&sql).map_err(|error| run_error(statement, &error))?;
        self.prepared.insert(key, prepared.clone());
        Ok(prepared)
    }
}

/// A server's error with its message; the client's own text says only `db error`.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Explained {
    message: String,
}

impl Explained {
    fn new(error: &postgres::Error) -> Self {
        let message = match error.as_db_error() {
            Some(refusal) => format!("{} (SQLSTATE {})", refusal.message(), refusal.code().code()),
            None => match std::error::Error::source(error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
        };
        Self { message }
    }
}

fn run_error(statement: &Statement, cause: &postgres::Error) -> StoreError {
    StoreError::database(format!("run {}", statement.name), Explained::new(cause))
}

type Bound<'v> = Box<dyn ToSql + Sync + 'v>;

fn borrowed<'b>(bound: &'b [Bound<'_>]) -> Vec<&'b (dyn ToSql + Sync)> {
    bound.iter().map(|value| &**value as _).collect()
}

fn bind<'v>(prepared: &postgres::Statement, values: &'v [Value<'_>]) -> Vec<Bound<'v>> {
    let typed = |(index, value)| bind_one(value, prepared.params().get(index).unwrap_or(&Type::TEXT));
    values.iter().enumerate().map(typed).collect()
}

/// Gives a value the type that the statement expects; one that does not fit is refused by the client.
fn bind_one<'v>(value: &'v Value<'_>, expected: &Type) -> Bound<'v> {
    match value {
        Value::Null => match *expected {
            Type::INT4 => Box::new(None::<i32>),
            Type::INT8 => Box::new(None::<i64>),
            Type::TIMESTAMP => Box::new(None::<SystemTime>),
            _ => Box::new(None::<&str>),
        },
        Value::Int(number) => match (expected, i32::try_from(*number)) {
            (&Type::INT4, Ok(small)) => Box::new(small),
            _ => Box::new(*number),
        },
        Value::Text(text) => Box::new(&**text),
        Value::Instant(instant) => Box::new(system_time(*instant)),
    }
}

fn system_time(instant: Timestamp) -> SystemTime {
    let distance = Duration::from_micros(instant.as_micros().unsigned_abs());
    if instant.as_micros() < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let micros = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).ok()?,
        Err(before) => -i64::try_from(before.duration().as_micros()).ok()?,
    };
    Some(Timestamp::from_micros(micros))
}

pub(super) fn column_name(row: &postgres::Row, column: usize) -> String {
    row.columns().get(column).map(|found| found.name().to_owned()).unwrap_or_default()
}

pub(super) fn text(row: &postgres::Row, column: usize) -> Result<Option<String>, String> {
    row.try_get(column).map_err(|error| error.to_string())
}

pub(super) fn int(row: &postgres::Row, column: usize) -> Result<Option<i64>, String> {
    if row.columns().get(column).is_some_and(|found| *found.type_() == Type::INT4) {
        let number: Option<i32> = row.try_get(column).map_err(|error| error.to_string())?;
        return Ok(number.map(i64::from));
    }
    row.try_get(column).map_err(|error| error.to_string())
}

pub(super) fn instant(row: &postgres::Row, column: usize) -> Result<Option<Timestamp>, String> {
    let time: Option<SystemTime> = row.try_get(column).map_err(|error| error.to_string())?;
    match time {
        None => Ok(None),
        Some(time) => timestamp(time).map(Some).ok_or_else(|| format!("{time:?}")),
    }
}

/// Tells `last_event` of every event that any server commits, until `stop` is set. A lost connection is
/// opened again, and the newest number read then, so that nothing is missed for good.
pub(super) fn listen(database: &Database, last_event: &watch::Sender<i64>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        if let Err(error) = listen_once(database, last_event, stop) {
            tracing::warn!(%error, "cannot hear of other servers' events; trying again");
            let mut waited = Duration::ZERO;
            while waited < LISTEN_RETRY && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LISTEN_POLL);
                waited += LISTEN_POLL;
            }
        }
    }
}

fn listen_once(
    database: &Database,
    last_event: &watch::Sender<i64>,
    stop: &AtomicBool,
) -> Result<(), StoreError> {
    let failed = |error: postgres::Error| StoreError::database("listen", Explained::new(&error));
    let mut client = database.connect()?.client;
    client.batch_execute("LISTEN freehold_events").map_err(failed)?;
    let newest = client.query_one("SELECT last_seq FROM event_sequence", &[]).map_err(failed)?;
    crate::event::announce(last_event, newest.try_get(0).map_err(failed)?);
    let mut notifications = client.notifications();
    while !stop.load(Ordering::Relaxed) {
        let mut arrived = notifications.timeout_iter(LISTEN_POLL);
        while let Some(notification) = arrived.next().map_err(failed)? {
            if let Ok(seq) = notification.payload().parse() {
                crate::event::announce(last_event, seq);
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_before_and_after_the_epoch_survive() {
        for micros in [-1, 0, 1, 1_796_026_500_000_001] {
            let instant = Timestamp::from_micros(micros);
            assert_eq!(timestamp(system_time(instant)), Some(instant));
        }
    }
}
