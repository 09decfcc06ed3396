//! Where tasks start: on branches that were there before, at refs of a remote, in checkouts of a person, in folders
//! without a repository.

use std::path::{Path, PathBuf};
use std::time::Duration;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger, StakeKind};
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::{RepositoryId, TaskId};
use freehold_domain::task::TaskState;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::{Place, Reopening};
use freehold_engine::error::BranchHolder;
use freehold_engine::task::{NewTask, NewTaskRepository, TaskView};
use freehold_engine::{Engine, EngineError, ErrorKind};
use freehold_testkit::repo::{TempRepo, write_file};

use crate::harness::{
    World, add_repository, close, commit_all, new_task, on_both_engines, on_sqlite, wait_for_task,
    wait_until_idle, worktree_of,
};

/// A task in one repository with the given wish; its agent finds nothing to do.
fn task_in(asked: NewTaskRepository) -> NewTask {
    NewTask { repositories: vec![asked], ..new_task(&"unused".parse().unwrap(), "A task", "") }
}

fn on_branch(repository: &RepositoryId, branch: &str) -> NewTask {
    task_in(NewTaskRepository {
        checkout_branch: Some(branch.into()),
        ..NewTaskRepository::new(repository.clone())
    })
}

fn in_place(repository: &RepositoryId) -> NewTask {
    NewTask { kind: WorkspaceKind::InPlace, ..task_in(NewTaskRepository::new(repository.clone())) }
}

fn adopting(repository: &RepositoryId, path: &Path) -> NewTask {
    let asked =
        NewTaskRepository { adopt_path: Some(path.into()), ..NewTaskRepository::new(repository.clone()) };
    NewTask { kind: WorkspaceKind::Adopted, ..task_in(asked) }
}

fn scratch() -> NewTask {
    let unused = "unused".parse().unwrap();
    NewTask { kind: WorkspaceKind::Scratch, repositories: Vec::new(), ..new_task(&unused, "A task", "") }
}

async fn begin(engine: &Engine, request: NewTask) -> TaskView {
    let id = engine.create_task(request).await.unwrap();
    wait_until_idle(engine, &id).await
}

async fn fails(engine: &Engine, id: &TaskId) -> String {
    let view =
        wait_for_task(engine, id, "a failed launch", |view| view.summary.task.state == TaskState::Failed);
    let view = view.await;
    assert!(view.environment.is_none() && view.sessions.is_empty(), "nothing runs anywhere else instead");
    view.summary.task.error_message
}

/// A repository that the world's one knows as `hub`, with a branch `work` and a pull request.
fn hub(world: &World) -> TempRepo {
    let hub = TempRepo::new();
    world.repo.git(&["remote", "add", "hub", hub.path().to_str().unwrap()]);
    world.repo.git(&["push", "--quiet", "hub", "main:refs/heads/work"]);
    world.repo.git(&["fetch", "--quiet", "hub"]);
    hub.git(&["checkout", "--quiet", "work"]);
    hub.write("theirs.txt", "theirs\n");
    hub.commit("Later work of another person");
    hub.git(&["update-ref", "refs/pull/42/head", "work"]);
    hub
}

#[test]
fn a_task_on_an_existing_branch_works_on_it_and_its_deletion_leaves_it() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        world.repo.branch("feat");
        let tip = world.repo.git(&["rev-parse", "feat"]);
        let view = begin(&engine, on_branch(&repository, "feat")).await;
        let worktree = worktree_of(&view);
        assert_eq!(world.repo.git_in(&worktree, &["branch", "--show-current"]), "feat");
        let origin = view.environment.as_ref().unwrap().repos[0].0.origin.clone().unwrap();
        assert_eq!((origin.base_commit, origin.branch_made), (tip, false));
        world.repo.commit_in(&worktree, "Work on it");
        world.repo.git(&["branch", "also-there", "feat"]);
        let id = view.summary.task.id;
        let report = engine.close_report(id.clone(), CloseAction::Delete).await.unwrap();
        assert_eq!((report.branches_kept, report.keeps_workspace), (vec!["feat".to_owned()], false));
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!worktree.exists());
        assert_eq!(
            world.repo.git(&["rev-parse", "feat"]),
            world.repo.git(&["rev-parse", "also-there"]),
            "the branch of the person stays although another has its commits"
        );
        engine.shutdown().await;
    });
}

