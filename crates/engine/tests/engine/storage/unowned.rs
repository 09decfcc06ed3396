//! What nobody owns is listed with its reason, and nothing removes it.

use std::path::Path;

use freehold_domain::storage::{PlaceKind, UnownedReason};
use freehold_engine::cleanup::CloseAction;
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::LegacyDatabase;
use freehold_testkit::repo::{tree, write_file};

use super::{listed, refusal, request, stray};
use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, on_sqlite, start_engine, wait_until_idle, whole,
    worktree_of,
};

#[test]
fn sizes_are_told_by_task_and_repository_and_a_task_without_a_session_is_an_owner_like_others() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "measured", "Improve it")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let worktree = worktree_of(&view);
        write_file(&worktree.join("large.bin"), vec![7_u8; 3 << 20]);
        engine.delete_session(view.sessions[0].session.id.clone()).await.unwrap();

        engine.measure_storage().await.unwrap();
        let report = engine.storage().await.unwrap();
        let task = report.tasks.iter().find(|task| task.task_id == id).unwrap();
        assert!(task.workspace.room.size_bytes >= 3 << 20 && task.workspace.room.is_complete, "{task:#?}");
        assert!(task.workspace.measured_at.is_some());
        assert_eq!(task.worktrees.len(), 1);
        let of = report.repositories.iter().find(|one| one.id == repository).unwrap();
        assert!(of.worktrees.room.size_bytes >= 3 << 20);
        assert_eq!(engine.unowned_places().await.unwrap(), []);

        close(&engine, &id, CloseAction::Delete).await;
        engine.measure_storage().await.unwrap();
        let report = engine.storage().await.unwrap();
        let task = report.tasks.iter().find(|task| task.task_id == id).unwrap();
        assert_eq!((task.state.as_str(), task.workspace_path.as_str()), ("deleted", ""));
        assert!(task.seal_count > 0 && task.seal_bytes >= 3 << 20, "{task:#?}");
        engine.shutdown().await;
    });
}

#[test]
fn what_no_row_names_is_listed_and_neither_a_start_nor_a_look_nor_a_sweep_removes_it() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let worktree = stray(world, "left");
        let folder = world.root().join("notes");
        write_file(&folder.join("text.md"), "mine\n");
        write_file(&world.root().join(".idle/odd/file"), "idle\n");
        write_file(&world.root().join(".trash/odd/file"), "trash\n");
        let (before, all) = (whole(world, &worktree), tree(&world.root()));

        let place = listed(&engine, &worktree).await;
        assert_eq!((place.kind, place.reason), (PlaceKind::Worktree, UnownedReason::NotRecorded));
        assert_eq!((place.branch.as_str(), place.since), ("stray/left", None));
        assert!(!place.reason.is_recorded() && place.refusal.is_empty());
        assert_eq!(listed(&engine, &folder).await.kind, PlaceKind::Folder);
        listed(&engine, &world.root().join(".idle/odd")).await;
        let trash = listed(&engine, &world.root().join(".trash/odd")).await;
        assert_eq!(trash.reason, UnownedReason::TrashLeftOver);

        engine.measure_storage().await.unwrap();
        engine.storage().await.unwrap();
        let since = listed(&engine, &worktree).await.since;
        assert!(since.is_some() && listed(&engine, &worktree).await.measure.is_some());
        engine.shutdown().await;
        // Each start judges, sweeps and purges.
        for _ in 0..2 {
            let engine = world.start().await;
            engine.measure_storage().await.unwrap();
            assert_eq!(listed(&engine, &worktree).await.since, since);
            engine.shutdown().await;
        }
        assert_eq!(whole(world, &worktree), before);
        assert_eq!(tree(&world.root()), all);
    });
}

