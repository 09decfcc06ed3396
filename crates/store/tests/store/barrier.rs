//! Barriers against new sessions and environments, in both orders and at once.

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_store::{StoreError, cleanup, environment, session, task};

use crate::fixture::{block_on, id, on_both_engines};

#[test]
fn an_unfinished_barrier_refuses_sessions_and_environments() {
    on_both_engines("barrier", |fixture| {
        let task = fixture.stored_task("task");
        let job = fixture.job("job", &task, CleanupTrigger::Archive);
        fixture.write(move |tx| cleanup::insert_prepared(tx, &job)).unwrap();
        for state in ["prepared", "pending", "running", "retry_wait", "needs_decision"] {
            fixture.raw(&format!("UPDATE task_resource_cleanup_jobs SET state = '{state}'"));
            let session = fixture.session("session", &task);
            let refused = fixture.write(move |tx| session::insert(tx, &session)).unwrap_err();
            let StoreError::Barrier { task_id, job_id, trigger } = refused else { panic!("{refused}") };
            assert_eq!(
                (task_id.as_str(), job_id.as_str(), trigger),
                ("task", "job", CleanupTrigger::Archive)
            );
            let (made, repos) = fixture.environment("env", &task);
            let refused = fixture.write(move |tx| environment::insert_ready(tx, &made, &repos)).unwrap_err();
            assert!(matches!(refused, StoreError::Barrier { .. }), "{state}: {refused}");
        }
        for state in ["succeeded", "failed", "cancelled"] {
            fixture.raw(&format!("UPDATE task_resource_cleanup_jobs SET state = '{state}'"));
            fixture.stored_session(state, &task);
        }
        assert_eq!(fixture.read(|tx| environment::find(tx, &id("env"))), None);
    });
}

#[test]
fn a_failed_creation_is_no_barrier() {
    on_both_engines("failed creation", |fixture| {
        let task = fixture.stored_task("task");
        let job = fixture.job("job", &task, CleanupTrigger::FailedCreation);
        fixture.write(move |tx| cleanup::insert_prepared(tx, &job)).unwrap();
        fixture.stored_session("session", &task);
        let task_id = task.id.clone();
        assert_eq!(fixture.read(move |tx| cleanup::barrier_of(tx, &task_id)), None);
    });
}

#[test]
fn a_closed_task_gets_no_session_and_no_environment() {
    on_both_engines("closed", |fixture| {
        let now = fixture.now();
        let (archived, deleted) = (fixture.stored_task("archived"), fixture.stored_task("deleted"));
        fixture
            .write(move |tx| {
                task::set_archived(tx, &id("archived"), Some(now), now)?;
                task::set_deleted(tx, &id("deleted"), Some(now), now)
            })
            .unwrap();
        for closed in [archived, deleted] {
            let session = fixture.session("session", &closed);
            let refused = fixture.write(move |tx| session::insert(tx, &session)).unwrap_err();
            assert!(
                matches!(&refused, StoreError::TaskClosed { task_id } if *task_id == closed.id),
                "{refused}"
            );
            let (made, repos) = fixture.environment("env", &closed);
            let refused = fixture.write(move |tx| environment::insert_ready(tx, &made, &repos)).unwrap_err();
            assert!(matches!(refused, StoreError::TaskClosed { .. }), "{refused}");
        }
        let orphan = fixture.session("orphan", &fixture.task("nobody"));
        let refused = fixture.write(move |tx| session::insert(tx, &orphan)).unwrap_err();
        assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
    });
}

/// Whichever transaction comes first wins, and the other sees it: the archive's inventory holds what was
/// stored before the barrier, and nothing is stored after it.
#[test]
fn nothing_is_stored_behind_a_barrier_that_races_with_it() {
    on_both_engines("race", |fixture| {
        for round in 0..12 {
            let task = fixture.stored_task(&format!("task{round}"));
            let job = fixture.job(&format!("job{round}"), &task, CleanupTrigger::Delete);
            let (made, repos) = fixture.environment(&format!("env{round}"), &task);
            let session = fixture.session(&format!("session{round}"), &task);
            let reserve = fixture.store.write(move |tx| {
                let job = cleanup::insert_prepared(tx, &job)?;
                let environment = environment::find_by_task(tx, &job.task_id)?;
                Ok::<_, StoreError>((environment.is_some(), session::list_by_task(tx, &job.task_id)?.len()))
            });
            let own = fixture.store.write(move |tx| environment::insert_ready(tx, &made, &repos));
            let visit = fixture.store.write(move |tx| session::insert(tx, &session));
            let (seen, owned, visited) = block_on(async {
                // Polled in turn, so that each is asked for first in some rounds.
                match round % 3 {
                    0 => tokio::join!(reserve, own, visit),
                    1 => {
                        let (owned, visited, seen) = tokio::join!(own, visit, reserve);
                        (seen, owned, visited)
                    }
                    _ => {
                        let (visited, seen, owned) = tokio::join!(visit, reserve, own);
                        (seen, owned, visited)
                    }
                }
            });
            let (environment_seen, sessions_seen) = seen.unwrap();
            assert_eq!(environment_seen, owned.is_ok(), "round {round}");
            assert_eq!(sessions_seen, usize::from(visited.is_ok()), "round {round}");
            let refusals = [owned.err(), visited.err()];
            for refused in refusals.into_iter().flatten() {
                assert!(matches!(refused, StoreError::Barrier { .. }), "{refused}");
            }
        }
        let jobs = fixture.read(|tx| cleanup::list(tx, None, Some(CleanupState::Prepared)));
        assert_eq!(jobs.len(), 12);
    });
}