#[test]
fn a_task_on_a_remote_branch_gets_a_local_one_at_its_commit_without_an_upstream() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let _hub = hub(world);
        world.repo.git(&["config", "branch.autoSetupMerge", "always"]);
        let view = begin(&engine, on_branch(&repository, "hub/work")).await;
        let worktree = worktree_of(&view);
        assert_eq!(world.repo.git_in(&worktree, &["branch", "--show-current"]), "work");
        assert_eq!(
            world.repo.git(&["rev-parse", "work"]),
            world.repo.git(&["rev-parse", "hub/work"]),
            "at exactly that commit"
        );
        assert_eq!(world.repo.git(&["for-each-ref", "--format=%(upstream)", "refs/heads/work"]), "");
        engine.shutdown().await;
    });
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused_with_what_could_be_done_instead() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        world.repo.branch("feat");
        world.repo.branch("of-a-task");
        let by_hand = world.home.join("by hand");
        world.repo.git(&["worktree", "add", "--quiet", by_hand.to_str().unwrap(), "feat"]);
        write_file(&by_hand.join("mine.txt"), "mine\n");
        let other = begin(&engine, on_branch(&repository, "of-a-task")).await.summary.task.id;
        let (worktrees, directories) = (world.worktrees(), world.task_directories());
        let cases = [
            ("feat", BranchHolder::Person),
            ("main", BranchHolder::MainCheckout),
            ("of-a-task", BranchHolder::Task(other)),
        ];
        for (branch, expected) in cases {
            let error = engine.create_task(on_branch(&repository, branch)).await.unwrap_err();
            let EngineError::BranchInUse { holder, free, .. } = &error else { panic!("{error}") };
            assert_eq!((holder, free), (&expected, &format!("{branch}-2")));
            assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "branch_in_use"));
            assert!(error.hint().contains(&format!("--branch {branch}-2")), "{}", error.hint());
            let offer = error.offer().unwrap();
            assert_eq!(offer.adopt_path.is_some(), branch == "feat");
            assert_eq!(offer.in_place, branch == "main");
        }
        assert_eq!((world.worktrees(), world.task_directories()), (worktrees, directories));
        // The offer is good: the same branch, adopted.
        let error = engine.create_task(on_branch(&repository, "feat")).await.unwrap_err();
        let path = PathBuf::from(error.offer().unwrap().adopt_path.unwrap());
        begin(&engine, adopting(&repository, &path)).await;
        // So is the other one: a new branch under the free name.
        let offer = error.offer().unwrap();
        let asked = NewTaskRepository {
            base_branch: Some(offer.base_branch),
            new_branch: Some(offer.new_branch.clone()),
            ..NewTaskRepository::new(repository.clone())
        };
        let view = begin(&engine, task_in(asked)).await;
        let worktree = worktree_of(&view);
        assert_eq!(world.repo.git_in(&worktree, &["branch", "--show-current"]), offer.new_branch);
        engine.shutdown().await;
    });
}

#[test]
fn a_branch_that_is_taken_between_wish_and_launch_fails_the_launch_and_no_clean_up_touches_its_worktree() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        world.repo.branch("feat");
        let request = NewTask { start: false, ..on_branch(&repository, "feat") };
        let id = engine.create_task(request).await.unwrap();
        let by_hand = world.home.join("by-hand");
        world.repo.git(&["worktree", "add", "--quiet", by_hand.to_str().unwrap(), "feat"]);
        write_file(&by_hand.join("mine.txt"), "mine\n");
        engine.start_task(id.clone()).await.unwrap();
        let message = fails(&engine, &id).await;
        assert!(message.contains("--adopt") && message.contains("by-hand"), "{message}");
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert_eq!(std::fs::read_to_string(by_hand.join("mine.txt")).unwrap(), "mine\n");
        assert_eq!(world.worktrees(), [by_hand.display().to_string()]);
        world.repo.git(&["rev-parse", "--verify", "refs/heads/feat"]);
        engine.shutdown().await;
    });
}

