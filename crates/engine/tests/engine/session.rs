//! Sessions: they visit a workspace and own nothing of it.

use std::time::{Duration, Instant};

use freehold_domain::message::{Message, MessageKind};
use freehold_domain::session::SessionState;
use freehold_engine::agent::NewAgentProfile;
use freehold_engine::session::NewSession;
use freehold_engine::{Engine, EngineError};

use crate::harness::{
    World, add_repository, new_task, on_both_engines, on_sqlite, wait_for_session, wait_for_task,
    wait_until_idle, worktree_of,
};

async fn conversation(engine: &Engine, id: &freehold_domain::id::SessionId) -> Vec<Message> {
    engine.messages(id.clone(), None, 500).await.unwrap().items
}

#[test]
fn deleting_the_only_session_keeps_every_file() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "keep", "Improve it")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let worktree = worktree_of(&view);
        std::fs::write(worktree.join("zz-marker.txt"), "mine").unwrap();
        let before = (world.worktrees(), world.branches());

        let deleted = engine.delete_session(view.sessions[0].session.id.clone()).await.unwrap();

        assert_eq!(deleted.primary_session_id, None);
        assert_eq!(deleted.workspace_path, worktree.display().to_string());
        assert_eq!(std::fs::read_to_string(worktree.join("zz-marker.txt")).unwrap(), "mine");
        assert_eq!((world.worktrees(), world.branches()), before);
        let view = engine.task(id.clone()).await.unwrap();
        assert_eq!((view.sessions.len(), view.cleanup_jobs.len()), (0, 0));

        let prompt = Some("list what you see".to_owned());
        let next =
            engine.create_session(id.clone(), NewSession { prompt, ..Default::default() }).await.unwrap();
        wait_for_session(&engine, &next.session.id, SessionState::Idle).await;
        let said: String = conversation(&engine, &next.session.id)
            .await
            .into_iter()
            .map(|message| message.content)
            .collect();
        assert!(said.contains("zz-marker.txt"), "the new session sees the marker: {said}");
        engine.shutdown().await;
    });
}

#[test]
fn a_permission_is_asked_for_and_answered_once() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "ask", "ask for permission first")).await.unwrap();
        let view = wait_for_task(&engine, &id, "a question", |view| {
            view.sessions.first().is_some_and(|it| it.session.state == SessionState::WaitingForInput)
        })
        .await;
        let session = view.sessions[0].session.id.clone();
        let asked = conversation(&engine, &session).await;
        let asked = asked.iter().find(|message| message.kind == MessageKind::Permission).unwrap();
        let request = asked.metadata["request_id"].as_str().unwrap().to_owned();
        let option = asked.metadata["options"][0]["option_id"].as_str().unwrap().to_owned();

        let wrong = engine.answer_permission(session.clone(), request.clone(), Some("no-such".into())).await;
        assert!(matches!(wrong, Err(EngineError::InvalidField { field: "option_id", .. })), "{wrong:?}");
        engine.answer_permission(session.clone(), request.clone(), Some(option.clone())).await.unwrap();
        let again = engine.answer_permission(session.clone(), request, Some(option.clone())).await;
        assert!(matches!(again, Err(EngineError::PermissionClosed { .. })), "{again:?}");

        wait_for_session(&engine, &session, SessionState::Idle).await;
        let told = conversation(&engine, &session).await;
        let told = told.iter().find(|message| message.kind == MessageKind::Permission).unwrap();
        assert_eq!(
            (&told.metadata["status"], &told.metadata["chosen"]),
            (&"answered".into(), &option.into())
        );
        engine.shutdown().await;
    });
}

#[test]
fn agents_that_do_not_work_fail_their_session_with_a_reason_and_keep_the_workspace() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let cases = [
            ("missing", "/no/such/agent", vec![], "was not found"),
            ("exits", "/bin/sh", vec!["-c", "echo broken >&2; exit 3"], "ended before it was ready"),
            ("garbage", "/bin/sh", vec!["-c", "echo this is no protocol; sleep 5"], "does not speak ACP"),
        ];
        for (name, command, args, reason) in cases {
            let args = args.into_iter().map(str::to_owned).collect();
            let profile =
                NewAgentProfile { name: name.into(), command: command.into(), args, ..Default::default() };
            let profile = engine.add_agent_profile(profile).await.unwrap();
            let mut task = new_task(&repository, name, "do it");
            task.agent_profile_id = Some(profile.id);
            let id = engine.create_task(task).await.unwrap();
            let view = wait_for_task(&engine, &id, "a failed session", |view| {
                view.sessions.first().is_some_and(|it| it.session.state == SessionState::Failed)
            })
            .await;
            let message = &view.sessions[0].session.error_message;
            assert!(message.contains(reason), "{name}: {message}");
            assert!(worktree_of(&view).is_dir());
            let told = conversation(&engine, &view.sessions[0].session.id).await;
            assert!(
                told.iter().any(|it| it.kind == MessageKind::Error && it.content.contains(reason)),
                "{told:?}"
            );
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_stopped_session_goes_on_with_the_next_prompt() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "slow", "work in a slow way")).await.unwrap();
        let view = wait_for_task(&engine, &id, "a running turn", |view| {
            view.sessions.first().is_some_and(|it| it.session.state == SessionState::Running)
        })
        .await;
        let session = view.sessions[0].session.id.clone();
        let busy = engine.prompt(session.clone(), "more".into()).await;
        assert!(matches!(busy, Err(EngineError::SessionBusy { .. })), "{busy:?}");
        let stopped = engine.stop_session(session.clone()).await.unwrap();
        assert_eq!(stopped.session.state, SessionState::Completed);
        engine.prompt(session.clone(), "list".into()).await.unwrap();
        wait_for_session(&engine, &session, SessionState::Idle).await;
        engine.shutdown().await;
    });
}

#[test]
fn a_cancelled_turn_ends_and_the_agent_goes_on() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "slow", "work in a slow way")).await.unwrap();
        let view = wait_for_task(&engine, &id, "a running turn", |view| {
            view.sessions.first().is_some_and(|it| it.session.state == SessionState::Running)
        })
        .await;
        let session = view.sessions[0].session.id.clone();
        // Once it says something, it has its prompt, and the turn can be cancelled.
        let begun = Instant::now();
        while conversation(&engine, &session).await.len() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(60), "the agent says nothing");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        engine.cancel_turn(session.clone()).await.unwrap();
        wait_for_session(&engine, &session, SessionState::Idle).await;
        let again = engine.cancel_turn(session.clone()).await;
        assert!(matches!(again, Err(EngineError::NoTurn { .. })), "{again:?}");
        engine.shutdown().await;
    });
}

#[test]
fn another_session_becomes_primary_when_the_primary_one_is_deleted() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "two", "")).await.unwrap();
        let first = wait_until_idle(&engine, &id).await.sessions[0].session.clone();
        let second = engine.create_session(id.clone(), NewSession::default()).await.unwrap().session;
        assert!(first.is_primary && !second.is_primary);
        let deleted = engine.delete_session(first.id).await.unwrap();
        assert_eq!(deleted.primary_session_id.as_ref(), Some(&second.id));
        assert!(engine.session(second.id).await.unwrap().session.is_primary);
        engine.shutdown().await;
    });
}
