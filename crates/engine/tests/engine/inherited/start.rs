//! The first start on an upgraded database, and what a person meets there first.

use freehold_domain::id::{AgentProfileId, SessionId};
use freehold_domain::session::SessionState;
use freehold_engine::repository::AddRepository;
use freehold_engine::session::NewSession;

use super::conversation::store_session;
use super::{Recorded, WHEN, foreign_worktree, insert, quiet_task, read, scene, sql};
use crate::harness::{World, on_both_engines, wait_for_session};

#[test]
fn a_start_makes_what_is_lacking_and_nothing_twice() {
    on_both_engines(async |world: &World| {
        world.start().await.shutdown().await;
        sql(
            world,
            "DELETE FROM workflow_steps; DELETE FROM agent_profiles; DELETE FROM agents; DELETE FROM executors;",
        );
        insert(
            world,
            "workspaces",
            &[("id", "second"), ("name", "Second"), ("created_at", WHEN), ("updated_at", WHEN)],
        );
        for _ in 0..2 {
            let engine = world.start().await;
            for view in engine.workspaces().await.unwrap() {
                let usable = view.workflows.iter().filter(|(_, steps)| !steps.is_empty()).count();
                assert_eq!(usable, 1, "{view:#?}");
            }
            let agents: Vec<String> =
                engine.agent_profiles().await.unwrap().into_iter().map(|agent| agent.id.into()).collect();
            assert_eq!(agents, ["demo"]);
            assert_eq!(read(world, "SELECT id FROM executors"), ["exec-worktree"]);
            let repository = crate::harness::add_repository(&engine, world).await;
            quiet_task(&engine, &repository, "finds the board that has columns").await;
            engine.shutdown().await;
        }
    });
}

#[test]
fn an_agent_without_a_command_is_listed_and_says_what_is_missing() {
    on_both_engines(async |world: &World| {
        let (engine, repository, task) = scene(world).await;
        engine.shutdown().await;
        let times = [("created_at", WHEN), ("updated_at", WHEN)];
        insert(world, "agents", &[&[("id", "a"), ("name", "theirs")][..], &times].concat());
        let profile =
            [("id", "p"), ("agent_id", "a"), ("name", "Their agent"), ("agent_display_name", "Their agent")];
        insert(world, "agent_profiles", &[&profile[..], &times].concat());
        Recorded::at(&foreign_worktree(world, "a")).store(world, "a", &task, repository.as_str());
        store_session(world, "s", &task, "COMPLETED", "p");
        store_session(world, "lost", &task, "COMPLETED", "no-such-agent");

        let engine = world.start().await;
        assert_eq!(engine.agent_profiles().await.unwrap().len(), 2);
        let agent_profile_id = Some(AgentProfileId::new("p").unwrap());
        let refused = engine.create_session(task, NewSession { agent_profile_id, prompt: None }).await;
        let told = "the agent \"Their agent\" has no command to start; add one that has with `freehold agent add`, \
                    or choose another";
        assert_eq!(refused.unwrap_err().to_string(), told);
        for (id, reason) in [("s", told), ("lost", "agent no-such-agent does not exist")] {
            let id = SessionId::new(id).unwrap();
            engine.prompt(id.clone(), "Go on".into()).await.unwrap();
            wait_for_session(&engine, &id, SessionState::Failed).await;
            let session = engine.session(id).await.unwrap().session;
            assert!(session.error_message.contains(reason), "{session:#?}");
        }
        engine.shutdown().await;
    });
}

#[test]
fn two_that_register_one_path_at_once_get_one_row() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let add =
            || engine.add_repository(AddRepository { path: world.repo.path().into(), ..Default::default() });
        let added = tokio::join!(add(), add(), add(), add());
        let added = [added.0, added.1, added.2, added.3].map(Result::unwrap);
        assert_eq!(added.iter().filter(|one| !one.already_registered).count(), 1, "{added:#?}");
        assert!(added.iter().all(|one| one.repository.id == added[0].repository.id));
        assert_eq!(engine.repositories().await.unwrap().len(), 1);
        engine.shutdown().await;
    });
}
