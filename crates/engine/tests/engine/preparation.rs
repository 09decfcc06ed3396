//! What a workspace gets besides its tracked files: copies, links, ports and scripts.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use freehold_domain::cleanup::{CleanupState, StakeKind};
use freehold_domain::id::{RepositoryId, TaskId};
use freehold_domain::preparation::{Preparation, Setup, SetupKind, SetupState};
use freehold_engine::cleanup::CloseAction;
use freehold_engine::repository_settings::SettingsUpdate;
use freehold_engine::task::TaskView;
use freehold_engine::{Engine, ErrorKind};
use freehold_testkit::repo::write_file;

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, on_sqlite, wait_for_task, wait_until_idle,
    worktree_of,
};

/// A task with a workspace and an idle session, in a repository with these settings.
async fn prepared(engine: &Engine, repository: &RepositoryId, update: SettingsUpdate) -> TaskView {
    engine.update_repository_settings(repository.clone(), update).await.unwrap();
    let id = engine.create_task(new_task(repository, "prepared", "")).await.unwrap();
    wait_until_idle(engine, &id).await
}

fn report(view: &TaskView) -> &Preparation {
    view.environment.as_ref().unwrap().preparations[0].as_ref().unwrap()
}

fn setups(view: &TaskView) -> &[Setup] {
    &view.environment.as_ref().unwrap().setups
}

fn strings(texts: &[&str]) -> Option<Vec<String>> {
    Some(texts.iter().map(|text| (*text).to_owned()).collect())
}

fn ignore(world: &World, patterns: &str) {
    world.repo.write(".gitignore", patterns);
    world.repo.commit("Ignore some files");
}

#[test]
fn listed_ignored_files_are_copied_and_do_not_keep_the_workspace() {
    on_both_engines(async |world: &World| {
        ignore(world, ".env\n*.key\n");
        world.repo.write(".worktreeinclude", "# what is needed\n.env\n/README.md\n");
        world.repo.commit("List files to copy");
        world.repo.write(".env", "SECRET=1\n");
        world.repo.write("config/dev.key", "key\n");
        world.repo.write("other.key", "other\n");
        std::fs::set_permissions(world.repo.path().join(".env"), std::fs::Permissions::from_mode(0o640))
            .unwrap();
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let update = SettingsUpdate { copy: strings(&["config/*.key"]), ..SettingsUpdate::default() };
        let view = prepared(&engine, &repository, update).await;
        let worktree = worktree_of(&view);
        assert_eq!(std::fs::read_to_string(worktree.join(".env")).unwrap(), "SECRET=1\n");
        assert_eq!(worktree.join(".env").metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(worktree.join("config/dev.key").is_file() && !worktree.join("other.key").exists());
        assert_eq!((report(&view).planted.len(), report(&view).copied_bytes), (2, 13));
        assert_eq!(world.repo.git_in(&worktree, &["status", "--porcelain"]), "");
        let id = view.summary.task.id.clone();
        std::fs::write(worktree.join(".env"), "SECRET=2\n").unwrap();
        let report = engine.close_report(id.clone(), CloseAction::Delete).await.unwrap();
        assert_eq!(report.sealed.len(), 1, "a changed copy is work: {:?}", report.sealed);
        assert_eq!(
            (report.sealed[0].kind, &report.sealed[0].items[..]),
            (StakeKind::Ignored, &[".env".into()][..])
        );
        std::fs::write(worktree.join(".env"), "SECRET=1\n").unwrap();
        let report = engine.close_report(id.clone(), CloseAction::Delete).await.unwrap();
        assert_eq!(report.sealed, [], "a copy as it was planted is none");
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{:?}", job.stakes);
        assert!(!worktree.exists() && world.repo.path().join(".env").is_file());
        engine.shutdown().await;
    });
}

#[test]
fn a_planted_link_is_no_work_and_a_directory_in_its_place_is() {
    on_sqlite(async |world: &World| {
        ignore(world, "shared\n");
        world.repo.write("shared/big.bin", "big\n");
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let update = SettingsUpdate { links: strings(&["shared/", "absent"]), ..SettingsUpdate::default() };
        for is_replaced in [false, true] {
            let view = prepared(&engine, &repository, update.clone()).await;
            let link = worktree_of(&view).join("shared");
            assert_eq!(std::fs::read_link(&link).unwrap(), world.repo.path().join("shared"));
            assert_eq!(report(&view).skipped[0].path, "absent");
            assert_eq!(report(&view).notes, [] as [&str; 0]);
            if is_replaced {
                std::fs::remove_file(&link).unwrap();
                write_file(&link.join("mine.txt"), "mine\n");
            }
            let id = view.summary.task.id.clone();
            let report = engine.close_report(id.clone(), CloseAction::Archive).await.unwrap();
            assert_eq!(report.sealed.is_empty(), !is_replaced, "{:?}", report.sealed);
            let job = close(&engine, &id, CloseAction::Archive).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{:?}", job.stakes);
            assert!(link.symlink_metadata().is_err());
            assert!(world.repo.path().join("shared/big.bin").is_file(), "the original stays");
        }
        engine.shutdown().await;
    });
}

#[test]
fn settings_that_lead_out_of_the_repository_are_refused_by_name() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let cases = [
            SettingsUpdate { links: strings(&["../x"]), ..SettingsUpdate::default() },
            SettingsUpdate { links: strings(&[".git/hooks"]), ..SettingsUpdate::default() },
            SettingsUpdate { copy: strings(&["a\nb"]), ..SettingsUpdate::default() },
            SettingsUpdate { setup: Some("a\0b".into()), ..SettingsUpdate::default() },
            SettingsUpdate { teardown: Some("x".repeat(300_000)), ..SettingsUpdate::default() },
        ];
        for update in cases {
            let error = engine.update_repository_settings(repository.clone(), update).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        let nowhere = "nowhere".parse().unwrap();
        let error = engine.update_repository_settings(nowhere, SettingsUpdate::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        engine.shutdown().await;
    });
}

