//! What the old databases of tests have and tell.

use super::*;
use crate::database::TestDatabase;

fn each(name: &str, test: impl Fn(&str, Revision)) {
    for revision in Revision::ALL {
        TestDatabase::each(&format!("{name}, {revision:?}"), |url| test(url, revision));
    }
}

fn columns_of(url: &str, table: &str) -> Vec<String> {
    let query = match engine::of(url) {
        engine::Engine::Sqlite => format!("SELECT name FROM pragma_table_info('{table}') ORDER BY name"),
        engine::Engine::Postgres => format!(
            "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' ORDER BY column_name"
        ),
    };
    rows(url, &query)
}

#[test]
fn ownership_has_the_shape_of_its_revision() {
    each("ownership", |url, revision| {
        drop(LegacyDatabase::create(url, revision));
        let has = |table: &str, column: &str| columns_of(url, table).iter().any(|name| name == column);
        assert_eq!(has("task_environments", "worktree_id"), revision.is_flat());
        assert_eq!(has("task_environment_repos", "status"), !revision.is_flat());
        assert_eq!(has("task_session_worktrees", "id"), revision != Revision::Normalised);
        assert_eq!(has("workflows", "prompt"), revision != Revision::Release085);
        assert_eq!(has("task_sessions", "container_id"), url.starts_with("postgres"));
        assert_eq!(rows(url, "SELECT value FROM kandev_meta"), [revision.version()]);
    });
}

#[test]
fn rows_are_stored_with_what_was_said_and_defaults_for_the_rest() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    LegacyDatabase::create(url, Revision::BeforeCutover)
        .repository(REPOSITORY)
        .task("task-1")
        .with("priority", "high")
        .task_repository("task-1", REPOSITORY)
        .flat_environment("environment-1", "task-1", "worktree-1")
        .environment_repo("environment-1", "worktree-2")
        .with("branch_slug", "it's")
        .session("session-1", "task-1", "RUNNING")
        .session_worktree("session-1", "worktree-1")
        .with("id", "row-1")
        .with_null("worktree_path")
        .message("session-1", "Hello")
        .message("session-1", "Again")
        .cleanup_job("job-1", "task-1", "archive");
    assert_eq!(rows(url, "SELECT title, priority FROM tasks"), ["Title of task-1|high"]);
    assert_eq!(
        rows(url, "SELECT rowid, title FROM tasks_fts WHERE tasks_fts MATCH 'title'"),
        ["1|Title of task-1"]
    );
    assert_eq!(
        rows(url, "SELECT worktree_id, worktree_path, workspace_path FROM task_environments"),
        ["worktree-1|/worktrees/worktree-1|/worktrees/worktree-1"]
    );
    assert_eq!(rows(url, "SELECT branch_slug FROM task_environment_repos"), ["it's"]);
    assert_eq!(
        rows(
            url,
            "SELECT id, worktree_path, worktree_branch, status, updated_at FROM task_session_worktrees"
        ),
        ["row-1|NULL|feature/worktree-1|active|2026-10-01 00:11:20.967653928+00:00"]
    );
    assert_eq!(rows(url, "SELECT content, turn_id FROM task_session_messages ORDER BY created_at").len(), 2);
    assert_eq!(rows(url, "SELECT id, task_id FROM task_session_turns"), ["turn-of-session-1|task-1"]);
    assert_eq!(rows(url, "SELECT operation_id FROM task_resource_cleanup_jobs"), ["archive:task-1:job-1"]);
}

#[test]
fn every_row_fits_on_both_engines_also_without_its_parent() {
    each("rows", |url, revision| {
        let mut database = LegacyDatabase::create(url, revision);
        database.repository(REPOSITORY).with("workspace_id", "gone");
        database.let_tasks_have_many_environments();
        database.task("task-1").task_repository("task-1", "gone");
        database.environment("environment-1", "task-1").environment("environment-2", "task-1");
        database.environment("environment-3", "gone").environment_repo("gone", "worktree-1");
        database.session("session-1", "gone", "FAILED").message("gone", "Hello");
        database.cleanup_job("job-1", "gone", "session_delete");
        if revision != Revision::Normalised {
            database.session_worktree("gone", "worktree-1").with("deleted_at", &instant(5));
        }
        assert_eq!(rows(url, "SELECT count(*) FROM task_environments"), ["3"]);
    });
}

#[test]
fn a_dump_is_the_same_until_something_changes() {
    each("dump", |url, revision| {
        let mut database = LegacyDatabase::create(url, revision);
        database.task("task-1").session("session-1", "task-1", "IDLE");
        database.sql(
            "INSERT INTO session_step_history (session_id, to_step_id, trigger, created_at) \
                      VALUES ('session-1', 'step-1', 'manual', '2026-10-01 00:00:00')",
        );
        let before = dump(url);
        assert_eq!(before, dump(url));
        assert!(
            before.iter().any(|line| line.starts_with("row tasks: ") && line.contains("task-1")),
            "{before:#?}"
        );
        for change in [
            "UPDATE tasks SET description = NULL",
            "ALTER TABLE tasks ADD COLUMN extra TEXT",
            "CREATE INDEX extra ON tasks (extra)",
            "DROP INDEX idx_task_sessions_state",
            "INSERT INTO session_step_history (session_id, to_step_id, trigger, created_at) \
             VALUES ('session-1', 'step-1', 'manual', '2026-10-01 00:00:00'); \
             DELETE FROM session_step_history WHERE id = 2",
            "CREATE TABLE more (id TEXT)",
        ] {
            let before = dump(url);
            database.sql(change);
            assert_ne!(dump(url), before, "{change}");
        }
    });
}

#[test]
fn a_dump_of_postgres_knows_the_names_that_the_move_left() {
    let database = TestDatabase::postgres();
    drop(LegacyDatabase::create(database.url(), Revision::Normalised));
    let lines = dump(database.url());
    let has = |kind: &str, text: &str| lines.iter().any(|line| line.starts_with(kind) && line.contains(text));
    for name in [
        "task_environments_shadow_pkey",
        "task_environment_repos_shadow_pkey",
        "task_environments_task_id_fkey",
        "task_environment_repos_task_environment_id_fkey",
        "task_environment_repos_env_repo_branch_key",
    ] {
        assert!(has("constraint", name), "{name} in {lines:#?}");
    }
    assert!(has("sequence session_step_history", "at the beginning"), "{lines:#?}");
    assert!(has("column tasks", "title"), "{lines:#?}");
}

#[test]
fn rows_that_are_stored_at_once_are_the_same_as_one_by_one() {
    let fill = |database: &mut LegacyDatabase| {
        database.task("task-1").session("session-1", "task-1", "IDLE").with("id", "session-2");
        database.message("session-2", "It's; one text").sql("DELETE FROM users");
    };
    for make in [TestDatabase::sqlite, TestDatabase::postgres] {
        let (one_by_one, at_once) = (make(), make());
        fill(&mut LegacyDatabase::create(one_by_one.url(), Revision::Release085));
        LegacyDatabase::create(at_once.url(), Revision::Release085).at_once(fill);
        assert_eq!(dump(at_once.url()), dump(one_by_one.url()));
    }
}
