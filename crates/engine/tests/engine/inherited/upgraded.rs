//! A whole older database, upgraded and then served.

use freehold_domain::cleanup::CleanupState;
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{CleanupJobId, SessionId, TaskId};
use freehold_domain::session::SessionState;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::session::NewSession;
use freehold_engine::task::TaskListQuery;
use freehold_store::DatabaseUrl;
use freehold_store::upgrade::{Initialise, Resolutions, initialise};
use freehold_testkit::legacy::{LegacyDatabase, REPOSITORY, Revision};

use super::foreign_worktree;
use crate::harness::{World, close, on_both_engines, wait_for_job, wait_for_session};

/// Fills an older database with a task that has a session, a conversation, a worktree and a cleanup job.
fn fill(world: &World) {
    let path = foreign_worktree(world, "wt").display().to_string();
    LegacyDatabase::create(&world.url, Revision::Release085)
        .repository(REPOSITORY)
        .with("local_path", &world.repo.path().display().to_string())
        .with("default_branch", "main")
        .task("t")
        .task_repository("t", REPOSITORY)
        .flat_environment("e", "t", "wt")
        .with("worktree_path", &path)
        .with("workspace_path", &path)
        .with("status", "stopped")
        .session("s", "t", "WAITING_FOR_INPUT")
        .with("task_environment_id", "e")
        .session_worktree("s", "wt")
        .with("worktree_path", &path)
        .message("s", "first")
        .with("metadata", "[1]")
        .message("s", "second")
        .with("type", "tool_edit")
        .message("s", "third")
        .with("type", "permission_request")
        .cleanup_job("j", "t", "archive")
        .with("state", "prepared")
        .with("resource_snapshot", r#"{"task":"t"}"#);
}

fn upgrade(world: &World) {
    let request = Initialise {
        may_upgrade: true,
        resolutions: Resolutions::default(),
        now: Timestamp::from_micros(1_796_026_500_000_000),
        progress: &|_| {},
    };
    initialise(&DatabaseUrl::parse(&world.url).unwrap(), &request).unwrap();
}

#[test]
fn an_upgraded_database_is_served_from_the_board_to_the_archive() {
    on_both_engines(async |world: &World| {
        fill(world);
        upgrade(world);
        let (task, session) = (TaskId::new("t").unwrap(), SessionId::new("s").unwrap());

        let engine = world.start().await;

        let board = engine.tasks(TaskListQuery { limit: 200, ..Default::default() }).await.unwrap().items;
        assert_eq!(board.len(), 1, "{board:#?}");
        assert_eq!(engine.session(session.clone()).await.unwrap().session.state, SessionState::Interrupted);
        let said = engine.messages(session, None, 500).await.unwrap().items;
        let contents: Vec<&str> = said.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(contents[..3], ["first", "second", "third"]);
        let changes = engine.changes(task.clone()).await.unwrap().remove(0);
        assert_eq!((changes.error_message.as_str(), changes.inferred_base.as_deref()), ("", Some("main")));

        let job = engine.cleanup_job(CleanupJobId::new("j").unwrap()).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
        engine.decide(job.id, freehold_engine::cleanup::Decision::Keep).await.unwrap();
        let demo = Some("demo".parse().unwrap());
        let request = NewSession { agent_profile_id: demo, prompt: None };
        let visit = engine.create_session(task.clone(), request).await.unwrap().session.id;
        wait_for_session(&engine, &visit, SessionState::Idle).await;
        let closed = close(&engine, &task, CloseAction::Archive).await;
        assert_eq!(closed.state, CleanupState::Succeeded, "{closed:#?}");
        assert_eq!(world.worktrees(), [] as [&str; 0]);
        engine.shutdown().await;
    });
}
