//! Runs of automations: the newest keep their workspaces.

use std::sync::Arc;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::clock::Clock as _;
use freehold_domain::id::TaskId;
use freehold_domain::session::SessionState;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::system::SystemClock;
use freehold_engine::task::NewTask;
use freehold_engine::{Engine, EngineError};
use freehold_git::Git;
use freehold_testkit::clock::ManualClock;

use crate::harness::{
    World, add_repository, new_task, on_both_engines, start_engine_at, start_engine_with, wait_for_job,
    wait_for_session, wait_until_idle, whole, worktree_of,
};

/// A run whose agent has ended its turn and was stopped.
async fn finished_run(engine: &Engine, request: NewTask) -> TaskId {
    let id = engine.create_task(request).await.unwrap();
    let session = wait_until_idle(engine, &id).await.sessions[0].session.id.clone();
    engine.stop_session(session.clone()).await.unwrap();
    wait_for_session(engine, &session, SessionState::Completed).await;
    id
}

#[test]
fn the_newest_runs_keep_their_workspaces_and_older_finished_ones_are_archived_sealed() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let run = |automation: &str| NewTask {
            automation: Some(automation.into()),
            ..new_task(&repository, "a run", "Improve it")
        };
        let mut nightly = Vec::new();
        for _ in 0..3 {
            nightly.push(finished_run(&engine, run(" nightly ")).await);
        }
        let weekly = finished_run(&engine, run("weekly")).await;
        let by_hand = finished_run(&engine, new_task(&repository, "by hand", "Improve it")).await;
        let view = engine.task(nightly[0].clone()).await.unwrap();
        assert_eq!(view.summary.task.automation, "nightly");
        let worktree = worktree_of(&view);
        let before = whole(world, &worktree);
        engine.shutdown().await;

        let engine = start_engine_with(&world.home, &world.url, |options| options.automation_runs = 2).await;
        let jobs = loop {
            let jobs = engine.cleanup_jobs(Some(nightly[0].clone()), None).await.unwrap();
            if !jobs.is_empty() {
                break jobs;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let job = wait_for_job(&engine, &jobs[0]).await;
        assert_eq!((job.trigger, job.state), (CleanupTrigger::AutomationRetention, CleanupState::Succeeded));
        assert!(!worktree.exists());
        for id in [&nightly[1], &nightly[2], &weekly, &by_hand] {
            assert!(engine.task(id.clone()).await.unwrap().summary.task.is_open());
        }
        engine.shutdown().await;

        let engine = world.start().await;
        engine.reopen_task(nightly[0].clone(), Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_run_with_a_live_session_stays_open_until_its_agent_was_idle_for_long_however_many_are_newer() {
    on_both_engines(async |world: &World| {
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let git = Git::open(&world.home.join("scratch")).unwrap();
        let change = |options: &mut freehold_engine::EngineOptions| options.automation_runs = 0;
        let engine = start_engine_at(&world.home, &world.url, git, clock.clone(), change).await;
        let repository = add_repository(&engine, world).await;
        let run =
            NewTask { automation: Some("nightly".into()), ..new_task(&repository, "live", "Improve it") };
        let live = engine.create_task(run.clone()).await.unwrap();
        wait_until_idle(&engine, &live).await;
        let finished = finished_run(&engine, run).await;
        for (ms, id) in [(61_000, &finished), (2 * 60 * 60 * 1_000, &live)] {
            assert!(engine.cleanup_jobs(Some(id.clone()), None).await.unwrap().is_empty());
            clock.advance_ms(ms);
            loop {
                match engine.cleanup_jobs(Some(id.clone()), None).await.unwrap().first() {
                    Some(job) => break drop(wait_for_job(&engine, job).await),
                    None => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
                }
            }
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_name_of_an_automation_is_one_line_that_is_not_empty() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        for odd in ["", "  ", "two\nlines", &"x".repeat(101)] {
            let run = NewTask { automation: Some(odd.into()), ..new_task(&repository, "odd", "") };
            let refused = engine.create_task(run).await;
            assert!(
                matches!(refused, Err(EngineError::InvalidField { field: "automation", .. })),
                "{odd:?}: {refused:?}"
            );
        }
        engine.shutdown().await;
    });
}
