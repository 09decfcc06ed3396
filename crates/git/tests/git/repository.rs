//! What is accepted as a repository, and what is refused with which reason.

use std::path::Path;

use freehold_git::GitError;
use freehold_testkit::repo::TempRepo;

use crate::world::{World, snapshot, write_hook};

#[test]
fn the_main_checkout_is_accepted_as_it_is() {
    let world = World::new();
    let before = snapshot(world.repo.home());
    let info = world.git.inspect_repository(world.repo.path()).unwrap();
    assert_eq!(info.path, world.repo.path());
    assert_eq!(info.common_dir, world.repo.path().join(".git"));
    assert_eq!((info.is_bare, info.default_branch.as_str(), info.note), (false, "main", None));
    assert_eq!(info.head, world.head());
    assert_eq!(snapshot(world.repo.home()), before);
}

#[test]
fn a_bare_repository_is_accepted() {
    let world = World::new();
    let bare = world.repo.home().join("bare.git");
    world.repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let info = world.git.inspect_repository(&bare).unwrap();
    assert_eq!((info.path, info.common_dir, info.is_bare), (bare.clone(), bare, true));
    assert_eq!(info.default_branch, "main");
}

#[test]
fn a_sub_directory_a_git_directory_and_a_linked_worktree_lead_to_the_main_repository() {
    let world = World::new();
    let linked = world.add("linked").path;
    let named =
        [world.repo.path().join("src"), world.repo.path().join(".git"), linked.clone(), linked.join("src")];
    for named in named {
        let info = world.git.inspect_repository(&named).unwrap();
        assert_eq!(info.path, world.repo.path(), "{}", named.display());
        let note = info.note.unwrap();
        assert_eq!(note.contains("linked worktree"), named.starts_with(&linked), "{note}");
        assert!(
            note.contains(named.to_str().unwrap()) && note.contains(info.path.to_str().unwrap()),
            "{note}"
        );
    }
}

#[test]
fn a_link_to_a_repository_is_resolved() {
    let world = World::new();
    let link = world.repo.home().join("link");
    std::os::unix::fs::symlink(world.repo.path(), &link).unwrap();
    assert_eq!(world.git.inspect_repository(&link).unwrap().path, world.repo.path());
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let world = World::new();
    let url = world.repo.path().to_str().unwrap();
    let outer = TempRepo::new();
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "inner"]);
    let info = world.git.inspect_repository(&outer.path().join("inner")).unwrap();
    assert_eq!(info.path, outer.path().join("inner"));
    assert_eq!(info.common_dir, outer.path().join(".git/modules/inner"));
}

#[test]
fn paths_that_are_no_repository_are_refused_with_their_reason() {
    let world = World::new();
    let home = world.repo.home();
    let refuse = |path: &Path| {
        let error = world.git.inspect_repository(path).unwrap_err();
        assert!(error.is_invalid_input(), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        error
    };
    assert!(matches!(refuse(Path::new("some/where")), GitError::RelativePath { .. }));
    assert!(matches!(refuse(&home.join("nothing")), GitError::PathMissing { .. }));
    assert!(matches!(refuse(&home.join("gitconfig")), GitError::NotADirectory { .. }));
    std::fs::create_dir(home.join("plain")).unwrap();
    assert!(matches!(refuse(&home.join("plain")), GitError::NotARepository { .. }));
    let empty = TempRepo::without_commit();
    assert!(matches!(refuse(empty.path()), GitError::NoCommit { .. }));
}

#[test]
fn a_repository_whose_work_tree_is_missing_is_refused() {
    let world = World::new();
    world.repo.git(&["config", "core.worktree", "/no/where"]);
    let error = world.git.inspect_repository(&world.repo.path().join(".git")).unwrap_err();
    assert!(matches!(error, GitError::NoWorkTree { .. }), "{error}");
}

#[test]
fn a_repository_of_another_user_is_refused_with_the_remedy() {
    let world = World::new();
    let git = world.git.clone().with_env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let error = git.inspect_repository(world.repo.path()).unwrap_err();
    assert!(matches!(error, GitError::DubiousOwnership { .. }), "{error}");
    assert!(error.to_string().contains("safe.directory"), "{error}");
}

#[test]
fn the_default_branch_is_never_guessed_by_its_name() {
    let world = World::new();
    let default = || world.git.inspect_repository(world.repo.path()).map(|info| info.default_branch);
    world.repo.git(&["switch", "--quiet", "--create", "trunk"]);
    assert_eq!(default().unwrap(), "trunk");
    world.repo.git(&["switch", "--quiet", "--detach"]);
    assert!(matches!(default().unwrap_err(), GitError::NoDefaultBranch { .. }));
    world.repo.git(&["update-ref", "refs/remotes/upstream/next", "HEAD"]);
    world.repo.git(&["symbolic-ref", "refs/remotes/upstream/HEAD", "refs/remotes/upstream/next"]);
    assert_eq!(default().unwrap(), "upstream/next");
    world.repo.branch("next");
    assert_eq!(default().unwrap(), "next");
    for branch in ["next", "trunk"] {
        world.repo.git(&["branch", "--quiet", "-D", branch]);
    }
    world.repo.git(&["symbolic-ref", "--delete", "refs/remotes/upstream/HEAD"]);
    assert_eq!(default().unwrap(), "main");
}

#[test]
fn opening_a_repository_runs_nothing_from_it() {
    let world = World::new();
    let trap = world.repo.home().join("trap");
    let script = format!("touch '{}'", trap.display());
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        write_hook(&world.repo, hook, &script);
    }
    let program = world.repo.path().join(".git/hooks/post-checkout");
    for setting in
        ["core.fsmonitor", "core.pager", "diff.external", "core.sshCommand", "core.editor", "gpg.program"]
    {
        world.repo.git(&["config", setting, program.to_str().unwrap()]);
    }
    world.repo.git(&["config", "log.showSignature", "true"]);
    world.repo.git(&["config", "diff.trap.textconv", program.to_str().unwrap()]);
    std::fs::write(world.repo.path().join(".git/info/attributes"), "* diff=trap\n").unwrap();
    let base = world.head();
    world.repo.write("src/lib.rs", "changed\n");
    _ = std::fs::remove_file(&trap);
    world.git.inspect_repository(world.repo.path()).unwrap();
    world.git.list_branches(world.repo.path()).unwrap();
    world.git.resolve_start(world.repo.path(), "main").unwrap();
    world.git.status(world.repo.path()).unwrap();
    assert_eq!(world.git.changes(world.repo.path(), &base).unwrap().len(), 1);
    assert!(world.git.file_diff(world.repo.path(), &base, "src/lib.rs").unwrap().patch.contains("+changed"));
    assert!(!trap.exists());
}
