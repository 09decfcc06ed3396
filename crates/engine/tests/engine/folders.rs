//! What is in no worktree: scratch folders, and files beside the worktrees of a task. Both are sealed, go and come
//! back with their task.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger, StakeKind};
use freehold_domain::clock::Clock;
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::TaskId;
use freehold_domain::seal::SealKind;
use freehold_engine::cleanup::{CloseAction, CloseTask, Decision, ResetEnvironment, discard_phrase};
use freehold_engine::environment::reopen::{Place, Reopening};
use freehold_engine::system::SystemClock;
use freehold_engine::task::{NewTask, NewTaskRepository, TaskListQuery, TaskView};
use freehold_engine::{Engine, EngineError};
use freehold_git::Git;
use freehold_testkit::clock::ManualClock;
use freehold_testkit::repo::{TempRepo, write_file};

use crate::harness::{
    World, add_repository, close, files_of, new_task, on_both_engines, on_sqlite, start_engine_at,
    start_engine_with, wait_for_job, wait_for_task, wait_until_idle, whole, worktree_of,
};

fn scratch() -> NewTask {
    let unused = "unused".parse().unwrap();
    NewTask { kind: WorkspaceKind::Scratch, repositories: Vec::new(), ..new_task(&unused, "A chat", "") }
}

fn folder_of(view: &TaskView) -> PathBuf {
    PathBuf::from(&view.environment.as_ref().unwrap().environment.workspace_path)
}

/// A chat in a scratch folder with files of every kind.
async fn filled_chat(engine: &Engine) -> (TaskId, PathBuf) {
    let id = engine.create_task(scratch()).await.unwrap();
    let folder = folder_of(&wait_until_idle(engine, &id).await);
    write_file(&folder.join("notes/idea.txt"), "an idea\n");
    write_file(&folder.join(".env"), "SECRET=1\n");
    std::fs::create_dir(folder.join("empty")).unwrap();
    std::os::unix::fs::symlink("notes/idea.txt", folder.join("link")).unwrap();
    (id, folder)
}

/// A task in two repositories, with a note beside their worktrees.
pub(crate) async fn task_with_a_note(engine: &Engine, world: &World, other: &TempRepo) -> (TaskId, PathBuf) {
    let first = add_repository(engine, world).await;
    let request = freehold_engine::repository::AddRepository {
        path: other.path().to_owned(),
        name: Some("other".into()),
        ..Default::default()
    };
    let second = engine.add_repository(request).await.unwrap().repository.id;
    let repositories = [&first, &second].map(|id| NewTaskRepository::new(id.clone())).to_vec();
    let id = engine.create_task(NewTask { repositories, ..new_task(&first, "wide", "") }).await.unwrap();
    let folder = folder_of(&wait_until_idle(engine, &id).await);
    write_file(&folder.join("plan/notes.md"), "beside\n");
    (id, folder)
}

async fn reset(engine: &Engine, id: &TaskId) -> CleanupJob {
    let consent = ResetEnvironment { seals: true, ..ResetEnvironment::default() };
    let job = engine.reset_environment(id.clone(), consent).await.unwrap();
    wait_for_job(engine, &job).await
}

#[test]
fn a_chat_with_files_closes_without_a_person_and_comes_back_whole() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, folder) = filled_chat(&engine).await;
        let before = files_of(&folder);
        for action in [CloseAction::Archive, CloseAction::Delete] {
            let refused = engine.close_task(id.clone(), CloseTask { action, seals: false }).await;
            let Err(EngineError::AtStake { stakes, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!((stakes[0].kind, stakes[0].total), (StakeKind::Untracked, 3));
            let job = close(&engine, &id, action).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
            assert!(!folder.exists() && !world.root().join(".trash").exists());
            engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
            assert_eq!(files_of(&folder), before);
        }
        let seals = engine.seals(id.clone()).await.unwrap();
        assert_eq!((seals.len(), seals[0].kind), (2, SealKind::Folder));
        let diff = engine.sealed_file_diff(seals[0].id.clone(), "notes/idea.txt".into()).await.unwrap();
        assert!(diff.patch.contains("+an idea"), "{diff:?}");

        // What is not there any more when it closes does not come back from an older seal.
        std::fs::rename(&folder, world.home.join("away")).unwrap();
        std::fs::create_dir(&folder).unwrap();
        close(&engine, &id, CloseAction::Archive).await;
        assert!(!folder.exists());
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert_eq!(folder.read_dir().unwrap().count(), 0);
        engine.shutdown().await;
    });
}

