//! Workspaces of another program: worktrees that Git knows and Freehold did not make.

use std::path::{Path, PathBuf};

use freehold_domain::cleanup::{CleanupJob, CleanupState, StakeKind};
use freehold_domain::environment::{EnvironmentRepoStatus, EnvironmentStatus};
use freehold_domain::id::TaskId;
use freehold_domain::session::SessionState;
use freehold_engine::Engine;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::session::NewSession;

use super::{Recorded, foreign_worktree, quiet_task, read, scene};
use crate::harness::{World, close, commit_all, on_both_engines, wait_for_session, wait_until_reaped};

#[test]
fn a_workspace_of_another_program_is_shown_worked_in_and_reviewed() {
    on_both_engines(async |world: &World| {
        let (engine, repository, task) = scene(world).await;
        let path = foreign_worktree(world, "a");
        world.repo.write("later.txt", "on main, later\n");
        world.repo.commit("later");
        std::fs::write(path.join("new.txt"), "of the task\n").unwrap();
        for (name, executor, status, repo_status) in
            [("a", "", "stopped", "merged"), ("b", "local", "hibernating", "parked")]
        {
            let id = if name == "a" { task.clone() } else { quiet_task(&engine, &repository, "odd").await };
            let recorded = Recorded { executor, status, repo_status, path: &path };
            recorded.store(world, name, &id, if name == "a" { repository.as_str() } else { "" });
            let view = engine.task(id).await.unwrap();
            assert_eq!(view.summary.environment_status, Some(EnvironmentStatus::Ready));
            let environment = view.environment.unwrap();
            assert_eq!(
                environment.environment.status,
                EnvironmentStatus::Ready,
                "its worktree is still owned"
            );
            let expected =
                if name == "a" { EnvironmentRepoStatus::Merged } else { EnvironmentRepoStatus::Active };
            assert_eq!(environment.repos[0].0.status, expected);
        }

        let changes = engine.changes(task.clone()).await.unwrap().remove(0);
        assert_eq!(changes.error_message, "");
        assert_eq!(changes.inferred_base.as_deref(), Some("main"));
        let files: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["new.txt"], "what main got later is no change of the task");
        let diff = engine.file_diff(task.clone(), repository, "new.txt".into()).await.unwrap();
        assert!(diff.patch.contains("+of the task"), "{}", diff.patch);

        let prompt = Some("list what you see".to_owned());
        let session = engine.create_session(task.clone(), NewSession { prompt, ..Default::default() }).await;
        let session = session.unwrap().session.id;
        wait_for_session(&engine, &session, SessionState::Idle).await;
        let said = engine.messages(session, None, 500).await.unwrap().items;
        assert!(said.iter().any(|message| message.content.contains("new.txt")), "{said:#?}");
        engine.shutdown().await;
    });
}

#[test]
fn a_repository_on_two_branches_is_reviewed_and_given_back_as_two_worktrees() {
    on_both_engines(async |world: &World| {
        let (engine, repository, task) = scene(world).await;
        let (first, second) = (foreign_worktree(world, "first"), foreign_worktree(world, "second"));
        Recorded::at(&first).store(world, "first", &task, repository.as_str());
        let more = second.display().to_string();
        super::sql(
            world,
            &format!(
                "INSERT INTO task_environment_repos (id, task_environment_id, repository_id, branch_slug, worktree_id, \
                 worktree_path, worktree_branch, position, status, created_at, updated_at) \
                 SELECT 'more', task_environment_id, repository_id, 'second', 'wt-more', '{more}', 'feature/second', 1, \
                 status, created_at, updated_at FROM task_environment_repos"
            ),
        );
        std::fs::write(second.join("new.txt"), "of the second\n").unwrap();
        let branches: Vec<(String, usize)> = engine
            .changes(task.clone())
            .await
            .unwrap()
            .into_iter()
            .map(|it| (it.branch, it.files.len()))
            .collect();
        assert_eq!(branches, [("feature/first".to_owned(), 0), ("feature/second".to_owned(), 1)]);
        let diff = engine.file_diff(task.clone(), repository, "new.txt".into()).await.unwrap();
        assert!(diff.patch.contains("+of the second"), "{}", diff.patch);
        std::fs::remove_file(second.join("new.txt")).unwrap();
        let job = close(&engine, &task, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert_eq!(world.worktrees(), [] as [&str; 0]);
        engine.shutdown().await;
    });
}

#[test]
fn a_session_whose_directory_is_missing_names_it_and_makes_nothing() {
    on_both_engines(async |world: &World| {
        let (engine, repository, task) = scene(world).await;
        let path = world.repo.home().join("elsewhere/gone");
        Recorded::at(&path).store(world, "gone", &task, repository.as_str());
        let session = engine.create_session(task.clone(), NewSession::default()).await.unwrap().session.id;
        wait_for_session(&engine, &session, SessionState::Failed).await;
        let session = engine.session(session).await.unwrap().session;
        assert!(session.error_message.contains(&path.display().to_string()), "{session:#?}");
        assert!(!path.exists() && world.worktrees().is_empty());
        let changes = engine.changes(task).await.unwrap().remove(0);
        let missing = format!("is not at {} any more", path.display());
        assert!(changes.error_message.ends_with(&missing), "{changes:#?}");
        engine.shutdown().await;
    });
}

/// Records the worktree for a new task and closes that.
async fn close_recorded(
    world: &World,
    engine: &Engine,
    name: &str,
    recorded: Recorded<'_>,
    action: CloseAction,
) -> (TaskId, CleanupJob) {
    let repository = engine.repositories().await.unwrap().remove(0).id;
    let task = quiet_task(engine, &repository, name).await;
    recorded.store(world, name, &task, repository.as_str());
    let report = engine.close_report(task.clone(), action).await.unwrap();
    let job = close(engine, &task, action).await;
    assert_eq!(job.stakes, report.stakes, "the dialog told the same beforehand");
    (task, job)
}

#[test]
fn a_registered_worktree_of_another_program_is_given_back_and_its_branch_stays() {
    on_both_engines(async |world: &World| {
        let (engine, _, _) = scene(world).await;
        for (name, action, repo_status) in
            [("kept", CloseAction::Archive, "merged"), ("dropped", CloseAction::Delete, "active")]
        {
            let path = foreign_worktree(world, name);
            std::fs::write(path.join("work.txt"), "committed\n").unwrap();
            commit_all(world, &path);
            std::fs::write(path.join("work.txt"), "changed\n").unwrap();
            let recorded = Recorded { repo_status, ..Recorded::at(&path) };
            let (_, job) = close_recorded(world, &engine, name, recorded, action).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
            assert!(!path.exists());
            wait_until_reaped(path.parent().unwrap(), name).await;
            let around: Vec<_> = path.parent().unwrap().read_dir().unwrap().collect();
            assert!(around.is_empty(), "no trash is left: {around:?}");
        }
        assert_eq!(world.worktrees(), [] as [&str; 0]);
        let branches = world.repo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]);
        assert_eq!(branches, "feature/dropped\nfeature/kept", "who made them is not recorded");
        let given_back = read(world, "SELECT status FROM task_environments");
        assert_eq!(given_back, ["stopped", "stopped"]);
        engine.shutdown().await;
    });
}

