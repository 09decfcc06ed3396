//! Cleanup jobs: claims, leases, fences and their ends.

use freehold_domain::cleanup::{
    CleanupJob, CleanupState, CleanupTrigger, Lease, ResourceSnapshot, Snapshot, Stake, StakeKind,
};
use freehold_store::cleanup::{self, Claim, CleanupOutcome};
use freehold_store::{StoreError, task};

use crate::fixture::{Fixture, block_on, id, on_both_engines};

fn pending_job(fixture: &Fixture, name: &str) -> CleanupJob {
    let task = fixture.stored_task(&format!("{name}-task"));
    let job = fixture.job(name, &task, CleanupTrigger::Archive);
    let now = fixture.now();
    fixture
        .write(move |tx| {
            let job = cleanup::insert_prepared(tx, &job)?;
            cleanup::activate(tx, &job.id, now)?;
            cleanup::require(tx, &job.id)
        })
        .unwrap()
}

fn next_due(fixture: &Fixture) -> Option<freehold_domain::clock::Timestamp> {
    fixture.read(|tx| cleanup::next_due(tx, &id("a")))
}

fn claim(fixture: &Fixture, node: &'static str) -> Option<CleanupJob> {
    let now = fixture.now();
    claimed(fixture.write(move |tx| cleanup::claim_next(tx, &id(node), now, 10_000, |_| true)).unwrap())
}

fn claimed(claim: Claim) -> Option<CleanupJob> {
    match claim {
        Claim::Job(job) => Some(*job),
        Claim::Unwanted | Claim::Nothing => None,
    }
}

#[test]
fn a_job_is_prepared_inventoried_and_activated() {
    on_both_engines("prepare", |fixture| {
        let task = fixture.stored_task("task");
        let job = fixture.job("job", &task, CleanupTrigger::Delete);
        let mut again = job.clone();
        again.id = id("again");
        let stored = job.clone();
        assert_eq!(fixture.write(move |tx| cleanup::insert_prepared(tx, &stored)).unwrap(), job);
        let same = fixture.write(move |tx| cleanup::insert_prepared(tx, &again)).unwrap();
        assert_eq!(same, job, "a repeated request is the same job");
        assert_eq!(fixture.read(cleanup::list_prepared), std::slice::from_ref(&job));
        assert_eq!(claim(fixture, "a"), None, "a prepared job cannot be claimed");
        assert_eq!(next_due(fixture), None);

        let snapshot = ResourceSnapshot { task_dir_name: "dir".to_owned(), ..ResourceSnapshot::default() };
        let (kept, now) = (snapshot.clone(), fixture.now());
        fixture
            .write(move |tx| {
                cleanup::store_snapshot(tx, &id("job"), &kept, now)?;
                cleanup::activate(tx, &id("job"), now)
            })
            .unwrap();
        let found = fixture.read(|tx| cleanup::require(tx, &id("job")));
        let snapshot = Snapshot::Own(snapshot);
        assert_eq!(found, CleanupJob { state: CleanupState::Pending, snapshot, ..job });
        assert_eq!(next_due(fixture), Some(found.created_at));
        let refused = fixture.write(move |tx| cleanup::activate(tx, &id("job"), now)).unwrap_err();
        assert_eq!(refused.to_string(), "cleanup job job is pending and cannot become pending");
    });
}

#[test]
fn one_of_two_workers_gets_the_job() {
    on_both_engines("claim", |fixture| {
        for round in 0..8 {
            let job = pending_job(fixture, &format!("job{round}"));
            let now = fixture.now();
            let claim_as = |node: &'static str| {
                fixture.store.write(move |tx| cleanup::claim_next(tx, &id(node), now, 10_000, |_| true))
            };
            let (a, b): (Result<_, StoreError>, Result<_, StoreError>) =
                block_on(async { tokio::join!(claim_as("a"), claim_as("b")) });
            let won: Vec<_> = [a.unwrap(), b.unwrap()].into_iter().filter_map(claimed).collect();
            assert_eq!(won.len(), 1, "round {round}");
            assert_eq!((&won[0].id, won[0].state), (&job.id, CleanupState::Running));
            assert_eq!((won[0].attempts, won[0].fence), (1, 1));
            let won = job.id;
            fixture.write(move |tx| cleanup::finish(tx, &won, 1, &CleanupOutcome::Succeeded, now)).unwrap();
        }
    });
}

