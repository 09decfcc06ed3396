//! Tables, transactions and the outbox, on SQLite and PostgreSQL alike.