#[test]
fn an_expired_chat_with_files_goes_to_the_trash_and_its_purge_takes_the_seal() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let hour = 60 * 60 * 1_000;
        let id = engine.create_task(NewTask { expires_in_ms: Some(hour), ..scratch() }).await.unwrap();
        let folder = folder_of(&wait_until_idle(&engine, &id).await);
        write_file(&folder.join("report.md"), "done\n");
        engine.shutdown().await;
        let later = Arc::new(ManualClock::new(SystemClock.now().plus_millis(2 * hour)));
        let git = Git::open(&world.home.join("scratch")).unwrap();
        let engine = start_engine_at(&world.home, &world.url, git, later, |_| {}).await;
        wait_for_trash(&engine).await;
        assert!(!folder.exists());
        let entry = engine.trash_entry(id.clone()).await.unwrap();
        assert_eq!((entry.seals.len(), entry.seals[0].file_count), (1, 1));
        let job = engine.purge_task(id.clone()).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!((job.trigger, job.state), (CleanupTrigger::TrashPurge, CleanupState::Succeeded));
        assert!(engine.seals(id).await.is_err());
        let refs = world.repo.git_in(Path::new(&entry.seals[0].repository_path), &["for-each-ref"]);
        assert_eq!(refs, "");
        engine.shutdown().await;
    });
}

async fn wait_for_trash(engine: &Engine) {
    while engine.trash(None).await.unwrap().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[test]
fn files_beside_the_worktrees_go_and_come_back_with_the_task() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let other = TempRepo::new();
        let (id, folder) = task_with_a_note(&engine, world, &other).await;
        let before = files_of(&folder);
        let report = engine.close_report(id.clone(), CloseAction::Archive).await.unwrap();
        assert_eq!(report.sealed.len(), 1, "{report:#?}");
        assert_eq!(report.sealed[0].items, ["plan/notes.md"]);
        assert!(report.disk_bytes > 0, "{report:#?}");
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(world.task_directories().is_empty(), "the empty folder goes too");
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        assert_eq!(files_of(&folder), before);

        close(&engine, &id, CloseAction::Delete).await;
        write_file(&folder.join("taken.txt"), "mine\n");
        let refused = engine.reopen_task(id.clone(), Reopening::default()).await.unwrap_err();
        assert_eq!(refused.code(), "path_taken", "{refused}");
        assert_eq!(files_of(&folder).len(), 1, "what took the place is kept");
        let elsewhere = Reopening { place: Place::Elsewhere, ..Reopening::default() };
        wait_for_rest(&engine, &id).await;
        engine.reopen_task(id.clone(), elsewhere).await.unwrap();
        let now = folder_of(&engine.task(id).await.unwrap());
        assert_eq!(std::fs::read_to_string(now.join("plan/notes.md")).unwrap(), "beside\n");
        assert!(folder.join("taken.txt").is_file() && now.join("other").is_dir());
        engine.shutdown().await;
    });
}

async fn wait_for_rest(engine: &Engine, id: &TaskId) {
    loop {
        let jobs = engine.cleanup_jobs(Some(id.clone()), None).await.unwrap();
        if jobs.iter().all(|job| job.state.is_final()) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[test]
fn a_repository_in_a_chat_waits_for_a_person_who_may_keep_or_discard_it() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (id, folder) = filled_chat(&engine).await;
        world.repo.git_in(&folder, &["init", "--quiet", "made"]);
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        let kinds: Vec<StakeKind> = job.stakes.iter().map(|stake| stake.kind).collect();
        assert_eq!(kinds, [StakeKind::NestedRepository]);
        assert!(folder.join("made/.git").is_dir() && folder.join("notes/idea.txt").is_file());
        let phrase = discard_phrase(&job.stakes);
        let job = engine.decide(job.id, Decision::Discard { phrase }).await.unwrap();
        assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert!(folder.join("notes/idea.txt").is_file() && !folder.join("made").exists());
        engine.shutdown().await;
    });
}

