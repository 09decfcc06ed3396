//! What is given back waits in the trash until it is reaped, in steps; nothing else there is touched.

use std::path::Path;

use freehold_git::{Reaped, RemovalOutcome, Remover, TrashEntry};
use freehold_testkit::repo::{tree, write_file};

use crate::world::World;

/// A worktree with more files than one step unlinks, given back.
fn given_back(world: &World) -> TrashEntry {
    for number in 0..1_000 {
        world.repo.write(&format!("many/{number}"), "x");
    }
    world.repo.commit("Many");
    let identity = world.add("a");
    let target = world.target("a", &identity);
    let mut given_back = Remover::new(world.git.clone()).give_back(&target, None).unwrap();
    assert_eq!(given_back.outcome, RemovalOutcome::Removed { branch_removed: false });
    assert!(!target.path.exists() && world.registrations().is_empty());
    assert_eq!(given_back.trash.len(), 1);
    given_back.trash.remove(0)
}

fn files(path: &Path) -> usize {
    tree(path).len()
}

#[test]
fn a_reaping_that_is_paused_goes_on_later() {
    let world = World::new();
    let remover = Remover::new(world.git.clone());
    let entry = given_back(&world);
    let before = files(&entry.path);
    let mut steps = 0;
    let paused = remover.reap(&entry, &mut || {
        steps += 1;
        steps < 2
    });
    assert_eq!(paused.unwrap(), Reaped::Paused);
    let left = files(&entry.path);
    assert!(left < before && left > before / 3, "{left} of {before}");
    assert_eq!(remover.reap(&entry, &mut || true).unwrap(), Reaped::Gone);
    assert!(!world.root().join(".trash").exists());
    assert_eq!(remover.reap(&entry, &mut || true).unwrap(), Reaped::Gone, "it can be repeated");
}

#[test]
fn another_directory_at_the_place_of_an_entry_stays() {
    let world = World::new();
    let remover = Remover::new(world.git.clone());
    let entry = given_back(&world);
    std::fs::rename(&entry.path, world.repo.home().join("away")).unwrap();
    write_file(&entry.path.join("notes.txt"), "mine");
    assert_eq!(remover.reap(&entry, &mut || true).unwrap(), Reaped::Foreign);
    assert_eq!(std::fs::read_to_string(entry.path.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_directory_that_no_removal_named_is_no_entry() {
    use std::os::unix::fs::MetadataExt;
    let world = World::new();
    let remover = Remover::new(world.git.clone());
    for place in ["workspaces/.trash/notes", "workspaces/0123456789abcdef-INODE", "notes/.trash/0123-INODE"] {
        let made = world.repo.home().join(place);
        write_file(&made.join("notes.txt"), "mine");
        let inode = made.metadata().unwrap().ino();
        let path = world.repo.home().join(place.replace("INODE", &inode.to_string()));
        if path != made {
            std::fs::rename(&made, &path).unwrap();
        }
        assert_eq!(
            remover.reap(&TrashEntry { path: path.clone(), inode }, &mut || true).unwrap(),
            Reaped::Foreign
        );
        assert!(path.join("notes.txt").exists(), "{place}");
    }
}
