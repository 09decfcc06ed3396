//! Repositories of another user. Only root can make one, so these tests show nothing elsewhere.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

use freehold_git::GitError;

use crate::world::World;

const STRANGER: u32 = 12_345;

/// Gives a folder with everything in it to another user; false when this one may not.
fn give_away(path: &Path) -> bool {
    if path.metadata().unwrap().uid() != 0 {
        return false;
    }
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() && !path.is_symlink() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
        std::os::unix::fs::lchown(&path, Some(STRANGER), Some(STRANGER)).unwrap();
    }
    chown(path, Some(STRANGER), Some(STRANGER)).is_ok()
}

fn trust(world: &World, path: &Path) {
    let config = world.repo.config();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, format!("{text}[safe]\n\tdirectory = {}\n", path.display())).unwrap();
}

#[test]
fn who_trusts_the_main_checkout_can_work_in_its_worktrees() {
    let world = World::new();
    if !give_away(world.repo.path()) {
        return;
    }
    let inspect = || world.git.inspect_repository(world.repo.path());
    assert!(matches!(inspect().unwrap_err(), GitError::DubiousOwnership { .. }), "nobody trusted it yet");
    assert_eq!(world.git.safe_variables(&[world.repo.path().join(".git")]), []);
    trust(&world, world.repo.path());
    inspect().unwrap();
    let start = world.git.resolve_start(world.repo.path(), "main").unwrap().commit;
    let plan = freehold_git::WorktreePlan {
        repo: world.repo.path().to_owned(),
        path: world.root().join("a/repo"),
        branch: "freehold/a".into(),
        branch_use: freehold_git::BranchUse::Make,
        start,
    };
    let worktree = world.git.add_worktree(&plan).unwrap().identity.path;
    assert!(world.git.status(&worktree).unwrap().untracked.is_empty());
    let told = world.git.safe_variables(std::slice::from_ref(&worktree));
    assert_eq!(told.len(), 3);
    assert_eq!(told[2].1, worktree.display().to_string(), "the exact path, never `*`");
}

#[test]
fn nothing_is_said_about_a_repository_of_one_s_own() {
    let world = World::new();
    let worktree = world.add("a").path;
    assert_eq!(world.git.safe_variables(&[worktree, world.repo.path().to_owned()]), []);
}
