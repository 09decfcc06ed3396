//! Cleanup jobs of another program.

use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger};
use freehold_domain::id::{CleanupJobId, TaskId};
use freehold_engine::cleanup::{CloseAction, Decision};
use freehold_engine::session::NewSession;
use freehold_engine::{Engine, EngineError};

use super::{WHEN, insert, quiet_task, read, scene};
use crate::harness::{World, close, on_both_engines, wait_for_job, wait_until_idle, worktree_of};

fn store_job(world: &World, id: &str, task: &str, trigger: &str, state: &str, snapshot: &str) {
    insert(
        world,
        "task_resource_cleanup_jobs",
        &[
            ("id", id),
            ("operation_id", &format!("{trigger}:{id}:{task}")),
            ("task_id", task),
            ("trigger", trigger),
            ("state", state),
            ("resource_snapshot", snapshot),
            ("created_at", WHEN),
            ("updated_at", WHEN),
        ],
    );
}

async fn job(engine: &Engine, id: &str) -> CleanupJob {
    engine.cleanup_job(CleanupJobId::new(id).unwrap()).await.unwrap()
}

async fn settled(engine: &Engine, id: &str) -> CleanupJob {
    wait_for_job(engine, &job(engine, id).await).await
}

const TRIGGERS: [&str; 8] = [
    "archive",
    "delete",
    "cascade_archive",
    "cascade_delete",
    "workspace_delete",
    "quick_chat_expire",
    "reconcile",
    "a_word_of_theirs",
];

#[test]
fn an_unfinished_job_of_another_program_waits_for_a_person_and_its_record_stays() {
    on_both_engines(async |world: &World| {
        let (engine, _, _) = scene(world).await;
        engine.shutdown().await;
        let states = ["prepared", "pending", "running", "retry_wait"];
        let mut names = Vec::new();
        for (number, trigger) in TRIGGERS.iter().enumerate() {
            for state in states {
                let name = format!("{trigger}-{state}");
                let snapshot = ["{}", r#"{"task":"t"}"#, "no JSON", ""][number % 4];
                store_job(world, &name, &format!("gone-{name}"), trigger, state, snapshot);
                names.push(name);
            }
        }
        for state in ["succeeded", "failed", "cancelled", "parked"] {
            store_job(world, state, "gone", "archive", state, "{}");
        }
        let records =
            "SELECT id, operation_id, trigger, resource_snapshot FROM task_resource_cleanup_jobs ORDER BY id";
        let before = read(world, records);

        let engine = world.start().await;
        for name in &names {
            let job = settled(&engine, name).await;
            assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
            assert!(job.last_error.contains("another program"), "{job:#?}");
            assert!(job.stakes.is_empty() && job.resources().is_none(), "{job:#?}");
        }
        let states = ["succeeded", "failed", "cancelled"].map(|word| word.parse::<CleanupState>().unwrap());
        for state in states {
            assert_eq!(job(&engine, state.as_str()).await.state, state, "what has ended stays as it is");
        }
        let odd = job(&engine, "parked").await;
        assert_eq!(odd.state, CleanupState::NeedsDecision);
        assert!(odd.last_error.contains("parked"), "{odd:#?}");
        assert_eq!(job(&engine, "a_word_of_theirs-pending").await.trigger, CleanupTrigger::Unknown);
        let waiting = engine.cleanup_jobs(None, Some(CleanupState::NeedsDecision)).await.unwrap();
        assert_eq!(waiting.len(), names.len() + 1);
        assert_eq!(read(world, records), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_job_of_another_program_can_only_be_called_off_and_then_bars_nothing() {
    on_both_engines(async |world: &World| {
        let (engine, repository, other) = scene(world).await;
        let id = quiet_task(&engine, &repository, "barred").await;
        engine.start_task(id.clone()).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        engine.shutdown().await;
        store_job(world, "theirs", id.as_str(), "archive", "prepared", r#"{"task":"t"}"#);

        let engine = world.start().await;
        let theirs = settled(&engine, "theirs").await;
        let barred = engine.create_session(id.clone(), NewSession::default()).await;
        assert!(matches!(barred, Err(EngineError::Barrier { .. })), "{barred:?}");
        for decision in [Decision::Retry, Decision::Discard { phrase: "discard 0".into() }] {
            let refused = engine.decide(theirs.id.clone(), decision).await.unwrap_err();
            assert!(refused.to_string().contains("then archive or delete the task again"), "{refused}");
        }
        let own = close(&engine, &other, CloseAction::Archive).await;
        assert_eq!(own.state, CleanupState::Succeeded, "it does not stop the others: {own:#?}");

        let kept = engine.decide(theirs.id.clone(), Decision::Keep).await.unwrap();
        assert_eq!(kept.state, CleanupState::Cancelled);
        assert!(worktree.is_dir(), "nothing was removed");
        engine.create_session(id.clone(), NewSession::default()).await.unwrap();
        assert!(task_is_listed(&engine, &id).await);
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded, "by Freehold's own inventory");
        assert!(!worktree.exists());
        engine.shutdown().await;
    });
}

async fn task_is_listed(engine: &Engine, id: &TaskId) -> bool {
    let query = freehold_engine::task::TaskListQuery { limit: 200, ..Default::default() };
    engine.tasks(query).await.unwrap().items.iter().any(|item| item.task.id == *id)
}
