//! Two servers on one PostgreSQL, each with a home and a file system of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use freehold_domain::cleanup::{CleanupState, StakeKind};
use freehold_domain::clock::Clock;
use freehold_domain::id::NodeId;
use freehold_engine::cleanup::{CloseAction, CloseTask, Decision};
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::session::NewSession;
use freehold_engine::system::SystemClock;
use freehold_engine::{Engine, EngineError};
use freehold_git::Git;
use freehold_testkit::clock::ManualClock;
use freehold_testkit::database::TestDatabase;

use crate::harness::{
    World, add_repository, files_of, new_task, run, start_engine_at, wait_for_job, wait_until_idle,
    worktree_of,
};

const CONSENT: CloseTask = CloseTask { action: CloseAction::Archive, seals: true };

fn on_postgres(test: impl AsyncFn(&World)) {
    run(&TestDatabase::postgres(), &test);
}

fn home_of(world: &World, node: &str) -> PathBuf {
    world.home.join(node)
}

/// Starts the server of a node, in the node's own home.
async fn server(world: &World, node: &str) -> Engine {
    server_at(world, node, Arc::new(SystemClock)).await
}

async fn server_at(world: &World, node: &str, clock: Arc<dyn Clock>) -> Engine {
    let home = home_of(world, node);
    std::fs::create_dir_all(&home).unwrap();
    let git = Git::open(&home.join("scratch")).unwrap();
    start_engine_at(&home, &world.url, git, clock, |options| {
        options.node_id = NodeId::new(node).unwrap();
        options.hostname = format!("host-of-{node}");
    })
    .await
}

#[test]
fn what_one_server_closes_is_given_back_by_the_server_whose_disk_holds_it() {
    on_postgres(async |world: &World| {
        let (first, second) = (server(world, "first").await, server(world, "second").await);
        let repository = add_repository(&first, world).await;
        let id = first.create_task(new_task(&repository, "far", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&first, &id).await);
        assert!(worktree.starts_with(home_of(world, "first")));

        let job = second.close_task(id.clone(), CONSENT).await.unwrap();
        let job = wait_for_job(&second, &job).await;

        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert_eq!(job.resources().unwrap().node_id, Some(NodeId::new("first").unwrap()));
        assert!(!worktree.exists());
        let seals = second.seals(id.clone()).await.unwrap();
        assert_eq!(seals[0].node_id.as_str(), "first", "the work was sealed where it was");
        let refused = second.reopen_task(id.clone(), Reopening::default()).await.unwrap_err();
        assert_eq!(refused.code(), "sealed_elsewhere");
        first.reopen_task(id, Reopening::default()).await.unwrap();
        assert!(worktree.join("freehold-demo.md").is_file());
        first.shutdown().await;
        second.shutdown().await;
    });
}

#[test]
fn a_job_of_a_stopped_server_waits_for_it_and_says_so() {
    on_postgres(async |world: &World| {
        let first = server(world, "first").await;
        let repository = add_repository(&first, world).await;
        let id = first.create_task(new_task(&repository, "stopped", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&first, &id).await);
        let before = files_of(&worktree);
        first.shutdown().await;

        let later = Arc::new(ManualClock::new(SystemClock.now().plus_millis(60_000)));
        let second = server_at(world, "second", later.clone()).await;
        let job = second.close_task(id.clone(), CONSENT).await.unwrap();
        // The worker of the second server looks at the queue again after each of these.
        for title in ["one", "two", "three"] {
            let other = second.create_task(new_task(&repository, title, "")).await.unwrap();
            wait_until_idle(&second, &other).await;
            let other = second.close_task(other, CONSENT).await.unwrap();
            assert_eq!(wait_for_job(&second, &other).await.state, CleanupState::Succeeded);
        }
        let waiting = second.cleanup_job(job.id.clone()).await.unwrap();
        assert_eq!((waiting.state, waiting.attempts, waiting.fence), (CleanupState::Pending, 0, 0));
        let says = "waits for the server on host-of-first, which has not been seen since";
        assert!(waiting.last_error.starts_with(says), "{}", waiting.last_error);
        let listed = second.cleanup_jobs(Some(id.clone()), None).await.unwrap();
        assert_eq!(listed[0].last_error, waiting.last_error);
        assert!(files_of(&worktree) == before);

        let first = server(world, "first").await;
        let job = wait_for_job(&first, &job).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!worktree.exists());
        first.shutdown().await;
        second.shutdown().await;
    });
}

