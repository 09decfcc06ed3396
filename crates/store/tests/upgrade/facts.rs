//! What a database's schema says, one line for each fact.

use std::collections::BTreeSet;

use freehold_store::{DatabaseUrl, Store, StoreOptions};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::rows;

const SQLITE: &str = "
WITH t AS (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%')
SELECT 'column ' || t.name || ' ' || c.name || ' ' ||
       CASE lower(c.type) WHEN 'bigint' THEN 'integer' ELSE lower(c.type) END ||
       CASE WHEN c.\"notnull\" = 1 OR c.pk = 1 THEN ' not null' ELSE '' END || ' default ' ||
       COALESCE(c.dflt_value, '-')
  FROM t, pragma_table_info(t.name) c
UNION ALL
SELECT CASE i.\"unique\" WHEN 1 THEN 'unique ' ELSE 'index ' END || t.name || ' (' ||
       COALESCE((SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno)), '') ||
       ')' || CASE i.partial WHEN 1 THEN ' partial' ELSE '' END
  FROM t, pragma_index_list(t.name) i
UNION ALL
SELECT 'named index ' || tbl_name || ' ' || name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
UNION ALL
SELECT 'foreign key ' || t.name || '.' || f.\"from\" || ' -> ' || f.\"table\" || '.' || f.\"to\" || ' ' || f.on_delete
  FROM t, pragma_foreign_key_list(t.name) f";

const POSTGRES: &str = "
SELECT 'column ' || table_name || ' ' || column_name || ' ' || data_type ||
       CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END || ' default ' || COALESCE(column_default, '-')
  FROM information_schema.columns WHERE table_schema = current_schema()
UNION ALL
SELECT 'index ' || tablename || ' ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()
UNION ALL
SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'";

/// Everything that a schema says.
pub(crate) fn of(url: &str) -> BTreeSet<String> {
    let query = if url.starts_with("postgres") { POSTGRES } else { SQLITE };
    rows(url, query).into_iter().collect()
}

/// What a schema says of the two tables of ownership.
pub(crate) fn of_ownership(facts: &BTreeSet<String>) -> Vec<&String> {
    let tables = ["task_environments", "task_environment_repos"];
    let is_of_ownership = |fact: &&String| {
        let words: Vec<&str> = fact.split([' ', '.']).collect();
        words.iter().skip(1).take(2).any(|word| tables.contains(word))
    };
    facts.iter().filter(is_of_ownership).collect()
}

/// The facts of a database that Freehold makes from nothing, on the same engine as another one.
pub(crate) fn of_fresh(like: &str) -> BTreeSet<String> {
    let database =
        if like.starts_with("postgres") { TestDatabase::postgres() } else { TestDatabase::sqlite() };
    let url = DatabaseUrl::parse(database.url()).unwrap();
    Store::open(&url, StoreOptions::default()).unwrap().close();
    of(database.url())
}