#[test]
fn a_branch_of_a_chosen_name_that_another_makes_first_is_not_taken_for_the_tasks_own() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let asked =
            NewTaskRepository { new_branch: Some("feat".into()), ..NewTaskRepository::new(repository) };
        let id = engine.create_task(NewTask { start: false, ..task_in(asked) }).await.unwrap();
        world.repo.branch("feat");
        engine.start_task(id.clone()).await.unwrap();
        let message = fails(&engine, &id).await;
        assert!(message.contains("\"feat\""), "{message}");
        let undone = wait_for_task(&engine, &id, "the end of the clean-up", |view| {
            view.cleanup_jobs.iter().all(|job| job.state == CleanupState::Succeeded)
        });
        assert_eq!(undone.await.cleanup_jobs[0].trigger, CleanupTrigger::FailedCreation);
        world.repo.git(&["rev-parse", "--verify", "refs/heads/feat"]);
        engine.shutdown().await;
    });
}

#[test]
fn a_pull_request_and_a_refreshed_remote_branch_are_started_from_at_the_commit_that_the_remote_has_now() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let hub = hub(world);
        let now = hub.git(&["rev-parse", "work"]);
        let stale = world.repo.git(&["rev-parse", "hub/work"]);
        assert_ne!(now, stale);
        let blank = NewTaskRepository::new(repository);
        let pull = NewTaskRepository { fetch_ref: Some("pull/42/head".into()), ..blank.clone() };
        let fresh =
            NewTaskRepository { base_branch: Some("hub/work".into()), refresh: true, ..blank.clone() };
        let known = NewTaskRepository { base_branch: Some("hub/work".into()), ..blank };
        for (asked, commit) in [(pull, &now), (fresh, &now), (known, &stale)] {
            let view = begin(&engine, task_in(asked)).await;
            let repo = &view.environment.as_ref().unwrap().repos[0].0;
            assert_eq!(repo.origin.as_ref().unwrap().base_commit, *commit);
            assert!(repo.worktree_branch.starts_with("freehold/"), "{}", repo.worktree_branch);
            assert_eq!(world.repo.git_in(&worktree_of(&view), &["rev-parse", "HEAD"]), *commit);
        }
        assert_eq!(world.repo.git(&["rev-parse", "hub/work"]), stale, "what people look at did not move");
        engine.shutdown().await;
    });
}

#[test]
fn a_remote_that_cannot_be_reached_fails_the_launch_by_its_name_and_leaves_nothing() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        world.repo.git(&["remote", "add", "hub", "/nowhere/at/all"]);
        let asked =
            NewTaskRepository { fetch_ref: Some("pull/1/head".into()), ..NewTaskRepository::new(repository) };
        let id = engine.create_task(task_in(asked)).await.unwrap();
        let message = fails(&engine, &id).await;
        assert!(message.contains("/nowhere/at/all"), "{message}");
        assert_eq!((world.worktrees(), world.branches()), (Vec::new(), Vec::new()));
        assert!(world.task_directories().is_empty());
        engine.shutdown().await;
    });
}

#[test]
fn wishes_that_contradict_each_other_are_refused_by_the_name_of_the_field() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        world.repo.branch("feat");
        let blank = NewTaskRepository::new(repository.clone());
        let checkout = NewTaskRepository { checkout_branch: Some("feat".into()), ..blank.clone() };
        let fetch = NewTaskRepository { fetch_ref: Some("pull/1/head".into()), ..blank.clone() };
        let text = || Some("x".to_owned());
        let cases = [
            ("base_branch", task_in(NewTaskRepository { base_branch: text(), ..checkout.clone() })),
            ("new_branch", task_in(NewTaskRepository { new_branch: text(), ..checkout.clone() })),
            ("refresh", task_in(NewTaskRepository { refresh: true, ..checkout.clone() })),
            ("base_branch", task_in(NewTaskRepository { base_branch: text(), ..fetch.clone() })),
            ("remote", task_in(NewTaskRepository { remote: text(), ..blank.clone() })),
            ("refresh", task_in(NewTaskRepository { refresh: true, ..blank.clone() })),
            ("adopt_path", task_in(NewTaskRepository { adopt_path: Some("/x".into()), ..blank.clone() })),
            ("checkout_branch", NewTask { kind: WorkspaceKind::InPlace, ..task_in(checkout) }),
            ("adopt_path", NewTask { kind: WorkspaceKind::Adopted, ..task_in(blank.clone()) }),
            ("repositories", NewTask { kind: WorkspaceKind::Scratch, ..task_in(blank) }),
            ("repositories", NewTask { kind: WorkspaceKind::InPlace, ..scratch() }),
            ("repositories", NewTask { kind: WorkspaceKind::Worktree, ..scratch() }),
        ];
        for (field, request) in cases {
            let error = engine.create_task(request.clone()).await.unwrap_err();
            assert_eq!((error.code(), error.subject()), ("invalid_field", field.to_owned()), "{request:?}");
        }
        let no_remote = engine.create_task(task_in(fetch)).await.unwrap_err();
        assert!(no_remote.to_string().contains("has no remote"), "{no_remote}");
        let missing = engine.create_task(on_branch(&repository, "fea")).await.unwrap_err();
        assert!(missing.to_string().contains("near it are: feat"), "{missing}");
        engine.shutdown().await;
    });
}

