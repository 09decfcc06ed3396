//! Whole upgrades: every shape of database becomes Freehold's, and what people had in it is still there.

use freehold_domain::id::{SessionId, TaskId, WorkspaceId};
use freehold_store::task::TaskFilter;
use freehold_store::upgrade::Shape;
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions, message, session, task};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{LegacyDatabase, Revision, WORKSPACE, dump, rows};

use crate::facts;
use crate::fixture::{fill, upgrade};

/// Columns that old databases have with a default of their own, which Freehold never relies on.
const OTHER_DEFAULTS: [&str; 4] = [
    "column repositories worktree_branch_prefix ",
    "column task_session_messages updated_at ",
    "column workflow_steps created_at ",
    "column workflow_steps updated_at ",
];

fn shape_of(revision: Revision) -> Shape {
    match revision {
        Revision::Release085 | Revision::BeforeCutover => Shape::Legacy,
        Revision::Normalised => Shape::Normalised,
        Revision::Hybrid => Shape::Hybrid,
    }
}

/// Fails unless the schema is that of a fresh database, but for tables and columns that are kept beside it.
#[track_caller]
fn assert_complete(url: &str) {
    let (now, fresh) = (facts::of(url), facts::of_fresh(url));
    assert_eq!(facts::of_ownership(&now), facts::of_ownership(&fresh));
    let is_missing = |fact: &&String| {
        !now.contains(*fact) && !OTHER_DEFAULTS.iter().any(|column| fact.starts_with(column))
    };
    let missing: Vec<_> = fresh.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let is_left = |fact: &&String| fact.contains("task_session_worktrees") || fact.contains("_shadow");
    let left: Vec<_> = now.iter().filter(is_left).collect();
    assert!(left.is_empty(), "{left:#?}");
}

