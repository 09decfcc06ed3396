//! Listing, resolving and naming branches.

use freehold_git::GitError;
use proptest::prelude::*;

use crate::world::World;

#[test]
fn branches_are_listed_local_and_remote_the_newest_first() {
    let world = World::new();
    world.repo.branch("old");
    world.repo.git(&["update-ref", "refs/remotes/origin/old", "HEAD~1"]);
    world.repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/old"]);
    world.repo.git(&["switch", "--quiet", "--create", "feature/new"]);
    world.repo.git(&["-c", "user.name=A", "commit", "--quiet", "--allow-empty", "--message=x", "--date=now"]);
    let branches = world.git.list_branches(world.repo.path()).unwrap();
    let mut names: Vec<(&str, bool)> =
        branches.iter().map(|branch| (branch.name.as_str(), branch.is_remote)).collect();
    names.sort_unstable();
    assert_eq!(names, [("feature/new", false), ("main", false), ("old", false), ("origin/old", true)]);
    assert!(branches.is_sorted_by(|first, second| first.committed_at_unix >= second.committed_at_unix));
    let newest = branches.iter().find(|branch| branch.name == "feature/new").unwrap();
    assert_eq!(newest.commit, world.head());
    assert!(newest.committed_at_unix > 1_600_000_000);
}

#[test]
fn a_start_is_a_branch_a_remote_branch_a_tag_or_a_commit() {
    let world = World::new();
    let first = world.repo.git(&["rev-parse", "HEAD~1"]);
    world.repo.git(&["update-ref", "refs/remotes/origin/feature", "HEAD~1"]);
    world.repo.git(&["tag", "--annotate", "--message=x", "v1", "HEAD~1"]);
    // A branch wins over a tag of the same name.
    world.repo.git(&["tag", "main", "HEAD~1"]);
    let resolve = |name: &str| world.git.resolve_start(world.repo.path(), name).unwrap().commit.to_string();
    assert_eq!(resolve("main"), world.head().to_string());
    assert_eq!(resolve("HEAD"), world.head().to_string());
    for name in ["origin/feature", "v1", "refs/tags/main", &first, &first[..8]] {
        assert_eq!(resolve(name), first, "{name}");
    }
    assert_eq!(world.git.resolve_start(world.repo.path(), "v1").unwrap().name, "v1");
}

#[test]
fn an_unknown_start_lists_names_that_look_alike() {
    let world = World::new();
    for branch in ["feature/login", "feature/logout", "trunk"] {
        world.repo.branch(branch);
    }
    let near = |name: &str| match world.git.resolve_start(world.repo.path(), name).unwrap_err() {
        GitError::UnknownStart { near, .. } => near,
        other => panic!("{other}"),
    };
    assert_eq!(near("mian"), ["main"]);
    assert_eq!(near("Login"), ["feature/login"]);
    assert_eq!(near("feature/logot"), ["feature/logout", "feature/login"]);
    assert_eq!(near("something-else-entirely"), Vec::<String>::new());
}

#[test]
fn a_start_that_looks_like_an_option_or_an_expression_is_only_unknown() {
    let world = World::new();
    for name in
        ["--help", "-x", "--output=/tmp/x", "", "main..HEAD", "$(touch x)", "HEAD~1", ":/Add", "a\nb", "\0"]
    {
        let error = world.git.resolve_start(world.repo.path(), name).unwrap_err();
        assert!(matches!(error, GitError::UnknownStart { .. }), "{name:?}: {error}");
    }
}

#[test]
fn an_unused_name_avoids_every_branch_whatever_its_case_and_place() {
    let world = World::new();
    let name = |prefix: &str, title: &str| {
        world.git.unused_branch_name(world.repo.path(), prefix, title, "a1").unwrap()
    };
    assert_eq!(name("freehold/", "Fix it"), "freehold/fix-it-a1");
    world.repo.branch("Freehold/FIX-it-a1");
    assert_eq!(name("freehold/", "Fix it"), "freehold/fix-it-a1-2");
    world.repo.git(&["update-ref", "refs/remotes/origin/me/fix-it-a1", "HEAD"]);
    assert_eq!(name("me/", "Fix it"), "me/fix-it-a1-2");
    world.repo.branch("team");
    assert_eq!(name("team/", "Fix it"), "team-fix-it-a1");
    world.repo.branch("x-a1/inner");
    assert_eq!(name("", "x"), "x-a1-2");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_title_and_prefix_give_a_name_that_git_makes_a_branch_of(
        prefix in r"([a-zA-Z0-9._/@{~^: \\-]{0,30}|\PC{0,20})",
        title in r"(\PC{0,300}|[.@{/~^:?*\\-]{0,8}|CON|a\.lock|\.\.|[0-9a-f]{40})",
        suffix in "[a-z0-9]{0,8}",
    ) {
        thread_local! {
            static WORLD: World = World::new();
        }
        WORLD.with(|world| {
            let name = world.git.unused_branch_name(world.repo.path(), &prefix, &title, &suffix).unwrap();
            prop_assert!(name.len() <= 200, "{name}");
            prop_assert!(name.is_ascii(), "{name}");
            let checked = world.repo.git(&["check-ref-format", "--branch", &name]);
            prop_assert_eq!(&checked, &name);
            world.repo.branch(&name);
            let again = world.git.unused_branch_name(world.repo.path(), &prefix, &title, &suffix).unwrap();
            prop_assert_ne!(again.to_lowercase(), name.to_lowercase());
            world.repo.branch(&again);
            Ok(())
        })?;
    }
}
