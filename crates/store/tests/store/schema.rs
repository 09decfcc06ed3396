//! The schema: the same on both engines, and never put into another program's database.

use std::collections::BTreeSet;

use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions};
use freehold_testkit::database::TestDatabase;

use crate::fixture::{Fixture, block_on, on_both_engines, postgres, sqlite};

#[test]
fn every_statement_can_be_prepared() {
    on_both_engines("statements", |fixture| {
        let count = block_on(fixture.store.verify_statements()).unwrap();
        assert!(count > 80, "{count} statements");
    });
}

/// One line per fact: a column with type, nullability and default; a unique key; a foreign key; an index.
fn facts(fixture: &Fixture) -> BTreeSet<String> {
    match &fixture.url {
        DatabaseUrl::Sqlite(path) => {
            let connection = sqlite(path);
            let mut query = connection.prepare(SQLITE_FACTS).unwrap();
            let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
            rows.map(Result::unwrap).collect()
        }
        DatabaseUrl::Postgres(url) => {
            let rows = postgres(url).query(POSTGRES_FACTS, &[]).unwrap();
            rows.iter().map(|row| row.get::<_, String>(0)).collect()
        }
    }
}

const SQLITE_FACTS: &str = "
WITH t AS (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%')
SELECT 'column ' || t.name || '.' || c.name || ' ' ||
       CASE lower(c.type) WHEN 'bigint' THEN 'integer' ELSE lower(c.type) END ||
       CASE c.\"notnull\" WHEN 1 THEN ' not null' ELSE '' END || ' default ' || COALESCE(c.dflt_value, '-')
  FROM t, pragma_table_info(t.name) c
UNION ALL
SELECT CASE i.\"unique\" WHEN 1 THEN 'unique ' ELSE 'index ' END || t.name || ' (' ||
       (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno)) || ')' ||
       CASE i.partial WHEN 1 THEN ' partial' ELSE '' END
  FROM t, pragma_index_list(t.name) i
UNION ALL
SELECT 'unique ' || t.name || ' (' || c.name || ')' FROM t, pragma_table_info(t.name) c
 WHERE c.pk = 1 AND lower(c.type) = 'integer'
UNION ALL
SELECT 'foreign key ' || t.name || '.' || f.\"from\" || ' -> ' || f.\"table\" || '.' || f.\"to\" || ' on delete ' ||
       lower(f.on_delete)
  FROM t, pragma_foreign_key_list(t.name) f";

const POSTGRES_FACTS: &str = "
SELECT 'column ' || table_name || '.' || column_name || ' ' ||
       CASE data_type WHEN 'bigint' THEN 'integer' WHEN 'timestamp without time zone' THEN 'timestamp'
            ELSE data_type END ||
       CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END || ' default ' ||
       COALESCE(replace(column_default, '::text', ''), '-')
  FROM information_schema.columns WHERE table_schema = current_schema()
UNION ALL
SELECT CASE WHEN i.indisunique THEN 'unique ' ELSE 'index ' END || t.relname || ' (' ||
       (SELECT string_agg(a.attname, ', ' ORDER BY k.ord) FROM unnest(i.indkey) WITH ORDINALITY AS k(num, ord)
         JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.num) || ')' ||
       CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END
  FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
 WHERE n.nspname = current_schema()
UNION ALL
SELECT 'foreign key ' || c.conrelid::regclass || '.' || a.attname || ' -> ' || c.confrelid::regclass || '.' ||
       f.attname || ' on delete ' || CASE c.confdeltype WHEN 'c' THEN 'cascade' WHEN 'a' THEN 'no action' ELSE '?' END
  FROM pg_constraint c
  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
  JOIN pg_attribute f ON f.attrelid = c.confrelid AND f.attnum = c.confkey[1]
 WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace";

#[test]
fn both_engines_have_the_same_schema() {
    let found = std::sync::Mutex::new(Vec::new());
    on_both_engines("facts", |fixture| found.lock().unwrap().push(facts(fixture)));
    let found = found.into_inner().unwrap();
    let only_in = |one: usize, other: usize| found[one].difference(&found[other]).collect::<Vec<_>>();
    assert!(found[0].len() > 200, "{} facts", found[0].len());
    assert_eq!((only_in(0, 1), only_in(1, 0)), (vec![], vec![]));
}