#[test]
fn a_job_is_left_to_the_node_that_can_reach_its_worktrees() {
    on_both_engines("node", |fixture| {
        pending_job(fixture, "job");
        let snapshot = ResourceSnapshot { node_id: Some(id("a")), ..ResourceSnapshot::default() };
        let now = fixture.now();
        fixture.write(move |tx| cleanup::store_snapshot(tx, &id("job"), &snapshot, now)).unwrap();
        assert_eq!(claim(fixture, "b"), None, "its file system is another");
        let first = claim(fixture, "a").unwrap();
        assert_eq!(claim(fixture, "a"), None, "it works on it");
        fixture.write(|tx| cleanup::release_all(tx, &id("b"))).unwrap();
        assert_eq!(claim(fixture, "a"), None, "another node has nothing to release there");
        fixture.write(|tx| cleanup::release_all(tx, &id("a"))).unwrap();
        let again = claim(fixture, "a").unwrap();
        assert_eq!((first.fence, again.fence), (1, 2), "what its earlier life held is due at once");
    });
}

#[test]
fn a_worker_gets_the_oldest_job_that_it_wants() {
    on_both_engines("wanted", |fixture| {
        for name in ["first", "second"] {
            pending_job(fixture, name);
            fixture.clock.advance_ms(1);
        }
        let wants = |wanted: &'static [&'static str]| {
            let now = fixture.now();
            let write = fixture.write(move |tx| {
                cleanup::claim_next(tx, &id("a"), now, 10_000, |job| wanted.contains(&job.id.as_str()))
            });
            write.unwrap()
        };
        assert_eq!(wants(&[]), Claim::Unwanted);
        assert_eq!(claimed(wants(&["second"])).unwrap().id, id("second"));
        assert_eq!(wants(&["second"]), Claim::Unwanted, "it is worked on, and the first is not wanted");
        assert_eq!(claimed(wants(&["first", "second"])).unwrap().id, id("first"));
        assert_eq!(wants(&["first", "second"]), Claim::Nothing);
    });
}

#[test]
fn an_expired_lease_is_taken_over_and_the_stale_worker_refused() {
    on_both_engines("lease", |fixture| {
        pending_job(fixture, "job");
        let first = claim(fixture, "a").unwrap();
        assert_eq!(
            first.lease,
            Some(Lease { owner: id("a"), expires_at: fixture.now().plus_millis(10_000) })
        );
        assert_eq!(next_due(fixture), Some(fixture.now().plus_millis(10_000)));
        fixture.clock.advance_ms(9_999);
        assert_eq!(claim(fixture, "b"), None, "the lease holds");
        let now = fixture.now();
        assert!(fixture.write(move |tx| cleanup::heartbeat(tx, &id("job"), 1, now, 10_000)).unwrap());
        fixture.clock.advance_ms(5_000);
        assert_eq!(claim(fixture, "b"), None, "the lease was extended");
        fixture.clock.advance_ms(5_000);
        let second = claim(fixture, "b").unwrap();
        assert_eq!((second.fence, second.attempts), (2, 2));

        let now = fixture.now();
        assert!(!fixture.write(move |tx| cleanup::heartbeat(tx, &id("job"), 1, now, 10_000)).unwrap());
        let refused = fixture
            .write(move |tx| cleanup::finish(tx, &id("job"), 1, &CleanupOutcome::Succeeded, now))
            .unwrap_err();
        assert!(matches!(refused, StoreError::StaleFence { fence: 1, .. }), "{refused}");
        assert_eq!(fixture.read(|tx| cleanup::require(tx, &id("job"))), second);
        fixture.write(move |tx| cleanup::finish(tx, &id("job"), 2, &CleanupOutcome::Succeeded, now)).unwrap();
        let done = fixture.read(|tx| cleanup::require(tx, &id("job")));
        assert_eq!((done.state, done.completed_at, done.lease), (CleanupState::Succeeded, Some(now), None));
        assert_eq!(claim(fixture, "b"), None);
    });
}

#[test]
fn a_failed_attempt_waits_for_its_retry() {
    on_both_engines("retry", |fixture| {
        pending_job(fixture, "job");
        claim(fixture, "a").unwrap();
        let (now, at) = (fixture.now(), fixture.now().plus_millis(1_000));
        let outcome = CleanupOutcome::RetryWait { at, error: "busy".to_owned() };
        fixture.write(move |tx| cleanup::finish(tx, &id("job"), 1, &outcome, now)).unwrap();
        let waiting = fixture.read(|tx| cleanup::require(tx, &id("job")));
        assert_eq!((waiting.state, waiting.next_attempt_at), (CleanupState::RetryWait, Some(at)));
        assert_eq!(waiting.last_error, "busy");
        assert_eq!(next_due(fixture), Some(at));
        assert_eq!(claim(fixture, "a"), None);
        fixture.clock.advance_ms(1_000);
        let again = claim(fixture, "a").unwrap();
        assert_eq!((again.attempts, again.fence, again.next_attempt_at), (2, 2, None));
    });
}