/// Opens the database as a server does, and reads every list of it.
#[track_caller]
fn assert_readable(url: &str) {
    let store = Store::open(&DatabaseUrl::parse(url).unwrap(), StoreOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(runtime.block_on(store.verify_statements()).unwrap() > 80);
    let tasks = rows(url, "SELECT id FROM tasks");
    let sessions = rows(url, "SELECT id FROM task_sessions");
    let count = tasks.len();
    let listed = runtime.block_on(store.read(move |tx| {
        let workspace = WorkspaceId::new(WORKSPACE).unwrap();
        let mut listed = 0;
        for archived in [false, true] {
            let filter = TaskFilter { archived, ..TaskFilter::default() };
            listed += task::list_page(tx, &workspace, &filter, None, 100)?.items.len();
        }
        for id in tasks {
            session::list_by_task(tx, &TaskId::new(&id).unwrap())?;
        }
        for id in sessions {
            message::page_before(tx, &SessionId::new(&id).unwrap(), None, 100)?;
        }
        Ok::<_, StoreError>(listed)
    }));
    assert_eq!(listed.unwrap(), count);
    store.close();
}

/// Upgrades a filled database of the old release, then looks at it.
fn upgraded(name: &str, look: impl Fn(&str)) {
    TestDatabase::each(name, |url| {
        fill(url, Revision::Release085);
        upgrade(url).unwrap();
        look(url);
    });
}

#[test]
fn every_old_database_becomes_one_of_freehold_and_a_second_time_nothing_changes() {
    for revision in Revision::ALL {
        TestDatabase::each(&format!("filled {revision:?}"), |url| {
            fill(url, revision);
            assert_eq!(upgrade(url).unwrap().found, shape_of(revision));
            assert_complete(url);
            let before = dump(url);
            let again = upgrade(url).unwrap();
            assert_eq!((again.found, again.upgrade), (Shape::Final, None));
            assert_eq!(dump(url), before);
            assert_readable(url);
        });
    }
}

#[test]
fn an_empty_old_database_becomes_one_of_freehold() {
    for revision in Revision::ALL {
        TestDatabase::each(&format!("empty {revision:?}"), |url| {
            drop(LegacyDatabase::create(url, revision));
            let done = upgrade(url).unwrap();
            assert_eq!(done.found, shape_of(revision));
            assert_eq!(done.upgrade.unwrap().plan.worktrees_owned, 0);
            assert_complete(url);
            assert_readable(url);
        });
    }
}

#[test]
fn nothing_at_all_becomes_a_fresh_database() {
    TestDatabase::each("fresh", |url| {
        let done = upgrade(url).unwrap();
        assert_eq!((done.found, done.upgrade), (Shape::Fresh, None));
        assert_eq!(facts::of(url), facts::of_fresh(url));
        assert_eq!(upgrade(url).unwrap().found, Shape::Final);
        if let Some(path) = url.strip_prefix("sqlite://") {
            assert!(!std::path::Path::new(path).parent().unwrap().join("backups").exists());
        }
    });
}

#[test]
fn a_database_of_an_unknown_program_is_refused_unchanged() {
    for tables in [
        "CREATE TABLE notes (id INTEGER PRIMARY KEY)",
        // Names that look familiar do not make it one.
        "CREATE TABLE tasks (id TEXT, title TEXT); CREATE TABLE task_session_worktrees (id TEXT)",
        "CREATE TABLE tasks (id TEXT, title TEXT); CREATE TABLE workspaces (id TEXT, name TEXT); \
         CREATE TABLE task_sessions (id TEXT, task_id TEXT)",
    ] {
        TestDatabase::each("foreign", |url| {
            LegacyDatabase::open(url, 0).sql(tables);
            let before = dump(url);
            let refused = upgrade(url).unwrap_err();
            assert!(matches!(refused, StoreError::NotFreehold { .. }), "{refused}");
            assert_eq!(dump(url), before);
            if let Some(path) = url.strip_prefix("sqlite://") {
                assert_eq!(
                    std::fs::read_dir(std::path::Path::new(path).parent().unwrap()).unwrap().count(),
                    1
                );
            }
        });
    }
}

#[test]
fn a_normalised_database_keeps_the_rows_of_its_ownership() {
    TestDatabase::each("normalised", |url| {
        fill(url, Revision::Normalised);
        let given_back = [
            ("id", "repo-of-given-back"),
            ("task_environment_id", "environment-of-owner"),
            ("repository_id", "another-repository"),
            ("worktree_id", "given-back"),
            ("status", "deleted"),
            ("created_at", "2026-10-01 00:00:00+00:00"),
            ("updated_at", "2026-10-01 00:00:00+00:00"),
            ("deleted_at", "2026-10-01 00:00:00+00:00"),
        ];
        LegacyDatabase::open(url, 40).insert("task_environment_repos", &given_back);
        let ownership = || {
            let repos = "SELECT id, task_environment_id, repository_id, branch_slug, worktree_id, worktree_path, \
                         worktree_branch, position, status, deleted_at IS NULL FROM task_environment_repos ORDER BY id";
            let environments = "SELECT id, task_id, executor_type, executor_id, status, workspace_path \
                                FROM task_environments ORDER BY id";
            let links = "SELECT id, task_environment_id FROM task_sessions WHERE task_environment_id <> '' ORDER BY id";
            [repos, environments, links].map(|query| rows(url, query))
        };
        let before = ownership();
        upgrade(url).unwrap();
        assert_eq!(ownership(), before);
        assert_eq!(before[0].len(), 3);
        assert_eq!(rows(url, "SELECT worktree_id FROM unowned_worktrees"), [""; 0]);
    });
}

/// Makes a database of Freehold with a worktree whose origin is recorded, and starts an old program on it.
fn start_old_program_on_a_final_database(url: &str) -> LegacyDatabase {
    Store::open(&DatabaseUrl::parse(url).unwrap(), StoreOptions::default()).unwrap().close();
    let mut database = LegacyDatabase::open(url, 0);
    let dates = [("created_at", "2026-10-01 00:00:00+00:00"), ("updated_at", "2026-10-01 00:00:00+00:00")];
    database.insert("workspaces", &[&[("id", WORKSPACE), ("name", "Mine")], &dates[..]].concat());
    database.task("owner").environment("environment", "owner").with("workspace_path", "/worktrees/own");
    database.environment_repo("environment", "own").with("id", "repo-of-own");
    database.insert(
        "task_environment_repo_origins",
        &[
            ("environment_repo_id", "repo-of-own"),
            ("base_branch", "main"),
            ("base_commit", "abc"),
            ("registration", "own"),
            ("device", "7"),
            ("inode", "9"),
        ],
    );
    database.sql(
        "CREATE TABLE task_session_worktrees (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, worktree_id TEXT NOT \
         NULL, repository_id TEXT NOT NULL, branch_slug TEXT NOT NULL DEFAULT '', position INTEGER DEFAULT 0, \
         worktree_path TEXT DEFAULT '', worktree_branch TEXT DEFAULT '', status TEXT NOT NULL DEFAULT 'active', \
         created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, merged_at TIMESTAMP, deleted_at TIMESTAMP)",
    );
    database
}

#[test]
fn a_final_database_on_which_an_old_program_was_started_is_final_again_and_keeps_what_it_recorded() {
    for has_row in [false, true] {
        TestDatabase::each(&format!("stale table, row: {has_row}"), |url| {
            let mut database = start_old_program_on_a_final_database(url);
            if has_row {
                let columns = [("id", "session"), ("task_id", "owner"), ("state", "RUNNING"), ("name", "S")];
                let dates = [
                    ("started_at", "2026-10-01 00:00:00+00:00"),
                    ("updated_at", "2026-10-01 00:00:00+00:00"),
                ];
                database.insert("task_sessions", &[&columns[..], &dates].concat());
                database.session_worktree("session", "stale");
            }
            let recorded = "SELECT * FROM task_environment_repo_origins";
            let before = rows(url, recorded);
            assert_eq!(upgrade(url).unwrap().found, Shape::Hybrid);
            assert_eq!(rows(url, recorded), before);
            assert_eq!(rows(url, "SELECT id, worktree_id FROM task_environment_repos"), ["repo-of-own|own"]);
            let lost = if has_row { vec!["stale|demoted|owner"] } else { vec![] };
            assert_eq!(rows(url, "SELECT worktree_id, reason, task_id FROM unowned_worktrees"), lost);
            assert_eq!(facts::of(url), facts::of_fresh(url));
            assert_eq!(upgrade(url).unwrap().found, Shape::Final);
            LegacyDatabase::open(url, 90).sql("DELETE FROM unowned_worktrees");
            assert_readable(url);
        });
    }
}

#[test]
fn an_upgraded_database_is_upgraded_again_after_an_old_program_was_started_on_it() {
    TestDatabase::each("started again", |url| {
        fill(url, Revision::Release085);
        upgrade(url).unwrap();
        let ownership = "SELECT id, worktree_id, worktree_path FROM task_environment_repos ORDER BY id";
        let lost = "SELECT id, worktree_id, reason FROM unowned_worktrees ORDER BY id";
        let before = [rows(url, ownership), rows(url, lost)];
        LegacyDatabase::open(url, 90).sql(
            "CREATE TABLE task_session_worktrees (id TEXT PRIMARY KEY, session_id TEXT, worktree_id TEXT)",
        );
        assert_eq!(upgrade(url).unwrap().found, Shape::Hybrid);
        assert_eq!([rows(url, ownership), rows(url, lost)], before);
        assert_complete(url);
    });
}

#[test]
fn tasks_keep_what_they_were() {
    let kept =
        "SELECT id, title, state, labels, parent_id, position, archived_at IS NULL FROM tasks ORDER BY id";
    TestDatabase::each("tasks", |url| {
        fill(url, Revision::BeforeCutover);
        let before = rows(url, kept);
        upgrade(url).unwrap();
        assert_eq!(rows(url, kept), before);
        let archived = before[0].replace("|f", "|0");
        assert_eq!(archived, r#"archived|Title of archived|COMPLETED|["red"]|owner|7|0"#);
    });
}

#[test]
fn tasks_stand_on_a_board_of_their_workspace() {
    upgraded("boards", |url| {
        assert_eq!(
            rows(url, "SELECT id, workspace_id, workflow_id, workflow_step_id FROM tasks ORDER BY id"),
            [
                "archived|workspace-1|board|last",
                "borrower|workspace-1|board|first",
                "homeless|workspace-1|board|first",
                "owner|workspace-1|board|first",
            ]
        );
    });
    TestDatabase::each("no board", |url| {
        LegacyDatabase::create(url, Revision::Release085).task("a").sql("DELETE FROM workspaces");
        upgrade(url).unwrap();
        let place = "SELECT t.id, w.name, b.name, s.name, s.is_start_step FROM tasks t \
                     JOIN workspaces w ON w.id = t.workspace_id \
                     JOIN workflows b ON b.id = t.workflow_id AND b.workspace_id = w.id \
                     JOIN workflow_steps s ON s.id = t.workflow_step_id AND s.workflow_id = b.id";
        let placed = rows(url, place);
        assert_eq!(placed.len(), 1);
        assert!(placed[0].starts_with("a|Default|Board|") && placed[0].ends_with("|1"), "{placed:?}");
    });
}

#[test]
fn messages_are_numbered_in_order_and_know_their_length() {
    upgraded("messages", |url| {
        assert_eq!(
            rows(
                url,
                "SELECT task_session_id, ordinal, content, content_units FROM task_session_messages \
                 ORDER BY task_session_id, ordinal"
            ),
            [
                "of-homeless|1|Naïve|5",
                "of-owner|1||0",
                "of-owner|2|Hello|5",
                "of-owner|3|It is 🦀, a crab, and 𝄞, a clef|32",
            ]
        );
        let units = "It is 🦀, a crab, and 𝄞, a clef".encode_utf16().count();
        assert_eq!(units, 32);
    });
}

#[test]
fn messages_of_the_same_instant_keep_the_order_in_which_they_were_stored() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    let mut old = LegacyDatabase::create(url, Revision::Release085);
    old.task("t").session("s", "t", "IDLE");
    for (id, content) in [("z", "first"), ("a", "second"), ("m", "third")] {
        old.message("s", content).with("id", id).with("created_at", "2026-10-01 00:00:00+00:00");
    }
    upgrade(url).unwrap();
    let said = rows(url, "SELECT content FROM task_session_messages ORDER BY ordinal");
    assert_eq!(said, ["first", "second", "third"]);
}

#[test]
fn times_of_other_shapes_are_compared_as_instants_and_stored_in_one_shape() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    let mut old = LegacyDatabase::create(url, Revision::Release085);
    old.task("t").with("archived_at", "long ago").session("s", "t", "IDLE");
    for (content, at) in [
        ("third", "2026-10-01 12:00:00.5+02:00"),
        ("second", "2026-10-01T10:00:00.4Z"),
        ("first", "2026-10-01 10:00:00"),
        ("last", "2026-10-01 09:00:00.000000001-02:00"),
    ] {
        old.message("s", content).with("created_at", at);
    }
    let done = upgrade(url).unwrap().upgrade.unwrap();
    assert_eq!(
        rows(url, "SELECT ordinal, content, created_at FROM task_session_messages ORDER BY ordinal"),
        [
            "1|first|2026-10-01 10:00:00.000000+00:00",
            "2|second|2026-10-01 10:00:00.400000+00:00",
            "3|third|2026-10-01 10:00:00.500000+00:00",
            "4|last|2026-10-01 11:00:00.000000+00:00",
        ]
    );
    // What is no time is one all the same: the task stays archived.
    assert_eq!(rows(url, "SELECT archived_at FROM tasks"), ["1970-01-01 00:00:00.000000+00:00"]);
    assert!(done.notes.iter().any(|note| note.contains("\"long ago\"")), "{:?}", done.notes);
}

