//! Quarantine: sealed, moved by one rename, restored byte for byte, or gone for good.

use std::os::unix::fs::symlink;
use std::path::Path;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::storage::{PlaceKind, QuarantineState, UnownedReason};
use freehold_engine::EngineError;
use freehold_engine::cleanup::Decision;
use freehold_testkit::repo::{tree, write_file};

use super::{listed, put, refusal, request, stray};
use crate::harness::{World, add_repository, on_both_engines, start_engine_with, wait_for_job, whole};

#[test]
fn a_worktree_with_work_of_every_kind_goes_into_quarantine_sealed_and_comes_back_byte_for_byte() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let worktree = stray(world, "dirty");
        std::fs::hard_link(worktree.join("README.md"), worktree.join("twin")).unwrap();
        symlink("src/lib.rs", worktree.join("link")).unwrap();
        let before = whole(world, &worktree);
        let branches = world.repo.git(&["for-each-ref", "refs/heads"]);

        let entry = put(&engine, &worktree).await;
        assert_eq!((entry.kind, entry.reason), (PlaceKind::Worktree, UnownedReason::NotRecorded));
        assert_eq!(entry.requested_by, "a test");
        assert!(!worktree.parent().unwrap().exists(), "the empty folder around it went");
        let held = Path::new(&entry.held_path);
        assert_eq!(whole(world, held), before, "it is a worktree there, with its index and its branch");
        assert_eq!(world.worktrees(), std::slice::from_ref(&entry.held_path));
        assert_eq!(world.repo.git(&["for-each-ref", "refs/heads"]), branches);
        let job = engine.cleanup_job(entry.job_id.clone()).await.unwrap();
        assert_eq!(job.trigger, CleanupTrigger::Quarantine);
        assert_eq!(world.repo.git(&["for-each-ref", "refs/freehold/seals"]).lines().count(), 1);
        assert_eq!(engine.unowned_places().await.unwrap(), []);
        let view = engine.quarantine_entry(entry.id.clone()).await.unwrap();
        assert!(view.expires_at.is_some() && view.hostname.is_empty());

        let restored = engine.restore_quarantined(entry.id.clone(), None).await.unwrap().entry;
        assert_eq!(restored.state, QuarantineState::Restored);
        assert_eq!(whole(world, &worktree), before);
        assert_eq!(world.worktrees(), [worktree.display().to_string()]);
        assert!(engine.quarantine_entries().await.unwrap().is_empty());
        let place = listed(&engine, &worktree).await;
        assert_eq!(place.reason, UnownedReason::Restored);
        assert!(refusal(engine.restore_quarantined(entry.id, None).await).code() == "not_held");
        engine.shutdown().await;
    });
}

#[test]
fn a_folder_that_is_no_worktree_goes_and_comes_back_too() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let folder = world.root().join("notes");
        write_file(&folder.join("a/b.txt"), "bytes\n");
        symlink("/", folder.join("everything")).unwrap();
        let before = tree(&folder);
        let entry = put(&engine, &folder).await;
        assert_eq!((entry.kind, folder.exists()), (PlaceKind::Folder, false));
        assert_eq!(tree(Path::new(&entry.held_path)), before);
        engine.restore_quarantined(entry.id, None).await.unwrap();
        assert_eq!(tree(&folder), before);
        engine.shutdown().await;
    });
}

#[test]
fn nothing_is_overwritten_by_a_restoration_and_another_place_is_offered() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let worktree = stray(world, "taken");
        let before = whole(world, &worktree);
        let entry = put(&engine, &worktree).await;
        write_file(&worktree.join("newcomer.txt"), "here first\n");
        let taken = refusal(engine.restore_quarantined(entry.id.clone(), None).await);
        assert_eq!(taken.code(), "path_taken");
        for odd in ["relative", "/a/../b", &world.root().join(".idle/x").display().to_string()] {
            let refused = engine.restore_quarantined(entry.id.clone(), Some(odd.into())).await;
            assert!(
                matches!(refused, Err(EngineError::InvalidField { field: "path", .. })),
                "{odd}: {refused:?}"
            );
        }
        let elsewhere = world.home.join("rescued/repo");
        let to = Some(elsewhere.display().to_string());
        engine.restore_quarantined(entry.id, to).await.unwrap();
        assert_eq!(whole(world, &elsewhere), before);
        assert_eq!(std::fs::read_to_string(worktree.join("newcomer.txt")).unwrap(), "here first\n");
        engine.shutdown().await;
    });
}

