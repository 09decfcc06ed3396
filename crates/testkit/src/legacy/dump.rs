//! A whole database as text: every part of its schema and every row, so that a test can prove that nothing
//! changed.

use postgres::Client;
use rusqlite::Connection;

use super::engine::{self, Engine};

/// Renders a database, one line for each part of the schema and each row, in an order that depends on nothing
/// else than what the database holds. Gives nothing for a file that is not there.
///
/// A line begins with its kind and the table that it is about, as in `row tasks: …`, so that a test can look
/// at a part of it. Kinds on SQLite are `pragma`, `table`, `index`, `trigger`, `view` and `row`; on PostgreSQL
/// `relation`, `column`, `constraint`, `index`, `trigger`, `sequence`, `other` and `row`.
#[must_use]
pub fn dump(url: &str) -> Vec<String> {
    let mut lines = match engine::of(url) {
        Engine::Sqlite if !engine::file_of(url).exists() => Vec::new(),
        Engine::Sqlite => of_sqlite(&engine::sqlite(url)),
        Engine::Postgres => engine::outside_of_a_runtime(|| of_postgres(&mut engine::client(url))),
    };
    lines.sort();
    lines
}

fn of_sqlite(connection: &Connection) -> Vec<String> {
    let single = |query: &str| engine::sqlite_rows(connection, query).into_iter().filter_map(first);
    let mut lines = Vec::new();
    for pragma in ["user_version", "application_id", "encoding"] {
        lines.extend(single(&format!("PRAGMA {pragma}")).map(|value| format!("pragma {pragma}: {value}")));
    }
    lines.extend(single(
        "SELECT type || ' ' || tbl_name || ': ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema",
    ));
    for table in single("SELECT name FROM sqlite_schema WHERE type = 'table'") {
        let columns = format!("SELECT name FROM pragma_table_info('{table}')");
        // `quote` tells a number from a text, and nothing from an empty text.
        let values: Vec<String> = single(&columns).map(|name| format!("quote(\"{name}\")")).collect();
        let rows = format!("SELECT {} FROM \"{table}\"", values.join(" || ', ' || "));
        lines.extend(single(&rows).map(|row| format!("row {table}: {row}")));
    }
    lines
}

/// What belongs to the server and not to the database's owner, as a condition on a schema `n`.
const OURS: &str = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";

/// Each part of a schema as one text, but for the condition [`OURS`].
const PARTS: [&str; 8] = [
    "SELECT concat('relation ', c.oid::regclass, ': ', c.relkind, ' ', c.relpersistence, ' ', c.reloptions, ' ', \
                   pg_get_viewdef(c.oid)) \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c')",
    "SELECT concat('column ', c.oid::regclass, ': ', quote_ident(a.attname), ' ', \
                   row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), ' ', \
                   format_type(a.atttypid, a.atttypmod), ' ', a.attnotnull, ' ', a.attidentity, ' ', \
                   a.attgenerated, ' ', a.attcollation::regcollation, ' ', pg_get_expr(d.adbin, d.adrelid)) \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c')",
    "SELECT concat('constraint ', o.conrelid::regclass, ': ', quote_ident(o.conname), ' ', \
                   pg_get_constraintdef(o.oid), ' ', o.convalidated) \
     FROM pg_constraint o JOIN pg_namespace n ON n.oid = o.connamespace WHERE o.conrelid <> 0",
    "SELECT concat('index ', i.indrelid::regclass, ': ', pg_get_indexdef(i.indexrelid), ' ', i.indisvalid) \
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE true",
    "SELECT concat('trigger ', t.tgrelid::regclass, ': ', pg_get_triggerdef(t.oid), ' ', t.tgenabled) \
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE NOT t.tgisinternal",
    "SELECT concat('sequence ', coalesce(d.refobjid::regclass::text, 'nothing'), ': ', s.seqrelid::regclass, ' ', \
                   format_type(s.seqtypid, NULL), ' ', s.seqstart, ' ', s.seqincrement, ' ', s.seqmin, ' ', \
                   s.seqmax, ' ', s.seqcache, ' ', s.seqcycle, ' at ', \
                   coalesce(pg_sequence_last_value(s.seqrelid)::text, 'the beginning')) \
     FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
     LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid \
                          AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') \
     WHERE true",
    "SELECT concat('other function: ', p.oid::regprocedure, ' ', md5(p.prosrc)) \
     FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE true",
    "SELECT other FROM ( \
         SELECT t.typnamespace AS oid, concat('other type: ', t.oid::regtype, ' ', t.typtype) AS other \
         FROM pg_type t WHERE t.typtype IN ('d', 'e', 'r') \
         UNION ALL SELECT n.oid, concat('other schema: ', n.nspname) FROM pg_namespace n \
         UNION ALL SELECT e.extnamespace, concat('other extension: ', e.extname) FROM pg_extension e \
     ) parts JOIN pg_namespace n USING (oid) WHERE true",
];

fn of_postgres(client: &mut Client) -> Vec<String> {
    let mut single = |query: &str| {
        let rows = engine::postgres_rows(client, query);
        rows.into_iter().filter_map(first).collect::<Vec<String>>()
    };
    let mut lines: Vec<String> =
        PARTS.iter().flat_map(|part| single(&format!("{part} AND {OURS}"))).collect();
    let tables = single(&format!(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'm') AND {OURS}"
    ));
    for table in tables {
        // A row as text puts an empty text into quotes, and leaves nothing where there is none.
        lines.extend(single(&format!("SELECT 'row {table}: ' || t::text FROM {table} t")));
    }
    lines
}

fn first(row: Vec<Option<String>>) -> Option<String> {
    row.into_iter().next().flatten()
}