#[test]
fn turns_have_ended_and_every_task_has_one_primary_session() {
    upgraded("turns", |url| {
        let turns = rows(url, "SELECT stop_reason, completed_at = updated_at FROM task_session_turns");
        assert!(
            turns.iter().all(|turn| ["interrupted|1", "interrupted|t"].contains(&turn.as_str())),
            "{turns:?}"
        );
        assert_eq!(turns.len(), 2);
        assert_eq!(
            rows(
                url,
                "SELECT id, is_primary, state, acp_session_id FROM task_sessions WHERE task_id <> 'gone' ORDER BY id"
            ),
            [
                "of-borrower|1|IDLE|",
                "of-homeless|1|FAILED|",
                "of-owner|0|WAITING_FOR_INPUT|conversation-1",
                "second-of-owner|1|COMPLETED|",
            ]
        );
        assert_eq!(
            rows(url, "SELECT state, error_message FROM task_sessions WHERE id = 'of-nobody'"),
            ["CANCELLED|the task it belonged to is gone"]
        );
    });
}

#[test]
fn tables_that_freehold_does_not_use_stay_as_they_are() {
    let of_others = |url: &str| {
        let tables = [
            "notes",
            "secrets",
            "task_comments",
            "session_step_history",
            "users",
            "executors_running",
            "kandev_meta",
        ];
        let is_of_others = |line: &String| {
            let table = line.split(' ').nth(1).unwrap_or_default();
            tables.iter().any(|name| table == format!("{name}:"))
        };
        dump(url).into_iter().filter(is_of_others).collect::<Vec<_>>()
    };
    for revision in Revision::ALL {
        TestDatabase::each(&format!("others, {revision:?}"), |url| {
            fill(url, revision);
            let before = of_others(url);
            let done = upgrade(url).unwrap().upgrade.unwrap();
            assert_eq!(of_others(url), before);
            assert!(before.len() > 12, "{before:#?}");
            assert!(done.unused.contains(&("notes".to_owned(), 1)), "{:?}", done.unused);
        });
    }
}