#[test]
fn a_set_up_script_runs_in_the_worktree_with_its_facts_in_variables() {
    on_both_engines(async |world: &World| {
        ignore(world, "facts\n");
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let script = "echo begun; printf '%s|' \"$PWD\" \"$FREEHOLD_TASK_ID\" \"$FREEHOLD_REPOSITORY\" \
                      \"$FREEHOLD_PORT\" \"$PORT\" \"$FREEHOLD_PORTS\" > facts; echo done >&2";
        let update = SettingsUpdate { setup: Some(script.into()), ..SettingsUpdate::default() };
        let view = prepared(&engine, &repository, update).await;
        let [setup] = setups(&view) else { panic!("{:?}", setups(&view)) };
        assert_eq!((setup.state, setup.exit_code), (SetupState::Succeeded, Some(0)), "{}", setup.output);
        assert!(setup.output.contains("begun\n") && setup.output.contains("done\n"), "{}", setup.output);
        let ports = view.environment.as_ref().unwrap().ports.clone().unwrap();
        let facts = std::fs::read_to_string(worktree_of(&view).join("facts")).unwrap();
        let worktree = worktree_of(&view);
        let wanted = format!(
            "{}|{}|{}|{first}|{first}|{first}-{}|",
            worktree.display(),
            view.summary.task.id,
            world.repo.path().display(),
            ports.last(),
            first = ports.first
        );
        assert_eq!(facts, wanted);
        engine.shutdown().await;
    });
}

#[test]
fn a_set_up_that_fails_is_shown_and_can_be_repeated_and_takes_nothing_away() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let script = "test -f \"$FREEHOLD_REPOSITORY/ready\" || { echo not ready; exit 3; }";
        let update = SettingsUpdate { setup: Some(script.into()), ..SettingsUpdate::default() };
        let view = prepared(&engine, &repository, update).await;
        let [setup] = setups(&view) else { panic!("{:?}", setups(&view)) };
        assert_eq!((setup.state, setup.exit_code), (SetupState::Failed, Some(3)));
        assert_eq!(setup.output, "not ready\n");
        assert!(worktree_of(&view).join("README.md").is_file());
        world.repo.write("ready", "");
        let id = view.summary.task.id.clone();
        engine.repeat_setup(id.clone()).await.unwrap();
        let is_over = |view: &TaskView| setups(view).len() == 2 && setups(view)[1].state.is_final();
        let view = wait_for_task(&engine, &id, "a second run", is_over).await;
        assert_eq!(setups(&view)[1].state, SetupState::Succeeded);
        engine.shutdown().await;
    });
}

