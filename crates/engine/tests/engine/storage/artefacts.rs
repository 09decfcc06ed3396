//! What Freehold writes per task outside of its workspace: the output of scripts, in the database.

use freehold_domain::cleanup::CleanupState;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::repository_settings::SettingsUpdate;
use freehold_testkit::legacy::rows;
use freehold_testkit::repo::tree;

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, wait_for_job, wait_for_task, wait_until_idle,
};

#[test]
fn the_output_of_scripts_is_told_stays_with_a_closed_task_and_goes_when_it_is_purged() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let setup = Some("echo twelve bytes".to_owned());
        let update = SettingsUpdate { setup, ..SettingsUpdate::default() };
        engine.update_repository_settings(repository.clone(), update).await.unwrap();
        let id = engine.create_task(new_task(&repository, "scripted", "Improve it")).await.unwrap();
        wait_until_idle(&engine, &id).await;
        let is_over = |view: &freehold_engine::task::TaskView| {
            view.environment
                .as_ref()
                .is_some_and(|it| it.setups.iter().any(|run| run.state.as_str() == "succeeded"))
        };
        wait_for_task(&engine, &id, "a set-up", is_over).await;
        let told = async || {
            let report = engine.storage().await.unwrap();
            let task = report.tasks.into_iter().find(|task| task.task_id == id);
            task.map(|task| (task.script_runs, task.script_output))
        };
        assert_eq!(told().await, Some((1, 13)));
        close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(told().await, Some((1, 13)), "it is kept as long as the task can come back");
        let job = engine.purge_task(id.clone()).await.unwrap();
        assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        assert_eq!(told().await, None);
        assert!(rows(&world.url, "SELECT id FROM workspace_setups").is_empty());
        assert!(tree(&world.root()).is_empty(), "nothing of it is on disk");
        engine.shutdown().await;
    });
}
