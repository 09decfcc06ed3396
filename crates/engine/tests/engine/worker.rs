//! The cleanup worker: what runs at the same time, and what waits for one another.

use freehold_domain::cleanup::CleanupState;
use freehold_domain::id::TaskId;
use freehold_engine::cleanup::{CloseAction, CloseTask};
use freehold_engine::repository::AddRepository;
use freehold_engine::repository_settings::SettingsUpdate;
use freehold_testkit::repo::TempRepo;

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, wait_for_job, wait_until_idle,
};

/// More jobs than are worked on at once.
const MANY: usize = 6;

#[test]
fn a_repository_that_keeps_its_jobs_waiting_holds_up_no_other() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let slow = add_repository(&engine, world).await;
        let other = TempRepo::new();
        let request = AddRepository { path: other.path().to_owned(), ..AddRepository::default() };
        let quick = engine.add_repository(request).await.unwrap().repository.id;
        let script = "echo begun >> ../begun; while ! test -e \"$FREEHOLD_REPOSITORY/../go\"; do sleep 0.05; done; \
                      echo ended >> \"$FREEHOLD_REPOSITORY/../log\"";
        let script = script.replace("../begun", "\"$FREEHOLD_REPOSITORY/../log\"");
        let update = SettingsUpdate { teardown: Some(script), ..SettingsUpdate::default() };
        engine.update_repository_settings(slow.clone(), update).await.unwrap();
        let mut held: Vec<TaskId> = Vec::new();
        for number in 0..MANY {
            held.push(engine.create_task(new_task(&slow, &format!("slow {number}"), "")).await.unwrap());
        }
        let free = engine.create_task(new_task(&quick, "quick", "")).await.unwrap();
        for id in held.iter().chain([&free]) {
            wait_until_idle(&engine, id).await;
        }
        let mut jobs = Vec::new();
        for id in &held {
            let request = CloseTask { action: CloseAction::Delete, seals: true };
            jobs.push(engine.close_task(id.clone(), request).await.unwrap());
        }
        let job = close(&engine, &free, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{:?}", job.stakes);
        let log = world.repo.home().join("log");
        for job in &jobs {
            let state = engine.cleanup_job(job.id.clone()).await.unwrap().state;
            assert!(!state.is_final(), "{state}");
        }
        std::fs::write(world.repo.home().join("go"), "").unwrap();
        for job in &jobs {
            assert_eq!(wait_for_job(&engine, job).await.state, CleanupState::Succeeded);
        }
        let log = std::fs::read_to_string(log).unwrap();
        let turns: Vec<&str> = log.lines().collect();
        assert_eq!(turns, ["begun", "ended"].repeat(MANY), "those of one repository go one after another");
        engine.shutdown().await;
    });
}