#[test]
fn a_reset_seals_what_lay_beside_and_its_seals_become_a_new_task() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let other = TempRepo::new();
        let (id, folder) = task_with_a_note(&engine, world, &other).await;
        let view = engine.task(id.clone()).await.unwrap();
        let inner = folder.join("other");
        write_file(&inner.join("work.txt"), "work\n");
        let before = whole(world, &inner);
        let job = reset(&engine, &id).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!folder.exists());
        let old = view.environment.unwrap().environment.id;
        wait_for_task(&engine, &id, "a fresh workspace", |view| {
            view.environment.as_ref().is_some_and(|fresh| fresh.environment.id != old)
        })
        .await;
        let seals = engine.seals(id.clone()).await.unwrap();
        assert_eq!(seals.len(), 3);
        let made = engine.task_from_seal(seals[0].id.clone(), Some("From before".into())).await.unwrap();
        let view = engine.task(made.clone()).await.unwrap();
        assert_eq!((view.summary.task.title.as_str(), made != id), ("From before", true));
        let now = folder_of(&view);
        assert_eq!(std::fs::read_to_string(now.join("plan/notes.md")).unwrap(), "beside\n");
        assert_eq!(whole(world, &now.join("other")), before, "on the branch that nobody uses any more");
        engine.create_session(made.clone(), freehold_engine::session::NewSession::default()).await.unwrap();
        assert_eq!(close(&engine, &made, CloseAction::Delete).await.state, CleanupState::Succeeded);

        // Again, with the branch in use by now: each gets another one.
        let one = engine.task_from_seal(seals[1].id.clone(), None).await.unwrap();
        let two = engine.task_from_seal(seals[2].id.clone(), None).await.unwrap();
        let branches = |view: TaskView| -> Vec<String> {
            view.environment.unwrap().repos.into_iter().map(|(repo, _)| repo.worktree_branch).collect()
        };
        let one = branches(engine.task(one).await.unwrap());
        let two = branches(engine.task(two).await.unwrap());
        assert!(one.iter().all(|branch| !two.contains(branch)), "{one:?} {two:?}");
        engine.shutdown().await;
    });
}

#[test]
fn a_seal_that_cannot_be_restored_leaves_no_task() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let (id, _) = filled_chat(&engine).await;
        close(&engine, &id, CloseAction::Archive).await;
        let seal = engine.seals(id).await.unwrap().remove(0);
        world.repo.git_in(
            Path::new(&seal.repository_path),
            &["update-ref", "-d", &format!("refs/freehold/seals/{}", seal.id)],
        );
        let count = async || {
            let query = TaskListQuery { limit: 10, ..TaskListQuery::default() };
            engine.tasks(query).await.unwrap().items.len()
        };
        let before = count().await;
        engine.task_from_seal(seal.id, None).await.unwrap_err();
        assert_eq!(count().await, before);
        let unknown = engine.task_from_seal("none".parse().unwrap(), None).await.unwrap_err();
        assert_eq!(unknown.code(), "not_found", "{unknown}");
        engine.shutdown().await;
    });
}

#[test]
fn the_seal_of_a_folder_outlives_its_age_while_its_task_is_closed() {
    on_both_engines(async |world: &World| {
        let engine = start_engine_with(&world.home, &world.url, |options| options.retention_ms = 1).await;
        let (id, folder) = filled_chat(&engine).await;
        let before = files_of(&folder);
        close(&engine, &id, CloseAction::Archive).await;
        engine.shutdown().await;
        // A start looks for what has reached its age.
        let engine = start_engine_with(&world.home, &world.url, |options| options.retention_ms = 1).await;
        wait_for_rest(&engine, &id).await;
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        assert_eq!(files_of(&folder), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_single_worktree_has_no_less_care_for_what_lies_beside_it() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "single", "")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        let beside = worktree.parent().unwrap().join("scratch.log");
        write_file(&beside, "log\n");
        assert_eq!(close(&engine, &id, CloseAction::Archive).await.state, CleanupState::Succeeded);
        assert!(world.task_directories().is_empty());
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&beside).unwrap(), "log\n");
        engine.shutdown().await;
    });
}