#[test]
fn a_decision_sends_a_job_on_or_calls_it_off() {
    on_both_engines("decision", |fixture| {
        pending_job(fixture, "job");
        let stakes = vec![Stake {
            kind: StakeKind::Untracked,
            worktree_path: "/managed/x".to_owned(),
            items: vec!["notes.txt".to_owned()],
            total: 1,
            detail: "One file is not tracked.".to_owned(),
        }];
        claim(fixture, "a").unwrap();
        let now = fixture.now();
        let outcome = CleanupOutcome::NeedsDecision { stakes: stakes.clone(), error: "work".to_owned() };
        fixture.write(move |tx| cleanup::finish(tx, &id("job"), 1, &outcome, now)).unwrap();
        let waiting = fixture.read(|tx| cleanup::require(tx, &id("job")));
        assert_eq!((waiting.state, &waiting.stakes), (CleanupState::NeedsDecision, &stakes));
        assert_eq!(claim(fixture, "a"), None);
        fixture.write(move |tx| cleanup::requeue(tx, &id("job"), now)).unwrap();
        let again = claim(fixture, "a").unwrap();
        assert_eq!((again.attempts, again.fence, again.stakes.len()), (1, 2, 0));
        let refused = fixture.write(move |tx| cleanup::cancel(tx, &id("job"), now)).unwrap_err();
        assert!(matches!(refused, StoreError::CleanupStep { from: CleanupState::Running, .. }), "{refused}");
        let outcome = CleanupOutcome::Failed { error: "gave up".to_owned() };
        fixture.write(move |tx| cleanup::finish(tx, &id("job"), 2, &outcome, now)).unwrap();
        fixture.write(move |tx| cleanup::cancel(tx, &id("job"), now)).unwrap();
        let off = fixture.read(|tx| cleanup::require(tx, &id("job")));
        assert_eq!((off.state, off.completed_at), (CleanupState::Cancelled, Some(now)));
        assert!(fixture.write(move |tx| cleanup::requeue(tx, &id("job"), now)).is_err());
    });
}

#[test]
fn jobs_are_listed_newest_first_by_task_and_state() {
    on_both_engines("list", |fixture| {
        pending_job(fixture, "one");
        fixture.clock.advance_ms(1);
        pending_job(fixture, "two");
        claim(fixture, "a").unwrap();
        let names = |jobs: Vec<CleanupJob>| jobs.iter().map(|job| job.id.to_string()).collect::<Vec<_>>();
        assert_eq!(names(fixture.read(|tx| cleanup::list(tx, None, None))), ["two", "one"]);
        let of_one = fixture.read(|tx| cleanup::list(tx, Some(&id("one-task")), None));
        assert_eq!(names(of_one), ["one"]);
        let running = fixture.read(|tx| cleanup::list(tx, None, Some(CleanupState::Running)));
        assert_eq!(names(running), ["one"], "the oldest is claimed first");
    });
}

#[test]
fn a_job_outlives_the_task_it_deletes() {
    on_both_engines("outlive", |fixture| {
        let job = pending_job(fixture, "job");
        fixture.write(move |tx| task::delete_row(tx, &job.task_id)).unwrap();
        assert!(claim(fixture, "a").is_some());
        let orphan = fixture.job("orphan", &fixture.task("gone"), CleanupTrigger::FailedCreation);
        fixture.write(move |tx| cleanup::insert_prepared(tx, &orphan)).unwrap();
    });
}

#[test]
fn a_row_that_cannot_be_read_keeps_no_other_job_waiting() {
    on_both_engines("unreadable", |fixture| {
        for (name, state) in [("a-bad", "pending"), ("b-bad", "prepared")] {
            fixture.raw(&format!(
                "INSERT INTO task_resource_cleanup_jobs (id, operation_id, task_id, trigger, state, created_at, \
                 updated_at) VALUES ('{name}', '{name}', '', 'archive', '{state}', '2020-01-01 00:00:00', \
                 '2020-01-01 00:00:00')"
            ));
        }
        let good = pending_job(fixture, "good");
        assert_eq!(claim(fixture, "a").map(|job| job.id), Some(good.id.clone()));
        assert_eq!(claim(fixture, "a"), None, "and no other is left");
        let listed = fixture.read(|tx| cleanup::list(tx, None, None));
        assert_eq!(listed.into_iter().map(|job| job.id).collect::<Vec<_>>(), [good.id]);
        assert_eq!(fixture.read(cleanup::list_prepared), []);
        let parked = fixture.write(|tx| cleanup::require(tx, &id("a-bad"))).unwrap_err();
        assert!(parked.to_string().contains("task_resource_cleanup_jobs.task_id"), "{parked}");
    });
}
