//! Sub-tasks: closed and brought back with the task that they are parts of, each through a job of its own.

use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger};
use freehold_domain::id::TaskId;
use freehold_engine::cleanup::{CloseAction, CloseTask, Reach};
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::task::{NewTask, TaskView};
use freehold_engine::{Engine, EngineError};

use crate::harness::{
    World, add_repository, close, commit_all, new_task, on_both_engines, on_sqlite, wait_for_job,
    wait_until_idle, whole, worktree_of,
};

pub(crate) async fn sub_task(engine: &Engine, parent: &TaskId, title: &str) -> TaskId {
    let task = NewTask {
        title: Some(title.into()),
        prompt: "Improve it".into(),
        parent_id: Some(parent.clone()),
        start: true,
        ..NewTask::default()
    };
    let id = engine.create_task(task).await.unwrap();
    wait_until_idle(engine, &id).await;
    id
}

/// A task, its part, and the part of that.
async fn three_generations(engine: &Engine, world: &World) -> [TaskId; 3] {
    let repository = add_repository(engine, world).await;
    let root = engine.create_task(new_task(&repository, "root", "Improve it")).await.unwrap();
    wait_until_idle(engine, &root).await;
    let part = sub_task(engine, &root, "part").await;
    let leaf = sub_task(engine, &part, "leaf").await;
    [root, part, leaf]
}

pub(crate) async fn wait_for_jobs(engine: &Engine, jobs: Vec<CleanupJob>) -> Vec<CleanupJob> {
    let mut ended = Vec::new();
    for job in &jobs {
        ended.push(wait_for_job(engine, job).await);
    }
    ended
}

const WITH_PARTS: Reach =
    Reach { sub_tasks: true, borrowers: freehold_engine::cleanup::BorrowerPolicy::Transfer };

const fn ask(action: CloseAction, seals: bool) -> CloseTask {
    CloseTask { action, seals }
}

#[test]
fn a_cascade_closes_every_part_through_its_own_job_and_brings_every_byte_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let family = three_generations(&engine, world).await;
        for (action, triggers) in [
            (CloseAction::Archive, [CleanupTrigger::Archive, CleanupTrigger::CascadeArchive]),
            (CloseAction::Delete, [CleanupTrigger::Delete, CleanupTrigger::CascadeDelete]),
        ] {
            let mut before = Vec::new();
            for id in &family {
                let worktree = worktree_of(&engine.task(id.clone()).await.unwrap());
                before.push((whole(world, &worktree), worktree));
            }
            let jobs = engine.close_tasks(family[0].clone(), ask(action, true), WITH_PARTS).await.unwrap();
            let jobs = wait_for_jobs(&engine, jobs).await;
            let told: Vec<(TaskId, CleanupTrigger, CleanupState)> =
                jobs.iter().map(|job| (job.task_id.clone(), job.trigger, job.state)).collect();
            let [root, part, leaf] = family.clone();
            let done = CleanupState::Succeeded;
            assert_eq!(
                told,
                [(root, triggers[0], done), (part, triggers[1], done), (leaf, triggers[1], done)]
            );
            assert!(world.worktrees().is_empty(), "{:?}", world.worktrees());

            let offered: Vec<TaskId> = engine
                .closed_with(family[0].clone())
                .await
                .unwrap()
                .into_iter()
                .map(|task| task.id)
                .collect();
            assert_eq!(offered, family[1..]);
            let back = engine.reopen_family(family[0].clone(), Reopening::default()).await.unwrap();
            assert!(back.iter().all(|task| task.error.is_none()), "{back:?}");
            for (was, worktree) in &before {
                assert_eq!(whole(world, worktree), *was, "{action:?}");
            }
            assert_eq!(parent_of(&engine, &family[2]).await, Some(family[1].clone()));
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_cascade_asks_for_all_that_is_at_stake_together_and_changes_nothing_before() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let family = three_generations(&engine, world).await;
        let mut worktrees = Vec::new();
        for id in &family {
            worktrees.push(worktree_of(&engine.task(id.clone()).await.unwrap()));
        }
        commit_all(world, &worktrees[1]);
        let refused =
            engine.close_tasks(family[0].clone(), ask(CloseAction::Archive, false), WITH_PARTS).await;
        let Err(EngineError::AtStake { task_id, stakes, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(task_id, family[0]);
        let mut places: Vec<&str> = stakes.iter().map(|stake| stake.worktree_path.as_str()).collect();
        places.dedup();
        assert_eq!(places, [worktrees[0].to_str().unwrap(), worktrees[2].to_str().unwrap()]);
        assert!(engine.cleanup_jobs(None, None).await.unwrap().is_empty());
        for id in &family {
            assert!(engine.task(id.clone()).await.unwrap().summary.task.is_open());
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_part_that_is_not_closed_with_its_parent_stands_by_itself_until_the_parent_is_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let [root, part, leaf] = three_generations(&engine, world).await;
        let report = engine.close_report(root.clone(), CloseAction::Archive).await.unwrap();
        let titles: Vec<&str> = report.sub_tasks.iter().map(|task| task.title.as_str()).collect();
        assert_eq!(titles, ["part", "leaf"]);
        let job = close(&engine, &root, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded);
        assert_eq!(parent_of(&engine, &part).await, None);
        assert_eq!(parent_of(&engine, &leaf).await, Some(part.clone()));
        assert!(worktree_of(&engine.task(part.clone()).await.unwrap()).is_dir());
        assert!(engine.closed_with(root.clone()).await.unwrap().is_empty());
        engine.reopen_task(root.clone(), Reopening::default()).await.unwrap();
        assert_eq!(parent_of(&engine, &part).await, Some(root));
        engine.shutdown().await;
    });
}

#[test]
fn a_parent_must_be_open_near_and_not_too_deep() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let quiet = |parent: &TaskId| NewTask {
            parent_id: Some(parent.clone()),
            start: false,
            ..new_task(&repository, "part", "")
        };
        let nobody: TaskId = "nobody".parse().unwrap();
        let refused = engine.create_task(quiet(&nobody)).await;
        assert!(matches!(refused, Err(EngineError::NotFound { .. })), "{refused:?}");

        let mut deepest = engine.create_task(new_task(&repository, "top", "")).await.unwrap();
        let top = deepest.clone();
        for _ in 1..freehold_domain::task::MAX_TASK_DEPTH {
            deepest = engine.create_task(quiet(&deepest)).await.unwrap();
        }
        let refused = engine.create_task(quiet(&deepest)).await;
        assert!(matches!(refused, Err(EngineError::InvalidField { field: "parent_id", .. })), "{refused:?}");
        let jobs =
            engine.close_tasks(top.clone(), ask(CloseAction::Archive, true), WITH_PARTS).await.unwrap();
        assert_eq!(jobs.len(), freehold_domain::task::MAX_TASK_DEPTH);
        let refused = engine.create_task(quiet(&top)).await;
        assert!(
            matches!(refused, Err(EngineError::Barrier { .. } | EngineError::TaskClosed { .. })),
            "{refused:?}"
        );
        engine.shutdown().await;
    });
}

async fn parent_of(engine: &Engine, id: &TaskId) -> Option<TaskId> {
    let view: TaskView = engine.task(id.clone()).await.unwrap();
    view.summary.task.parent_id
}
