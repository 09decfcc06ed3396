//! What agents stand on: they work in their own workspace or not at all.

use std::path::Path;

use freehold_domain::cleanup::CleanupState;
use freehold_domain::message::MessageKind;
use freehold_domain::session::SessionState;
use freehold_domain::task::TaskState;
use freehold_engine::cleanup::{CloseAction, CloseTask};
use freehold_engine::repository_settings::SettingsUpdate;
use freehold_engine::session::NewSession;
use freehold_engine::task::TaskView;
use freehold_engine::{Engine, EngineError};

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, on_sqlite, wait_for_session, wait_for_task,
    wait_until_idle, whole, worktree_of,
};

/// What Freehold noted in the first session of a task.
async fn notes(engine: &Engine, view: &TaskView, kind: MessageKind) -> Vec<String> {
    let session = view.sessions[0].session.id.clone();
    let told = engine.messages(session, None, 500).await.unwrap().items;
    told.into_iter().filter(|it| it.kind == kind).map(|it| it.content).collect()
}

/// Whether a process works in the folder.
fn is_worked_in(folder: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut places = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.any(|place| {
        place.starts_with(folder) || place.to_string_lossy().starts_with(&*folder.to_string_lossy())
    })
}

#[test]
fn an_agent_whose_directory_goes_is_ended_and_none_works_elsewhere() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "gone", "list")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let (worktree, session) = (worktree_of(&view), view.sessions[0].session.id.clone());
        assert!(is_worked_in(&worktree), "the agent lives between its turns");
        let main_before = world.repo.git(&["status", "--porcelain", "--branch"]);

        // Another directory of the same name is not the one in which it was started.
        let moved = world.repo.home().join("moved");
        std::fs::rename(&worktree, &moved).unwrap();
        std::fs::create_dir(&worktree).unwrap();
        wait_for_session(&engine, &session, SessionState::Failed).await;
        let ended = engine.session(session.clone()).await.unwrap().session;
        assert!(ended.error_message.contains("is not there any more"), "{}", ended.error_message);
        assert!(ended.error_message.contains(worktree.to_str().unwrap()), "{}", ended.error_message);
        assert!(!is_worked_in(&moved) && !is_worked_in(&worktree));

        // Nothing starts without the directory, wherever the server itself works.
        std::fs::remove_dir(&worktree).unwrap();
        engine.prompt(session.clone(), "list".into()).await.unwrap();
        wait_for_session(&engine, &session, SessionState::Failed).await;
        let other = engine.create_session(id.clone(), NewSession::default()).await.unwrap().session.id;
        wait_for_session(&engine, &other, SessionState::Failed).await;
        assert_eq!(world.repo.git(&["status", "--porcelain", "--branch"]), main_before);

        std::fs::rename(&moved, &worktree).unwrap();
        engine.prompt(session.clone(), "list".into()).await.unwrap();
        wait_for_session(&engine, &session, SessionState::Idle).await;
        engine.shutdown().await;
    });
}

#[test]
fn a_change_of_the_main_checkout_during_a_turn_is_said_and_one_between_turns_is_not() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        world.repo.write("README.md", "# A person's own change\n");
        let id = engine.create_task(new_task(&repository, "outside", "ask for permission")).await.unwrap();
        let waits = |view: &TaskView| {
            view.sessions.first().is_some_and(|it| it.session.state == SessionState::WaitingForInput)
        };
        let view = wait_for_task(&engine, &id, "a question", waits).await;
        let session = view.sessions[0].session.id.clone();
        // As an agent does that was told an absolute path.
        world.repo.write("src/main.rs", "fn main() { println!(); }\n");
        world.repo.write("README.md", "# Changed once more, and by nobody who was asked\n");
        world.repo.write("stray.txt", "stray\n");
        let told = engine.messages(session.clone(), None, 500).await.unwrap().items;
        let asked = told.iter().find(|message| message.kind == MessageKind::Permission).unwrap();
        let request = asked.metadata["request_id"].as_str().unwrap().to_owned();
        let option = asked.metadata["options"][0]["option_id"].as_str().unwrap().to_owned();
        engine.answer_permission(session.clone(), request, Some(option)).await.unwrap();
        wait_for_session(&engine, &session, SessionState::Idle).await;

        let view = engine.task(id.clone()).await.unwrap();
        let said = notes(&engine, &view, MessageKind::Status).await;
        let [warning] = said.as_slice() else { panic!("{said:?}") };
        assert!(warning.contains("README.md, src/main.rs, stray.txt"), "{warning}");
        assert!(warning.contains(world.repo.path().to_str().unwrap()), "{warning}");
        // Nothing was undone, and what a person does between turns is theirs.
        assert_eq!(std::fs::read_to_string(world.repo.path().join("stray.txt")).unwrap(), "stray\n");
        world.repo.commit("A person commits it");
        engine.prompt(session.clone(), "list".into()).await.unwrap();
        wait_for_session(&engine, &session, SessionState::Idle).await;
        assert_eq!(notes(&engine, &view, MessageKind::Status).await.len(), 1);
        engine.shutdown().await;
    });
}