#[test]
fn a_task_in_place_works_in_the_main_checkout_and_closing_it_leaves_every_file() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        write_file(&world.repo.path().join("untracked.txt"), "mine\n");
        let request = NewTask { prompt: "Improve the sample".into(), ..in_place(&repository) };
        let view = begin(&engine, request).await;
        let id = view.summary.task.id.clone();
        let environment = view.environment.as_ref().unwrap();
        assert_eq!(environment.environment.workspace_path, world.repo.path().display().to_string());
        assert_eq!((world.worktrees(), world.task_directories()), (Vec::new(), Vec::new()));
        assert_eq!(world.branches(), [] as [&str; 0], "it works on the branch that is checked out");
        let changes = engine.changes(id.clone()).await.unwrap();
        assert!(changes[0].files.iter().any(|file| file.path == "freehold-demo.md"), "{changes:?}");
        // What the agent commits is a change since the task began, although the branch moved with it.
        commit_all(world, world.repo.path());
        let changes = engine.changes(id.clone()).await.unwrap();
        assert!(changes[0].files.iter().any(|file| file.path == "freehold-demo.md"), "{changes:?}");
        let before = world.repo.git(&["status", "--porcelain", "--branch"]);
        let report = engine.close_report(id.clone(), CloseAction::Delete).await.unwrap();
        assert_eq!((report.keeps_workspace, report.stakes), (true, Vec::new()));
        for action in [CloseAction::Archive, CloseAction::Delete] {
            let job = close(&engine, &id, action).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
            let resources = job.resources().unwrap();
            assert_eq!((resources.worktrees.len(), resources.task_dir_name.as_str()), (0, ""));
            assert_eq!(resources.kept_path, world.repo.path().display().to_string());
            assert_eq!(world.repo.git(&["status", "--porcelain", "--branch"]), before);
        }
        assert!(world.repo.path().join("untracked.txt").exists());
        // It comes back to where it was, unless another works there by then.
        let other = engine.create_task(NewTask { start: false, ..in_place(&repository) }).await.unwrap();
        let refused = engine.reopen_task(id.clone(), Reopening::default()).await.unwrap_err();
        assert_eq!((refused.code(), refused.subject()), ("checkout_in_use", other.to_string()));
        close(&engine, &other, CloseAction::Archive).await;
        let elsewhere = Reopening { place: Place::Elsewhere, ..Reopening::default() };
        engine.reopen_task(id.clone(), elsewhere).await.unwrap();
        let environment = engine.task(id).await.unwrap().environment.unwrap().environment;
        assert_eq!(environment.workspace_path, world.repo.path().display().to_string());
        engine.shutdown().await;
    });
}

#[test]
fn a_second_task_in_one_checkout_of_a_person_is_refused_until_the_first_is_closed() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let by_hand = world.home.join("by-hand");
        world.repo.git(&["worktree", "add", "--quiet", "-b", "feat", by_hand.to_str().unwrap()]);
        for request in [in_place(&repository), adopting(&repository, &by_hand)] {
            let stored = NewTask { start: false, ..request.clone() };
            let first = engine.create_task(stored).await.unwrap();
            let error = engine.create_task(request.clone()).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "checkout_in_use"));
            assert_eq!(error.subject(), first.to_string());
            let job = close(&engine, &first, CloseAction::Archive).await;
            assert_eq!(job.state, CleanupState::Succeeded);
            begin(&engine, request).await;
        }
        engine.shutdown().await;
    });
}