#[test]
fn cleanup_jobs_of_a_preview_are_gone_and_the_others_are_as_they_were() {
    let job = "SELECT id, operation_id, task_id, trigger, state, resource_snapshot, attempts, next_attempt_at, \
               last_error, created_at, updated_at, completed_at FROM task_resource_cleanup_jobs ORDER BY id";
    TestDatabase::each("jobs", |url| {
        fill(url, Revision::Release085);
        let before = rows(url, job);
        upgrade(url).unwrap();
        assert_eq!(rows(url, job), before[..1]);
        assert!(
            before[0].starts_with("kept-job|archive:archived:kept-job|archived|archive|pending|"),
            "{before:?}"
        );
    });
}

#[test]
fn worktrees_have_owners_and_the_rest_is_recorded() {
    upgraded("worktrees", |url| {
        assert_eq!(
            rows(
                url,
                "SELECT e.task_id, r.branch_slug, r.worktree_id, r.worktree_path, r.worktree_branch, r.status \
                 FROM task_environment_repos r JOIN task_environments e ON e.id = r.task_environment_id \
                 ORDER BY r.worktree_id"
            ),
            [
                "owner|second|second-worktree|/worktrees/second-worktree|feature/second-worktree|active",
                "homeless||worktree-of-homeless|/worktrees/worktree-of-homeless|feature/worktree-of-homeless|active",
                "owner||worktree-of-owner|/worktrees/worktree-of-owner|feature/worktree-of-owner|active",
            ]
        );
        assert_eq!(
            rows(
                url,
                "SELECT worktree_id, worktree_path, reason, task_id FROM unowned_worktrees ORDER BY worktree_id"
            ),
            [
                "collapsed-worktree|/worktrees/collapsed|collapsed_environment|owner",
                "deleted-worktree|/worktrees/deleted-worktree|deleted|",
                "older-worktree|/worktrees/older-worktree|demoted|owner",
            ]
        );
        assert_eq!(
            rows(
                url,
                "SELECT s.id, e.task_id FROM task_sessions s LEFT JOIN task_environments e \
                 ON e.id = s.task_environment_id ORDER BY s.id"
            ),
            [
                "of-borrower|owner",
                "of-homeless|homeless",
                "of-nobody|NULL",
                "of-owner|owner",
                "second-of-owner|owner"
            ]
        );
    });
}