#[test]
fn what_is_in_doubt_is_refused_and_stays() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let nested = stray(world, "nested");
        world.repo.git_in(&nested, &["init", "-q", "inner"]);
        let clone = world.root().join("clone");
        world.repo.git(&["clone", "-q", ".", &clone.display().to_string()]);
        let link = world.root().join("link");
        symlink(&nested, &link).unwrap();
        let locked = stray(world, "locked");
        world.repo.git(&["worktree", "lock", &locked.display().to_string()]);
        let all = tree(&world.root());
        for (path, code) in
            [(&nested, "at_stake"), (&clone, "not_movable"), (&link, "not_movable"), (&locked, "at_stake")]
        {
            assert_eq!(refusal(engine.quarantine(request(path)).await).code(), code, "{}", path.display());
        }
        let outside = world.repo.path().to_owned();
        assert_eq!(refusal(engine.quarantine(request(&outside)).await).code(), "not_unowned");
        assert_eq!(tree(&world.root()), all);
        assert_eq!(engine.cleanup_jobs(None, None).await.unwrap(), []);
        engine.shutdown().await;
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a program that works inside is what this is about")]
fn a_program_that_works_inside_keeps_it_where_it_is() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let worktree = stray(world, "busy");
        let mut program =
            std::process::Command::new("sleep").arg("600").current_dir(&worktree).spawn().unwrap();
        let asked = engine.quarantine(request(&worktree)).await;
        let stays = match asked {
            Err(EngineError::Quarantine(refusal)) => refusal.code() == "at_stake",
            Ok(view) => {
                let job = engine.cleanup_job(view.entry.job_id.clone()).await.unwrap();
                let job = wait_for_job(&engine, &job).await;
                engine.decide(job.id.clone(), Decision::Keep).await.unwrap();
                let entry = engine.quarantine_entry(view.entry.id).await.unwrap().entry;
                job.state == CleanupState::NeedsDecision && entry.state == QuarantineState::CalledOff
            }
            Err(_) => false,
        };
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(stays && worktree.join("src/staged.rs").exists());
        put(&engine, &worktree).await;
        engine.shutdown().await;
    });
}

#[test]
fn a_purge_takes_the_worktree_and_its_seals_and_keeps_its_branch() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let (worktree, folder) = (stray(world, "gone"), world.root().join("notes"));
        write_file(&folder.join("text.md"), "mine\n");
        for path in [&worktree, &folder] {
            let entry = put(&engine, path).await;
            let job = engine.purge_quarantined(entry.id.clone()).await.unwrap();
            assert_eq!(job.trigger, CleanupTrigger::QuarantinePurge);
            assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
            let gone = engine.quarantine_entry(entry.id).await;
            assert!(matches!(gone, Err(EngineError::NotFound { .. })), "{gone:?}");
            assert!(!Path::new(&entry.held_path).exists() && !path.exists());
        }
        assert!(world.worktrees().is_empty());
        assert_eq!(world.repo.git(&["for-each-ref", "refs/freehold/seals"]), "");
        assert!(world.repo.git(&["branch", "--list", "stray/gone"]).contains("stray/gone"));
        assert_eq!(engine.unowned_places().await.unwrap(), []);
        engine.shutdown().await;
    });
}

#[test]
fn the_worker_purges_what_has_been_in_quarantine_for_its_time_and_nothing_earlier() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        add_repository(&engine, world).await;
        let entry = put(&engine, &stray(world, "old")).await;
        engine.shutdown().await;
        let engine = world.start().await;
        assert_eq!(engine.quarantine_entries().await.unwrap().len(), 1);
        engine.shutdown().await;

        let engine = start_engine_with(&world.home, &world.url, |options| options.retention_ms = 1).await;
        while !engine.quarantine_entries().await.unwrap().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert!(!Path::new(&entry.held_path).exists());
        engine.shutdown().await;
    });
}

#[test]
fn bad_requests_name_what_is_wrong() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        for odd in ["", "relative/path", "/a/../b", "/"] {
            let refused = engine.quarantine(request(Path::new(odd))).await;
            assert!(
                matches!(refused, Err(EngineError::InvalidField { field: "path", .. })),
                "{odd}: {refused:?}"
            );
        }
        let nowhere = engine.restore_quarantined("nowhere".parse().unwrap(), None).await;
        assert!(matches!(nowhere, Err(EngineError::NotFound { .. })), "{nowhere:?}");
        engine.shutdown().await;
    });
}