#[test]
fn a_lost_database_lists_everything_with_an_unknown_owner_and_moves_nothing_without_the_name() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "alive", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        let before = whole(world, &worktree);
        engine.shutdown().await;

        let fresh = format!("sqlite://{}", world.home.join("fresh.db").display());
        let engine = start_engine(&world.home, &fresh).await;
        let place = listed(&engine, &worktree).await;
        assert_eq!((place.kind, place.reason), (PlaceKind::Worktree, UnownedReason::NotRecorded));
        assert_eq!(place.repository_id, None, "the fresh database knows no repository");
        for confirm in [None, Some(String::new()), Some("yes".into())] {
            let asked = engine.quarantine(super::QuarantineRequest { confirm, ..request(&worktree) }).await;
            assert_eq!(refusal(asked).code(), "owner_unknown");
        }
        assert_eq!(engine.cleanup_jobs(None, None).await.unwrap(), []);
        engine.shutdown().await;
        assert_eq!(whole(world, &worktree), before);

        let engine = world.start().await;
        assert_eq!(engine.unowned_places().await.unwrap(), []);
        engine.shutdown().await;
    });
}

#[test]
fn what_an_upgrade_recorded_and_what_came_back_after_a_task_are_listed_with_what_is_known() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let recorded = stray(world, "recorded");
        LegacyDatabase::open(&world.url, 0).insert(
            "unowned_worktrees",
            &[
                ("id", "one"),
                ("worktree_path", &recorded.display().to_string()),
                ("reason", "contested_slot"),
                ("task_id", "gone"),
                ("created_at", "2026-01-02 03:04:05"),
            ],
        );
        let place = listed(&engine, &recorded).await;
        assert_eq!((place.reason, place.detail.as_str()), (UnownedReason::LostOwner, "contested_slot"));
        assert!(place.task_id.is_some() && place.since.is_some());

        let id = engine.create_task(new_task(&repository, "closed", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        close(&engine, &id, CloseAction::Archive).await;
        write_file(&worktree.join("again.txt"), "again\n");
        let again = engine.unowned_places().await.unwrap();
        let again = again.iter().find(|place| worktree.starts_with(Path::new(&place.path))).unwrap();
        assert_eq!((again.reason, again.task_id.as_ref()), (UnownedReason::GivenBack, Some(&id)));
        engine.shutdown().await;
    });
}

#[test]
fn a_registration_without_a_directory_is_told_and_stays() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let worktree = stray(world, "vanished");
        std::fs::rename(&worktree, world.home.join("away")).unwrap();
        std::fs::remove_dir(worktree.parent().unwrap()).unwrap();
        let place = listed(&engine, &worktree).await;
        assert_eq!((place.kind, place.branch.as_str()), (PlaceKind::Missing, "stray/vanished"));
        assert_eq!(refusal(engine.quarantine(request(&worktree)).await).code(), "not_movable");
        assert_eq!(world.worktrees(), [worktree.display().to_string()]);
        engine.shutdown().await;
    });
}

#[test]
fn servers_with_homes_of_their_own_do_not_list_what_the_other_has() {
    let database = TestDatabase::postgres();
    crate::harness::run(&database, &async |world: &World| {
        let one = world.start().await;
        let repository = add_repository(&one, world).await;
        let id = one.create_task(new_task(&repository, "mine", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&one, &id).await);
        let other = crate::harness::start_engine_with(&world.home.join("other"), &world.url, |options| {
            options.node_id = freehold_domain::id::NodeId::new("other-node").unwrap();
        })
        .await;
        for engine in [&one, &other] {
            assert_eq!(engine.unowned_places().await.unwrap(), []);
            engine.measure_storage().await.unwrap();
        }
        let report = other.storage().await.unwrap();
        let task = report.tasks.iter().find(|task| task.task_id == id).unwrap();
        assert_eq!(task.hostname, "test");
        assert!(task.workspace.measured_at.is_some(), "the other server's measurement is shown");
        assert_eq!(refusal(other.quarantine(request(&worktree)).await).code(), "not_unowned");
        other.shutdown().await;
        one.shutdown().await;
    });
}