#[test]
fn the_keys_that_ownership_rests_on_are_there() {
    on_both_engines("keys", |fixture| {
        let facts = facts(fixture);
        for key in [
            "unique task_environments (task_id)",
            "unique task_environment_repos (task_environment_id, repository_id, branch_slug)",
            "unique task_environment_repos (worktree_id) partial",
            "unique executions (session_id)",
            "unique task_sessions (task_id) partial",
            "unique workflow_steps (workflow_id) partial",
            "unique task_resource_cleanup_jobs (operation_id)",
            "foreign key task_environments.task_id -> tasks.id on delete cascade",
            "foreign key task_environment_repos.task_environment_id -> task_environments.id on delete cascade",
            "foreign key task_sessions.task_id -> tasks.id on delete cascade",
        ] {
            assert!(facts.contains(key), "{key}");
        }
        let columns_of =
            |table: &str| facts.iter().filter(|fact| fact.starts_with(&format!("column {table}."))).count();
        assert_eq!((columns_of("task_environments"), columns_of("task_environment_repos")), (13, 14));
    });
}

#[test]
fn foreign_keys_are_enforced() {
    on_both_engines("foreign keys", |fixture| {
        let uses = fixture.task_repository("use", &fixture.task("nobody"));
        let task = fixture.task("somebody");
        let refused = fixture.write(move |tx| freehold_store::task::insert(tx, &task, &[uses])).unwrap_err();
        assert!(matches!(refused, StoreError::Database { .. }), "{refused}");
        assert!(refused.to_string().to_lowercase().contains("foreign key"), "{refused}");
    });
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let holds_notes =
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES (1, 'a')";
    TestDatabase::each("foreign", |url| {
        let url = DatabaseUrl::parse(url).unwrap();
        let bytes = match &url {
            DatabaseUrl::Sqlite(path) => {
                sqlite(path).execute_batch(holds_notes).unwrap();
                Some((path.clone(), std::fs::read(path).unwrap()))
            }
            DatabaseUrl::Postgres(text) => {
                postgres(text).batch_execute(holds_notes).unwrap();
                None
            }
        };
        let refused = Store::open(&url, StoreOptions::default()).map(drop).unwrap_err();
        let expected = "is not a Freehold database: it holds tables notes; nothing was changed";
        assert!(refused.to_string().ends_with(expected), "{refused}");
        if let Some((path, before)) = bytes {
            assert_eq!(std::fs::read(&path).unwrap(), before);
            assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        }
        if let DatabaseUrl::Postgres(text) = &url {
            let count =
                "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()";
            assert_eq!(postgres(text).query_one(count, &[]).unwrap().get::<_, i64>(0), 1);
        }
    });
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    std::fs::write(&path, "Dear reader, ".repeat(100)).unwrap();
    let refused = Store::open(&DatabaseUrl::Sqlite(path.clone()), StoreOptions::default()).map(drop);
    assert!(refused.unwrap_err().to_string().contains("not a database"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "Dear reader, ".repeat(100));
}

#[test]
fn a_database_of_a_newer_version_is_refused() {
    on_both_engines("newer", |fixture| {
        fixture.raw("UPDATE freehold_meta SET value = '99' WHERE key = 'schema_version'");
        let refused = Store::open(&fixture.url, StoreOptions::default()).map(drop).unwrap_err();
        assert!(matches!(&refused, StoreError::UnknownSchema { found, .. } if found == "99"), "{refused}");
    });
}

#[test]
fn two_servers_may_open_one_empty_database_at_once() {
    TestDatabase::each("at once", |url| {
        let url = DatabaseUrl::parse(url).unwrap();
        std::thread::scope(|scope| {
            let open = || Store::open(&url, StoreOptions::default()).map(|store| store.close());
            let (one, two) = (scope.spawn(open), scope.spawn(open));
            one.join().unwrap().unwrap();
            two.join().unwrap().unwrap();
        });
    });
}
