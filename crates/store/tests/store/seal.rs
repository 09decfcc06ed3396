//! Seals and the trash: what brings a closed task back is kept, everything else goes with age.

use freehold_domain::cleanup::CleanupTrigger;
use freehold_domain::environment::EnvironmentRepoStatus;
use freehold_domain::seal::{SealKind, SealLeftOut, WorkspaceSeal};
use freehold_domain::task::Task;
use freehold_store::environment::RevivedRepo;
use freehold_store::{StoreError, cleanup, environment, seal, task};

use crate::fixture::{Fixture, id, on_both_engines};

/// A seal of one worktree of a task, taken some milliseconds from now.
fn seal_of(fixture: &Fixture, name: &str, task: &Task, after_ms: i64) -> WorkspaceSeal {
    WorkspaceSeal {
        kind: SealKind::Worktree,
        id: id(name),
        task_id: task.id.clone(),
        job_id: id("job"),
        node_id: id("node"),
        environment_repo_id: Some(id(&format!("{}-repo", task.id))),
        repository_id: fixture.repository.id.clone(),
        repository_path: "/code/sample".to_owned(),
        worktree_path: "/managed/one/sample".to_owned(),
        commit: "b".repeat(40),
        branch: "freehold/it".to_owned(),
        file_count: 3,
        size_bytes: 4_096,
        left_out: vec![SealLeftOut { path: "target".into(), size_bytes: None, reason: "disposable".into() }],
        created_at: fixture.now().plus_millis(after_ms),
    }
}

#[test]
fn a_seal_is_stored_once_and_read_as_it_was() {
    on_both_engines("seal", |fixture| {
        let task = fixture.stored_task("task");
        let (first, second) = (seal_of(fixture, "one", &task, 0), seal_of(fixture, "two", &task, 1));
        let again = WorkspaceSeal { commit: "c".repeat(40), ..first.clone() };
        let stored = [first.clone(), second.clone(), again];
        fixture.write(move |tx| stored.iter().try_for_each(|one| seal::insert(tx, one))).unwrap();
        let task_id = task.id.clone();
        assert_eq!(fixture.read(move |tx| seal::of_task(tx, &task_id)), [second, first.clone()]);
        assert_eq!(fixture.read(|tx| seal::require(tx, &id("one"))), first);
        assert!(fixture.write(|tx| seal::delete(tx, &id("one"))).unwrap());
        assert!(!fixture.write(|tx| seal::delete(tx, &id("one"))).unwrap());
        let absent = fixture.write(|tx| seal::require(tx, &id("one"))).unwrap_err();
        assert!(matches!(absent, StoreError::NotFound { noun: "seal", .. }), "{absent}");
    });
}

#[test]
fn only_seals_that_bring_nothing_back_expire() {
    on_both_engines("expiry", |fixture| {
        let now = fixture.now();
        let (open, archived) = (fixture.stored_task("open"), fixture.stored_task("archived"));
        let gone = fixture.task("gone");
        let archived_id = archived.id.clone();
        fixture.write(move |tx| task::set_archived(tx, &archived_id, Some(now), now)).unwrap();
        let seals = [
            seal_of(fixture, "of-open", &open, 0),
            seal_of(fixture, "replaced", &archived, 0),
            seal_of(fixture, "newest", &archived, 1),
            seal_of(fixture, "of-gone", &gone, 0),
            seal_of(fixture, "young", &open, 5_000),
        ];
        fixture.write(move |tx| seals.iter().try_for_each(|one| seal::insert(tx, one))).unwrap();
        let expired = |fixture: &Fixture, node: &str| {
            let (node, limit) = (id(node), now.plus_millis(1_000));
            let found = fixture.read(move |tx| seal::expired(tx, &node, limit));
            found.into_iter().map(|seal| seal.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(expired(fixture, "node"), ["replaced", "of-gone", "of-open"]);
        assert_eq!(expired(fixture, "another-node"), [] as [&str; 0]);
        let job = fixture.job("busy", &open, CleanupTrigger::Archive);
        fixture.write(move |tx| cleanup::insert_prepared(tx, &job)).unwrap();
        assert_eq!(expired(fixture, "node"), ["replaced", "of-gone"], "a job of the task is not finished");
    });
}

#[test]
fn a_task_in_the_trash_is_in_no_other_list_until_it_is_revived() {
    on_both_engines("trash", |fixture| {
        let now = fixture.now();
        let task = fixture.stored_task("task");
        let (made, repos) = fixture.environment("task", &task);
        fixture.write(move |tx| environment::insert_ready(tx, &made, &repos)).unwrap();
        let task_id = task.id.clone();
        fixture
            .write(move |tx| {
                task::set_deleted(tx, &task_id, Some(now), now)?;
                environment::mark_repo_deleted(tx, &id("task-repo"), now)?;
                task::set_trashed(tx, &task_id, now)
            })
            .unwrap();
        let workspace = fixture.workspace.id.clone();
        let lists = move |fixture: &Fixture| {
            let (open, trash) = (workspace.clone(), workspace.clone());
            let filter = task::TaskFilter::default();
            let open = fixture.read(move |tx| task::list_page(tx, &open, &filter, None, 10)).items.len();
            (open, fixture.read(move |tx| task::list_trash(tx, &trash)).len())
        };
        assert_eq!(lists(fixture), (0, 1));
        assert_eq!(fixture.read(move |tx| task::trashed_before(tx, now)), std::slice::from_ref(&task.id));
        assert_eq!(fixture.read(move |tx| task::trashed_before(tx, now.plus_millis(-1))), []);

        let repo = fixture.environment("task", &task).1.remove(0);
        let mut origin = repo.origin.unwrap();
        origin.inode = 7;
        let revived = RevivedRepo {
            id: repo.id,
            worktree_path: "/managed/elsewhere".into(),
            worktree_branch: "freehold/again".into(),
            origin: origin.clone(),
        };
        let task_id = task.id.clone();
        fixture.write(move |tx| environment::revive(tx, &task_id, &[revived], now)).unwrap();
        assert_eq!(lists(fixture), (1, 0));
        let found = fixture.read(|tx| environment::repos_of(tx, &id("task"))).remove(0);
        assert_eq!(found.status, EnvironmentRepoStatus::Active);
        assert_eq!((found.worktree_path.as_str(), found.origin), ("/managed/elsewhere", Some(origin)));
    });
}

#[test]
fn a_barrier_refuses_a_revival() {
    on_both_engines("revival", |fixture| {
        let now = fixture.now();
        let task = fixture.stored_task("task");
        let job = fixture.job("job", &task, CleanupTrigger::Delete);
        fixture.write(move |tx| cleanup::insert_prepared(tx, &job)).unwrap();
        let refused = fixture.write(move |tx| environment::revive(tx, &task.id, &[], now)).unwrap_err();
        assert!(matches!(refused, StoreError::Barrier { .. }), "{refused}");
    });
}