/// A plain directory with a file at the place of a worktree.
fn plain_directory(world: &World, name: &str) -> PathBuf {
    let path = world.repo.home().join("elsewhere").join(name).join("repo");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("precious.txt"), "mine").unwrap();
    path
}

#[test]
fn what_git_cannot_prove_waits_for_a_person_and_nothing_is_removed() {
    on_both_engines(async |world: &World| {
        let (engine, _, _) = scene(world).await;
        let nested = foreign_worktree(world, "nested");
        world.repo.git_in(&nested, &["init", "-q", "inner"]);
        let moved = foreign_worktree(world, "moved");
        let copy = moved.with_file_name("copy");
        std::fs::rename(&moved, &copy).unwrap();
        let clone = plain_directory(world, "clone").with_file_name("clone");
        let source = world.repo.path().display().to_string();
        world.repo.git(&["clone", "-q", &source, &clone.display().to_string()]);
        let container = foreign_worktree(world, "container");
        let plain = plain_directory(world, "plain");
        let unmounted = world.repo.home().join("unmounted/task/repo");
        let cases: [(&str, &Path, &str, StakeKind); 7] = [
            ("nested", &nested, "worktree", StakeKind::NestedRepository),
            ("moved", &copy, "worktree", StakeKind::Occupied),
            ("clone", &clone, "worktree", StakeKind::Occupied),
            ("plain", &plain, "worktree", StakeKind::Occupied),
            ("main", world.repo.path(), "local", StakeKind::Unknown),
            ("container", &container, "local_docker", StakeKind::Unknown),
            ("unmounted", &unmounted, "worktree", StakeKind::Unknown),
        ];
        let before = (world.worktrees(), world.repo.git(&["for-each-ref"]));
        for (name, path, executor, kind) in cases {
            for action in [CloseAction::Archive, CloseAction::Delete] {
                let unique = format!("{name}-{action:?}");
                let recorded = Recorded { executor, ..Recorded::at(path) };
                let (task, job) = close_recorded(world, &engine, &unique, recorded, action).await;
                assert_eq!(job.state, CleanupState::NeedsDecision, "{name}: {job:#?}");
                assert_eq!(job.stakes[0].kind, kind, "{name}: {job:#?}");
                assert!(name == "unmounted" || path.is_dir(), "{name}");
                // So that the next case is not stopped by this one's claim to the same place.
                super::sql(world, &format!("DELETE FROM task_environments WHERE task_id = '{task}'"));
                super::sql(world, "DELETE FROM task_environment_repos");
            }
        }
        assert_eq!((world.worktrees(), world.repo.git(&["for-each-ref"])), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_place_that_two_tasks_claim_and_a_repository_that_is_not_known_wait_for_a_person() {
    on_both_engines(async |world: &World| {
        let (engine, repository, first) = scene(world).await;
        let path = foreign_worktree(world, "shared");
        Recorded::at(&path).store(world, "first", &first, repository.as_str());
        let (_, job) =
            close_recorded(world, &engine, "second", Recorded::at(&path), CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
        assert!(job.stakes[0].detail.contains("same place"), "{job:#?}");

        let nameless = foreign_worktree(world, "nameless");
        let task = quiet_task(&engine, &repository, "nameless").await;
        Recorded::at(&nameless).store(world, "nameless", &task, "");
        let job = close(&engine, &task, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
        assert!(job.stakes[0].detail.contains("repository"), "{job:#?}");
        assert!(path.is_dir() && nameless.is_dir());
        engine.shutdown().await;
    });
}