#[test]
fn what_is_missing_or_unknown_in_a_row_stops_nothing() {
    TestDatabase::each("damage", |url| {
        let mut old = LegacyDatabase::create(url, Revision::Release085);
        old.let_tasks_have_many_environments();
        old.task("t").with_null("state").with_null("labels");
        old.task("u").with("state", "SOMETHING_NEW");
        old.flat_environment("e", "t", "w");
        for column in ["repository_id", "worktree_path", "worktree_branch", "workspace_path", "control_port"]
        {
            old.with_null(column);
        }
        old.environment("of-nobody", "gone").with("worktree_id", "v").environment_repo("nowhere", "z");
        old.session("s", "t", "EXPLODED").with_null("task_environment_id").with_null("is_primary");
        old.session_worktree("s", "w").with_null("worktree_path").with_null("position");
        let done = upgrade(url).unwrap().upgrade.unwrap();
        assert_eq!(
            rows(url, "SELECT id, state, error_message FROM tasks ORDER BY id"),
            [
                "t|TODO|its state was \"\" before the upgrade",
                "u|TODO|its state was \"SOMETHING_NEW\" before the upgrade",
            ]
        );
        assert_eq!(
            rows(url, "SELECT state, error_message FROM task_sessions"),
            ["FAILED|its state was \"EXPLODED\" before the upgrade"]
        );
        assert_eq!(
            rows(url, "SELECT worktree_id, reason FROM unowned_worktrees ORDER BY worktree_id"),
            ["v|missing_task", "z|missing_environment"]
        );
        assert!(done.notes.len() >= 3, "{:?}", done.notes);
        assert_readable(url);
    });
}