#[test]
fn a_task_whose_worktree_cannot_be_made_starts_no_agent_anywhere() {
    on_both_engines(async |world: &World| {
        world.repo.write(".gitattributes", "*.rs filter=broken\n");
        world.repo.commit("Add a filter");
        world.repo.git(&["config", "filter.broken.smudge", "false"]);
        world.repo.git(&["config", "filter.broken.clean", "cat"]);
        world.repo.git(&["config", "filter.broken.required", "true"]);
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let main_before = world.repo.git(&["status", "--porcelain", "--branch"]);
        let id = engine.create_task(new_task(&repository, "alone", "Improve it")).await.unwrap();
        let view = wait_for_task(&engine, &id, "a failed start", |view| {
            view.summary.task.state == TaskState::Failed
                && view.cleanup_jobs.iter().all(|job| job.state.is_final())
        })
        .await;
        assert!(view.summary.task.error_message.contains("broken"), "{}", view.summary.task.error_message);
        assert!(view.sessions.is_empty() && view.environment.is_none());
        let refused = engine.create_session(id, NewSession::default()).await.map(drop);
        assert!(matches!(refused, Err(EngineError::Git(_))), "{refused:?}");
        assert_eq!(world.repo.git(&["status", "--porcelain", "--branch"]), main_before);
        assert!(!world.repo.path().join("freehold-demo.md").exists(), "no agent worked in the main checkout");
        engine.shutdown().await;
        assert!(world.worktrees().is_empty() && world.branches().is_empty());
    });
}

#[test]
fn a_tear_down_that_deletes_everything_runs_only_once_everything_is_sealed() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let script = "find . -mindepth 1 -not -path './.git*' -delete";
        let update = SettingsUpdate { teardown: Some(script.into()), ..SettingsUpdate::default() };
        engine.update_repository_settings(repository.clone(), update).await.unwrap();
        let id = engine.create_task(new_task(&repository, "eager", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        std::fs::write(worktree.join("notes.txt"), "precious\n").unwrap();
        let before = whole(world, &worktree);

        let close_without_consent = CloseTask { action: CloseAction::Delete, seals: false };
        let refused = engine.close_task(id.clone(), close_without_consent).await;
        assert!(matches!(refused, Err(EngineError::AtStake { .. })), "{refused:?}");
        assert_eq!(whole(world, &worktree), before, "nothing was torn down");

        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        let sealed = engine.sealed_changes(id.clone()).await.unwrap();
        assert!(
            sealed.iter().any(|seal| seal.files.iter().any(|file| file.path == "notes.txt")),
            "{sealed:?}"
        );
        let seals = engine.seals(id.clone()).await.unwrap();
        assert!(!seals.is_empty(), "what was there before the tear-down is in a seal");
        engine.shutdown().await;
    });
}

#[test]
fn changes_are_looked_at_while_a_person_commits_and_no_commit_fails() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "busy", "list")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        let stop = tokio_util::sync::CancellationToken::new();
        let mut looking = tokio::task::JoinSet::new();
        looking.spawn({
            let (engine, id, stop) = (engine.clone(), id.clone(), stop.clone());
            async move {
                let mut looks = 0;
                while !stop.is_cancelled() {
                    engine.changes(id.clone()).await.unwrap();
                    engine.close_report(id.clone(), CloseAction::Delete).await.unwrap();
                    looks += 1;
                }
                looks
            }
        });
        for number in 0..40 {
            std::fs::write(worktree.join("busy.txt"), format!("{number}\n")).unwrap();
            let added = world.repo.try_git_in(&worktree, &["add", "busy.txt"]);
            let committed = world.repo.try_git_in(&worktree, &["commit", "--quiet", "-m", "busy"]);
            for output in [added, committed] {
                assert!(output.status.success(), "{number}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
        stop.cancel();
        let looks = looking.join_next().await.unwrap().unwrap();
        assert!(looks > 1, "it was looked {looks} times");
        assert_eq!(world.repo.git_in(&worktree, &["rev-list", "--count", "main..HEAD"]), "40");
        engine.shutdown().await;
    });
}
