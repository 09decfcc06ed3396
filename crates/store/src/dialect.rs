//! Every difference between the two engines.

/// One of the two database engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, embedded.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}