#[test]
fn a_server_that_is_seen_is_not_said_to_be_missing() {
    on_postgres(async |world: &World| {
        let (first, second) = (server(world, "first").await, server(world, "second").await);
        let repository = add_repository(&first, world).await;
        let id = first.create_task(new_task(&repository, "busy", "")).await.unwrap();
        wait_until_idle(&first, &id).await;
        let job = second.close_task(id, CONSENT).await.unwrap();
        assert_eq!(job.last_error, "");
        wait_for_job(&second, &job).await;
        first.shutdown().await;
        second.shutdown().await;
    });
}

#[test]
fn a_workspace_on_another_server_is_neither_judged_nor_worked_in() {
    on_postgres(async |world: &World| {
        let (first, second) = (server(world, "first").await, server(world, "second").await);
        let repository = add_repository(&first, world).await;
        let id = first.create_task(new_task(&repository, "far", "")).await.unwrap();
        let view = wait_until_idle(&first, &id).await;
        let session = view.sessions[0].session.id.clone();

        let report = second.close_report(id.clone(), CloseAction::Delete).await.unwrap();
        assert_eq!(report.stakes[0].kind, StakeKind::Unknown);
        assert!(report.stakes[0].detail.contains("host-of-first"), "{report:#?}");
        let without = CloseTask { seals: false, ..CONSENT };
        let refused = second.close_task(id.clone(), without).await;
        assert!(matches!(refused, Err(EngineError::AtStake { .. })), "{refused:?}");
        let opened = second.create_session(id.clone(), NewSession::default()).await.unwrap_err();
        let prompted = second.prompt(session.clone(), "list".into()).await.unwrap_err();
        for refused in [opened, prompted] {
            assert_eq!(refused.code(), "workspace_elsewhere");
            assert!(refused.to_string().contains("host-of-first"), "{refused}");
        }
        second.shutdown().await;
        let second = server(world, "second").await;
        let still = first.session(session).await.unwrap().session;
        assert!(still.state.is_live(), "the start of another server interrupts no session: {still:?}");
        assert!(first.task(id).await.unwrap().summary.task.is_open());
        first.shutdown().await;
        second.shutdown().await;
    });
}

#[test]
fn a_server_that_starts_leaves_what_another_prepares_alone() {
    on_postgres(async |world: &World| {
        let first = server(world, "first").await;
        let repository = add_repository(&first, world).await;
        let mut starting: Vec<Engine> = Vec::new();
        for number in 0..4 {
            let title = format!("task {number}");
            let id = first.create_task(new_task(&repository, &title, "")).await.unwrap();
            let view = wait_until_idle(&first, &id).await;
            let name = format!("other-{number}");
            let (closed, other) = tokio::join!(first.close_task(id, CONSENT), server(world, &name));
            starting.push(other);
            let job = wait_for_job(&first, &closed.unwrap()).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
            assert!(!worktree_of(&view).exists());
        }
        first.shutdown().await;
        for other in starting {
            other.shutdown().await;
        }
    });
}

#[test]
fn a_decision_at_one_server_is_carried_out_by_the_server_of_the_workspace() {
    on_postgres(async |world: &World| {
        let (first, second) = (server(world, "first").await, server(world, "second").await);
        let repository = add_repository(&first, world).await;
        let id = first.create_task(new_task(&repository, "nested", "")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&first, &id).await);
        world.repo.git_in(&worktree, &["init", "-q", "inner"]);
        let job = second.close_task(id, CONSENT).await.unwrap();
        let job = wait_for_job(&second, &job).await;
        assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
        assert!(Path::new(&worktree).join("inner/.git").is_dir());
        std::fs::rename(worktree.join("inner"), world.home.join("inner")).unwrap();
        second.decide(job.id.clone(), Decision::Retry).await.unwrap();
        assert_eq!(wait_for_job(&second, &job).await.state, CleanupState::Succeeded);
        assert!(!worktree.exists());
        first.shutdown().await;
        second.shutdown().await;
    });
}