#[test]
fn of_two_tasks_that_ask_for_one_checkout_at_once_one_gets_it() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let request = NewTask { start: false, ..in_place(&repository) };
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (engine, request) = (engine.clone(), request.clone());
            asking.spawn(async move { engine.create_task(request).await.is_ok() });
        }
        let served = asking.join_all().await.into_iter().filter(|is_served| *is_served).count();
        assert_eq!(served, 1);
        engine.shutdown().await;
    });
}

#[test]
fn an_adopted_worktree_is_worked_in_and_stays_with_branch_and_registration() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let by_hand = world.home.join("by hand");
        world.repo.git(&["worktree", "add", "--quiet", "-b", "feat", by_hand.to_str().unwrap()]);
        write_file(&by_hand.join("mine.txt"), "mine\n");
        let request = NewTask { prompt: "Improve the sample".into(), ..adopting(&repository, &by_hand) };
        let view = begin(&engine, request).await;
        assert_eq!(worktree_of(&view), by_hand);
        assert_eq!(view.environment.as_ref().unwrap().repos[0].0.worktree_branch, "feat");
        assert!(by_hand.join("freehold-demo.md").exists(), "the agent worked there");
        let job = close(&engine, &view.summary.task.id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        let text = std::fs::read_to_string(by_hand.join("mine.txt")).unwrap();
        assert!(text.starts_with("mine\n"), "what the agent changed in it stays: {text}");
        assert_eq!(world.worktrees(), [by_hand.display().to_string()]);
        world.repo.git(&["rev-parse", "--verify", "refs/heads/feat"]);
        engine.shutdown().await;
    });
}

#[test]
fn what_is_no_worktree_of_a_person_cannot_be_adopted() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let own = begin(&engine, new_task(&repository, "own", "")).await;
        let own_path = worktree_of(&own);
        let stray = world.root().join("stray");
        world.repo.git(&["worktree", "add", "--quiet", "--detach", stray.to_str().unwrap()]);
        let folder = world.home.join("folder");
        std::fs::create_dir(&folder).unwrap();
        let cases = [
            (own_path.as_path(), "belongs to task"),
            (stray.as_path(), "folder of Freehold's own workspaces"),
            (world.repo.path(), "main checkout"),
            (folder.as_path(), "no worktree of"),
            (Path::new("/nowhere/at/all"), "does not exist"),
            (Path::new("relative"), "relative path"),
        ];
        for (path, reason) in cases {
            let error = engine.create_task(adopting(&repository, path)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_worktree_that_is_gone_by_the_launch_fails_it_and_nothing_is_made_instead() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let by_hand = world.home.join("by-hand");
        world.repo.git(&["worktree", "add", "--quiet", "-b", "feat", by_hand.to_str().unwrap()]);
        let request = NewTask { start: false, ..adopting(&repository, &by_hand) };
        let id = engine.create_task(request).await.unwrap();
        world.repo.git(&["worktree", "remove", by_hand.to_str().unwrap()]);
        engine.start_task(id.clone()).await.unwrap();
        assert!(fails(&engine, &id).await.contains("by-hand does not exist"));
        assert!(world.worktrees().is_empty() && world.task_directories().is_empty());
        engine.shutdown().await;
    });
}

#[test]
fn a_link_in_the_place_of_a_scratch_folder_is_not_followed() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let view = begin(&engine, scratch()).await;
        let folder = PathBuf::from(&view.environment.as_ref().unwrap().environment.workspace_path);
        std::fs::remove_dir(&folder).unwrap();
        let elsewhere = world.home.join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
        let job = close(&engine, &view.summary.task.id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::NeedsDecision, "{job:#?}");
        assert_eq!(job.stakes[0].kind, StakeKind::Occupied);
        assert!(elsewhere.is_dir() && folder.is_symlink());
        engine.shutdown().await;
    });
}

#[test]
fn a_hook_that_fails_warns_on_the_workspace_that_was_made_nevertheless() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let hook = world.repo.path().join(".git/hooks/post-checkout");
        write_file(&hook, "#!/bin/sh\necho the linter is missing\nexit 1\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, mode).unwrap();
        let begun = std::time::Instant::now();
        let view = begin(&engine, new_task(&repository, "hooked", "")).await;
        assert!(begun.elapsed() < Duration::from_secs(30));
        let origin = view.environment.unwrap().repos.remove(0).0.origin.unwrap();
        assert!(origin.warning.contains("the linter is missing"), "{}", origin.warning);
        engine.shutdown().await;
    });
}
