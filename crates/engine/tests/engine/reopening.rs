//! What was closed comes back: the same files at the same place, with the conversations; and the trash.

use std::path::Path;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::id::TaskId;
use freehold_domain::session::SessionState;
use freehold_engine::cleanup::{CloseAction, Decision};
use freehold_engine::environment::reopen::{BranchChoice, Place, Reopening};
use freehold_engine::session::NewSession;
use freehold_engine::task::{NewTask, NewTaskRepository};
use freehold_engine::{Engine, EngineError};
use freehold_testkit::repo::TempRepo;

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, on_sqlite, start_engine_with, wait_for_job,
    wait_for_task, wait_until_idle, whole, worktree_of,
};

/// Leaves work of every kind: staged, changed again, untracked, ignored, a mode and a link.
fn work_in(world: &World, worktree: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let write = |name: &str, content: &str| std::fs::write(worktree.join(name), content).unwrap();
    write(".gitignore", ".env\n");
    write("src/lib.rs", "staged\n");
    world.repo.git_in(worktree, &["add", "src/lib.rs"]);
    write("src/lib.rs", "changed again\n");
    write("notes.txt", "untracked\n");
    write(".env", "SECRET=1\n");
    std::fs::set_permissions(worktree.join("notes.txt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("../elsewhere", worktree.join("link")).unwrap();
}

async fn task_with_work(engine: &Engine, world: &World, title: &str) -> (TaskId, std::path::PathBuf) {
    let repository = add_repository(engine, world).await;
    let id = engine.create_task(new_task(&repository, title, "Improve it")).await.unwrap();
    let worktree = worktree_of(&wait_until_idle(engine, &id).await);
    work_in(world, &worktree);
    (id, worktree)
}

#[test]
fn a_task_that_was_archived_or_deleted_comes_back_byte_for_byte() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, worktree) = task_with_work(&engine, world, "there and back").await;
        let messages = engine.task(id.clone()).await.unwrap().sessions;
        for action in [CloseAction::Archive, CloseAction::Delete] {
            let before = whole(world, &worktree);
            let job = close(&engine, &id, action).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
            assert!(!worktree.exists() && world.worktrees().is_empty());
            world.repo.git(&["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);

            engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
            assert_eq!(whole(world, &worktree), before, "{action:?}");
            let view = engine.task(id.clone()).await.unwrap();
            assert!(view.summary.task.is_open());
            assert_eq!(worktree_of(&view), worktree);
            assert_eq!(view.sessions.len(), messages.len(), "the conversations are back");
        }
        engine
            .create_session(id.clone(), NewSession { prompt: Some("list".into()), ..Default::default() })
            .await
            .unwrap();
        let refused = engine.reopen_task(id, Reopening::default()).await;
        assert!(matches!(refused, Err(EngineError::TaskOpen { .. })), "{refused:?}");
        engine.shutdown().await;
    });
}

#[test]
fn a_deleted_task_is_in_the_trash_until_it_is_purged() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, worktree) = task_with_work(&engine, world, "gone").await;
        close(&engine, &id, CloseAction::Delete).await;
        assert!(matches!(engine.task(id.clone()).await, Err(EngineError::NotFound { .. })));
        let trash = engine.trash(None).await.unwrap();
        assert_eq!(trash.len(), 1);
        assert_eq!((trash[0].summary.task.id.clone(), trash[0].seals.len()), (id.clone(), 1));
        assert_eq!(trash[0].seals[0].worktree_path, worktree.display().to_string());
        let changes = engine.sealed_changes(id.clone()).await.unwrap();
        let paths: Vec<&str> = changes[0].files.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.contains(&"src/lib.rs") && paths.contains(&"notes.txt"), "{paths:?}");
        let seal = trash[0].seals[0].id.clone();
        let diff = engine.sealed_file_diff(seal, "src/lib.rs".into()).await.unwrap();
        assert!(diff.patch.contains("+changed again"), "{diff:?}");

        let job = engine.purge_task(id.clone()).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!(
            (job.trigger, job.state),
            (CleanupTrigger::TrashPurge, CleanupState::Succeeded),
            "{job:#?}"
        );
        assert!(engine.trash(None).await.unwrap().is_empty());
        assert_eq!(world.repo.git(&["for-each-ref", "refs/freehold"]), "");
        let refused = engine.reopen_task(id.clone(), Reopening::default()).await;
        assert!(matches!(refused, Err(EngineError::NotFound { .. })), "{refused:?}");
        let refused = engine.purge_task(id).await;
        assert!(matches!(refused, Err(EngineError::NotFound { .. })), "{refused:?}");
        engine.shutdown().await;
    });
}

#[test]
fn only_what_is_in_the_trash_can_be_purged() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let (id, worktree) = task_with_work(&engine, world, "kept").await;
        let refused = engine.purge_task(id.clone()).await;
        assert!(matches!(refused, Err(EngineError::TaskClosed { .. })), "{refused:?}");
        close(&engine, &id, CloseAction::Archive).await;
        let refused = engine.purge_task(id.clone()).await;
        assert!(matches!(refused, Err(EngineError::TaskClosed { .. })), "{refused:?}");
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert!(worktree.join("notes.txt").is_file());
        engine.shutdown().await;
    });
}

#[test]
fn what_has_reached_its_age_leaves_the_trash_and_an_archived_task_never_does() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (deleted, _) = task_with_work(&engine, world, "deleted").await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let archived = engine.create_task(new_task(&repository, "archived", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &archived).await);
        let before = whole(world, &worktree);
        close(&engine, &deleted, CloseAction::Delete).await;
        close(&engine, &archived, CloseAction::Archive).await;
        engine.shutdown().await;

        let engine = start_engine_with(&world.home, &world.url, |options| options.retention_ms = 0).await;
        let begun = std::time::Instant::now();
        while !engine.trash(None).await.unwrap().is_empty() {
            assert!(begun.elapsed().as_secs() < 60, "the task stays in the trash");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        engine.reopen_task(archived, Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before);
        engine.shutdown().await;
    });
}

