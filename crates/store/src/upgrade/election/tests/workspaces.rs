//! What becomes of environments, and where sessions are linked to.

use super::written::{links, outcome, workspaces};

#[track_caller]
fn stay(text: &str, expected: &[&str]) {
    assert_eq!(workspaces(&outcome(text, &[])), expected, "\n{text}");
}

#[track_caller]
fn link(text: &str, expected: &[&str]) {
    assert_eq!(links(&outcome(text, &[])), expected, "\n{text}");
}

#[test]
fn the_newest_environment_of_a_task_survives() {
    stay("task a\nenv old a - @1\nenv new a - @2", &["new a"]);
    stay("task a\nenv old a - @5 created=1\nenv new a - @5 created=2", &["new a"]);
    stay("task a\nenv e1 a - @5\nenv e2 a - @5", &["e2 a"]);
    stay("task a\nenv e gone -", &[]);
}

#[test]
fn a_task_with_sessions_gets_an_environment_and_one_without_does_not() {
    let text = "task a\ntask b\nsession s a RUNNING\nsession t gone RUNNING";
    stay(text, &["new-of-a a"]);
    link(text, &["s new-of-a", "t"]);
}

#[test]
fn sessions_follow_the_environment_that_survives() {
    link(
        "task a\ntask b\nenv old a - @1\nenv new a - @2\nsession s a IDLE env=old\nsession t b IDLE env=old\n\
         session u a IDLE\nsession v a IDLE env=gone",
        &["s new", "t new", "u new", "v new"],
    );
    // A session that borrows gives its own task no environment.
    let text = "task a\ntask b\nenv e a -\nsession s b IDLE env=e";
    stay(text, &["e a"]);
    link(text, &["s e"]);
}

#[test]
fn an_environment_that_is_made_takes_its_executor_from_the_newest_live_session() {
    let executor = |text: &str| {
        let outcome = outcome(text, &[]);
        let row = &outcome.workspaces[0].environment;
        [&row.executor, &row.executor_type, &row.executor_profile, &row.status].map(Clone::clone)
    };
    assert_eq!(
        executor(
            "task a\nsession s a IDLE executor=exec-worktree profile=p @1\nsession t a IDLE executor=exec-local @0\n\
             session u a FAILED executor=exec-local @9"
        ),
        ["exec-worktree", "worktree", "p", "ready"]
    );
    assert_eq!(
        executor(
            "task a\nsession s a FAILED executor=exec-worktree @1\nsession t a FAILED executor=exec-local @2"
        ),
        ["exec-local", "local", "", "ready"]
    );
    assert_eq!(executor("task a\nsession s a IDLE executor=exec-of-mine"), ["exec-of-mine", "", "", "ready"]);
}

#[test]
fn an_empty_workspace_path_is_filled_and_one_of_a_loser_is_mended() {
    stay("task a\nsession s a IDLE\nrow x s w", &["new-of-a a /at/w"]);
    stay("task a\nenv e a w", &["e a /at/w"]);
    stay("task a\nenv e a v workspace=/at/v\nrepo c e w", &["e a /at/w"]);
    // A path that is nobody's stays, and so does the winner's own.
    stay("task a\nenv e a v workspace=/mine\nrepo c e w", &["e a /mine"]);
    stay("task a\nenv e a w workspace=/at/w\nsession s a IDLE\nrow x s v", &["e a /at/w"]);
    // So does an old path of a worktree that the task owns: no worktree was demoted.
    let old =
        "task a\nenv e a w workspace=/old\nsession s a IDLE\nrow x s w slug=t path=/old\nrow y s v slug=t";
    stay(old, &["e a /old"]);
    // Without a worktree there is nothing to fill it with.
    stay("task a\nenv e a -", &["e a"]);
    stay("task a\nenv e a -\nrepo c e w deleted", &["e a"]);
}

#[test]
fn the_workspace_path_of_several_repositories_is_the_folder_around_them() {
    stay("task a\nenv e a -\nrepo c e w path=/all/w\nrepo d e v repository=q path=/all/v", &["e a /all"]);
    stay(
        "task a\nenv e a -\nrepo c e w path=/here/w position=1\nrepo d e v repository=q path=/there/v",
        &["e a /there/v"],
    );
}

#[test]
fn rows_that_are_made_have_the_same_ids_at_every_attempt() {
    let ids = |text: &str| {
        let outcome = outcome(text, &[]);
        let workspace = &outcome.workspaces[0];
        (workspace.environment.id.clone(), workspace.repos[0].row.id.clone())
    };
    let first = ids("task a\nsession s a IDLE\nrow x s w");
    assert_eq!(first, ids("task a\nsession s a IDLE @7\nrow z s v @9"));
    assert_ne!(first.1, ids("task a\nsession s a IDLE\nrow x s w slug=b").1);
    assert_ne!(first.0, ids("task b\nsession s b IDLE\nrow x s w").0);
    assert_eq!(first.0.len(), 36);
    // What stands is not renamed.
    assert_eq!(ids("task a\nenv e a -\nrepo c e w"), ("e".to_owned(), "c".to_owned()));
}

#[test]
fn a_surviving_row_keeps_what_it_says_beside_its_place() {
    let outcome =
        outcome("task a\nenv e a -\nrepo c e w position=3 error=it merged status=merged @4 created=2", &[]);
    let row = &outcome.workspaces[0].repos[0].row;
    assert_eq!((row.position, &*row.error_message, &*row.life.status), (3, "it", "merged"));
    assert_eq!(
        (row.life.created, row.life.updated, row.life.merged),
        (super::written::at(2), super::written::at(4), super::written::at(4))
    );
}