#[test]
fn a_repository_s_own_script_is_run_only_when_that_very_content_is_trusted() {
    on_sqlite(async |world: &World| {
        ignore(world, "was-run\n");
        world.repo.write(".freehold/setup.sh", "touch was-run\n");
        world.repo.commit("Name a script");
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let view = prepared(&engine, &repository, SettingsUpdate::default()).await;
        assert_eq!(setups(&view)[0].state, SetupState::Untrusted);
        assert!(setups(&view)[0].output.contains("freehold repo trust"), "{}", setups(&view)[0].output);
        assert!(!worktree_of(&view).join("was-run").exists());
        let script = engine.repository(repository.clone()).await.unwrap().scripts.remove(0);
        assert!(!script.is_trusted && script.content == "touch was-run\n");
        engine.trust_script(repository.clone(), script.hash).await.unwrap();
        let view = prepared(&engine, &repository, SettingsUpdate::default()).await;
        assert_eq!(setups(&view)[0].state, SetupState::Succeeded);
        assert!(worktree_of(&view).join("was-run").exists());
        world.repo.write(".freehold/setup.sh", "touch was-run # changed\n");
        world.repo.commit("Change the script");
        let view = prepared(&engine, &repository, SettingsUpdate::default()).await;
        assert_eq!(setups(&view)[0].state, SetupState::Untrusted);
        assert_eq!(engine.trust_script(repository, "abc".into()).await.unwrap_err().code(), "invalid_field");
        engine.shutdown().await;
    });
}

#[test]
fn closing_a_task_ends_its_script_and_leaves_no_process_of_it() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let update = SettingsUpdate { setup: Some("echo $$; sleep 300".into()), ..SettingsUpdate::default() };
        engine.update_repository_settings(repository.clone(), update).await.unwrap();
        let id = engine.create_task(new_task(&repository, "slow", "")).await.unwrap();
        let is_running = |view: &TaskView| {
            let environment = view.environment.as_ref();
            environment.is_some_and(|it| it.setups.first().is_some_and(|run| run.output.contains('\n')))
        };
        let view = wait_for_task(&engine, &id, "output of the script", is_running).await;
        let pid = setups(&view)[0].output.trim().to_owned();
        let again = engine.repeat_setup(id.clone()).await.unwrap_err();
        assert_eq!(again.code(), "setup_running");
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{:?}", job.stakes);
        assert!(!Path::new("/proc").join(pid).exists());
        let view = engine.task(id).await.unwrap();
        assert_eq!(setups(&view)[0].state, SetupState::Interrupted);
        assert_eq!(view.sessions, []);
        engine.shutdown().await;
    });
}

#[test]
fn a_tear_down_runs_once_before_the_workspace_goes_and_its_failure_does_not_keep_it() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let script = "echo down >> \"$FREEHOLD_REPOSITORY/../teardowns\"; pwd; exit 1";
        let update = SettingsUpdate { teardown: Some(script.into()), ..SettingsUpdate::default() };
        let view = prepared(&engine, &repository, update).await;
        let worktree = worktree_of(&view);
        let id = view.summary.task.id.clone();
        let log = world.repo.home().join("teardowns");
        world.repo.git(&["worktree", "lock", worktree.to_str().unwrap()]);
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        assert!(!log.exists(), "nothing is torn down while work is at stake");
        world.repo.git(&["worktree", "unlock", worktree.to_str().unwrap()]);
        engine.decide(job.id.clone(), freehold_engine::cleanup::Decision::Retry).await.unwrap();
        let job = crate::harness::wait_for_job(&engine, &job).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{:?}", job.stakes);
        assert_eq!(std::fs::read_to_string(log).unwrap(), "down\n");
        let view = engine.task(id).await.unwrap();
        let [run] = setups(&view) else { panic!("{:?}", setups(&view)) };
        assert_eq!((run.kind, run.state), (SetupKind::Teardown, SetupState::Failed));
        assert_eq!(run.output.trim(), worktree.display().to_string());
        engine.shutdown().await;
    });
}

#[test]
fn every_workspace_has_ports_of_its_own_that_are_free_again_when_it_is_given_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let mut ids: Vec<TaskId> = Vec::new();
        for _ in 0..12 {
            ids.push(engine.create_task(new_task(&repository, "ports", "")).await.unwrap());
        }
        let mut firsts = Vec::new();
        for id in &ids {
            let view = wait_until_idle(&engine, id).await;
            let ports = view.environment.unwrap().ports.unwrap();
            assert_eq!(ports.count, 10);
            firsts.push(ports.first);
        }
        let first = firsts[0];
        let mut sorted = firsts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 12, "{firsts:?}");
        close(&engine, &ids[0], CloseAction::Archive).await;
        assert_eq!(engine.task(ids[0].clone()).await.unwrap().environment.unwrap().ports, None);
        // What listens in a block keeps it from being reserved.
        let listener = std::net::TcpListener::bind(("127.0.0.1", first + 9)).unwrap();
        let id = engine.create_task(new_task(&repository, "busy", "")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let busy = view.environment.unwrap().ports.unwrap();
        assert!(busy.first != first && !firsts.contains(&busy.first), "{busy:?} of {firsts:?}");
        drop(listener);
        engine.shutdown().await;
    });
}