#[test]
fn what_took_the_place_or_the_branch_is_never_overwritten() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, worktree) = task_with_work(&engine, world, "taken").await;
        let before = whole(world, &worktree).0;
        close(&engine, &id, CloseAction::Archive).await;
        std::fs::create_dir_all(&worktree).unwrap();
        std::fs::write(worktree.join("mine.txt"), "a person's").unwrap();
        let refused = engine.reopen_task(id.clone(), Reopening::default()).await.unwrap_err();
        assert_eq!((refused.code(), refused.subject()), ("path_taken", worktree.display().to_string()));
        let branch = world.branches().remove(0);
        world.repo.git(&["branch", "-f", &branch, "HEAD"]);
        world.repo.write("later.txt", "x");
        world.repo.commit("later");
        world.repo.git(&["branch", "-f", &branch, "HEAD"]);
        let moved = world.repo.git(&["rev-parse", &branch]);
        let elsewhere = Reopening { place: Place::Elsewhere, ..Reopening::default() };
        let refused = engine.reopen_task(id.clone(), elsewhere).await.unwrap_err();
        assert_eq!((refused.code(), refused.subject()), ("branch_moved", branch.clone()));

        let anew = Reopening { branch: BranchChoice::New, ..elsewhere };
        engine.reopen_task(id.clone(), anew).await.unwrap();
        let view = engine.task(id.clone()).await.unwrap();
        let place = worktree_of(&view);
        assert_ne!(place, worktree);
        assert_eq!(whole(world, &place).0, before);
        assert_eq!(world.repo.git(&["rev-parse", &branch]), moved);
        assert_eq!(std::fs::read_to_string(worktree.join("mine.txt")).unwrap(), "a person's");
        assert_eq!(view.environment.unwrap().environment.workspace_path, place.display().to_string());
        let jobs = engine.cleanup_jobs(Some(id.clone()), None).await.unwrap();
        assert!(jobs.iter().all(|job| job.state.is_final()), "{jobs:#?}");

        // It can be given back and brought back from there as well.
        close(&engine, &id, CloseAction::Delete).await;
        let detached = Reopening { branch: BranchChoice::Detached, ..Reopening::default() };
        engine.reopen_task(id, detached).await.unwrap();
        assert_eq!(whole(world, &place).0, before);
        engine.shutdown().await;
    });
}

#[test]
fn a_job_that_waits_for_a_person_is_called_off_when_the_task_comes_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, worktree) = task_with_work(&engine, world, "waits").await;
        world.repo.git_in(&worktree, &["init", "-q", "inner"]);
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        assert_eq!(engine.cleanup_job(job.id).await.unwrap().state, CleanupState::Cancelled);
        assert!(engine.task(id).await.unwrap().summary.task.is_open());
        assert!(worktree.join("inner/.git").is_dir());
        engine.shutdown().await;
    });
}

#[test]
fn keeping_a_task_of_which_a_part_is_gone_brings_that_part_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let first = add_repository(&engine, world).await;
        let second = TempRepo::new();
        second.write("b.txt", "b\n");
        second.commit("first");
        let path = second.path().to_owned();
        let request = freehold_engine::repository::AddRepository { path, ..Default::default() };
        let other = engine.add_repository(request).await.unwrap().repository.id;
        let both = [first.clone(), other].map(NewTaskRepository::new);
        let task = NewTask { repositories: both.into(), ..new_task(&first, "both", "Improve it") };
        let id = engine.create_task(task).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let places: Vec<_> = view
            .environment
            .as_ref()
            .unwrap()
            .repos
            .iter()
            .map(|(repo, _)| repo.worktree_path.clone())
            .collect();
        let before: Vec<_> = places.iter().map(|place| crate::harness::files_of(Path::new(place))).collect();
        // The second one cannot be given back: a person locked it after the first look.
        second.git(&["worktree", "lock", "--reason", "mine", &places[1]]);
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
        assert!(places.iter().all(|place| Path::new(place).is_dir()), "all are looked at before any goes");
        second.git(&["worktree", "unlock", &places[1]]);
        engine.decide(job.id.clone(), Decision::Retry).await.unwrap();
        wait_for_job(&engine, &job).await;
        assert!(places.iter().all(|place| !Path::new(place).exists()));
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        let after: Vec<_> = places.iter().map(|place| crate::harness::files_of(Path::new(place))).collect();
        assert!(after == before);
        engine.shutdown().await;
    });
}

#[test]
fn a_workspace_that_a_person_removed_is_no_obstacle() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, worktree) = task_with_work(&engine, world, "removed by hand").await;
        std::fs::rename(&worktree, world.home.join("away")).unwrap();
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(world.worktrees().is_empty());
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        assert_eq!(
            engine.task(id.clone()).await.unwrap().environment,
            None,
            "there is nothing to bring back"
        );

        // Its branch is there, and so the work goes on on it.
        let branch = world.branches().remove(0);
        let prompt = Some("list".to_owned());
        engine.create_session(id.clone(), NewSession { prompt, ..NewSession::default() }).await.unwrap();
        let view = wait_for_task(&engine, &id, "a new workspace", |view| {
            view.environment.is_some()
                && view.sessions.last().is_some_and(|it| it.session.state == SessionState::Idle)
        })
        .await;
        let made = worktree_of(&view);
        assert_eq!(world.repo.git_in(&made, &["branch", "--show-current"]), branch);
        engine.shutdown().await;
    });
}
