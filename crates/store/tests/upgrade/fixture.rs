//! Old databases with something of everything in them, and the upgrade as tests call it.

use freehold_domain::clock::Timestamp;
use freehold_store::upgrade::{Initialise, Initialised, Resolutions, initialise};
use freehold_store::{DatabaseUrl, StoreError};
use freehold_testkit::legacy::{LegacyDatabase, REPOSITORY, Revision, WORKSPACE, instant};

/// The instant at which tests upgrade.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_796_026_500_000_001);

/// Upgrades, with answers to conflicts.
pub(crate) fn upgrade_with(url: &str, answers: &[&str]) -> Result<Initialised, StoreError> {
    let resolutions = Resolutions::parse(answers)?;
    let request = Initialise { may_upgrade: true, resolutions, now: NOW, progress: &|_| {} };
    initialise(&DatabaseUrl::parse(url)?, &request)
}

/// Upgrades.
pub(crate) fn upgrade(url: &str) -> Result<Initialised, StoreError> {
    upgrade_with(url, &[])
}

/// Whether an old database of this shape holds worktrees in columns of an environment.
pub(crate) fn is_flat(revision: Revision) -> bool {
    matches!(revision, Revision::Release085 | Revision::BeforeCutover)
}

/// Makes an old database with tasks, sessions, conversations and worktrees, which nobody must be asked about.
pub(crate) fn fill(url: &str, revision: Revision) {
    LegacyDatabase::create(url, revision).at_once(|database| {
        fill_tasks(database, revision);
        fill_sessions(database);
        if revision != Revision::Normalised {
            fill_session_worktrees(database, revision);
        }
        fill_conversations(database);
        fill_rest(database);
    });
}

fn fill_tasks(database: &mut LegacyDatabase, revision: Revision) {
    database.repository(REPOSITORY);
    fill_board(database);
    database.task("owner").task_repository("owner", REPOSITORY);
    if is_flat(revision) {
        database.flat_environment("environment-of-owner", "owner", "worktree-of-owner");
        database.environment_repo("environment-of-owner", "second-worktree").with("branch_slug", "second");
    } else {
        database.environment("environment-of-owner", "owner").with("workspace_path", "/worktrees");
        database.environment_repo("environment-of-owner", "second-worktree").with("branch_slug", "second");
        database.with("status", "merged").with("merged_at", &instant(9));
        database.environment_repo("environment-of-owner", "worktree-of-owner");
    }
}

fn fill_board(database: &mut LegacyDatabase) {
    let (at, step) = (instant(0), "workflow_id");
    let dates = [("created_at", at.as_str()), ("updated_at", at.as_str())];
    let workflow = [("id", "board"), ("workspace_id", WORKSPACE), ("name", "Board"), dates[0], dates[1]];
    database.insert("workflows", &workflow);
    for (id, position, is_start) in [("first", "0", "1"), ("last", "1", "0")] {
        let columns = [("id", id), (step, "board"), ("name", id), ("position", position)];
        let columns = [&columns[..], &[("is_start_step", is_start)], &dates].concat();
        database.insert("workflow_steps", &columns);
    }
    database
        .task("archived")
        .with("workflow_id", "board")
        .with("workflow_step_id", "last")
        .with("state", "COMPLETED")
        .with("labels", r#"["red"]"#)
        .with("parent_id", "owner")
        .with("position", "7")
        .with("archived_at", &instant(3));
}

fn fill_sessions(database: &mut LegacyDatabase) {
    database.session("of-owner", "owner", "WAITING_FOR_INPUT");
    database.with("task_environment_id", "environment-of-owner").with("is_primary", "1");
    database.session("second-of-owner", "owner", "COMPLETED").with("is_primary", "1");
    database.task("homeless").with("workspace_id", "gone").with("workflow_step_id", "gone");
    database.session("of-homeless", "homeless", "FAILED");
    database.task("borrower").with("workflow_id", "board").with("workflow_step_id", "first");
    database.session("of-borrower", "borrower", "IDLE").with("task_environment_id", "environment-of-owner");
    database.session("of-nobody", "gone", "RUNNING");
}

/// Rows that old versions left; with an environment's own rows beside them, none of them owns a worktree of it.
fn fill_session_worktrees(database: &mut LegacyDatabase, revision: Revision) {
    database.session_worktree("of-owner", "worktree-of-owner");
    database.session_worktree("second-of-owner", "older-worktree");
    database.session_worktree("of-homeless", "worktree-of-homeless");
    database.session_worktree("of-borrower", "worktree-of-owner");
    database.session_worktree("gone", "deleted-worktree").with("deleted_at", &instant(9));
    if is_flat(revision) {
        database.let_tasks_have_many_environments();
        database
            .environment("collapsed", "owner")
            .with("updated_at", &instant(0))
            .with("created_at", &instant(0));
        database.with("worktree_id", "collapsed-worktree").with("worktree_path", "/worktrees/collapsed");
    }
}

fn fill_conversations(database: &mut LegacyDatabase) {
    database.message("of-owner", "Hello");
    database.message("of-owner", "It is 🦀, a crab, and 𝄞, a clef").with("id", "a-message-with-an-early-id");
    database.message("of-owner", "").with("created_at", &instant(1));
    database.message("of-homeless", "Naïve");
}

fn fill_rest(database: &mut LegacyDatabase) {
    database.cleanup_job("kept-job", "archived", "archive").with("resource_snapshot", r#"{"odd": [1]}"#);
    database.cleanup_job("preview-job", "owner", "session_delete");
    let at = instant(4);
    let dates = [("created_at", at.as_str()), ("updated_at", at.as_str())];
    let running = [
        ("id", "of-owner"),
        ("session_id", "of-owner"),
        ("task_id", "owner"),
        ("executor_id", "exec-worktree"),
        ("resume_token", "conversation-1"),
    ];
    database.insert("executors_running", &[&running[..], &dates].concat());
    let comment = [("id", "comment-1"), ("task_id", "owner"), ("author_type", "user"), ("author_id", "me")];
    database.insert("task_comments", &[&comment[..], &[("body", "Mine"), dates[0]]].concat());
    database.insert("secrets", &[("id", "secret-1"), ("name", "key"), ("sealed", "sealed"), dates[0]]);
    database.sql("CREATE TABLE notes (note TEXT); INSERT INTO notes VALUES ('untouched')");
}
