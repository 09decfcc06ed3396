//! Tasks, environments, creation attempts and sessions.

use freehold_domain::environment::{
    Creation, CreationState, EnvironmentRepoStatus, EnvironmentStatus, PlannedBranch, PlannedWorktree,
};
use freehold_domain::session::SessionState;
use freehold_domain::task::TaskState;
use freehold_store::{StoreError, creation, environment, session, task};

use crate::fixture::{id, on_both_engines};

#[test]
fn a_task_is_stored_and_changed() {
    on_both_engines("task", |fixture| {
        let mut expected = fixture.task("task");
        expected.title = "Ünï 🦀 $(touch X) '; --".to_owned();
        let uses = [fixture.task_repository("use", &expected)];
        let (stored, stored_uses) = (expected.clone(), uses.clone());
        fixture.write(move |tx| task::insert(tx, &stored, &stored_uses)).unwrap();
        assert_eq!(fixture.read(|tx| task::require(tx, &id("task"))), expected);
        assert_eq!(fixture.read(|tx| task::repositories_of(tx, &id("task"))), uses);
        let later = fixture.now().plus_millis(5);
        let step = fixture.steps[1].id.clone();
        expected.step_id = step.clone();
        let locked = fixture
            .write(move |tx| {
                task::update_state(tx, &id("task"), TaskState::Failed, "no disk", later)?;
                task::rename(tx, &id("task"), "Other", later)?;
                task::move_to(tx, &id("task"), &step, 7, later)?;
                task::set_start_requested(tx, &id("task"), true, later)?;
                task::lock(tx, &id("task"))
            })
            .unwrap();
        expected.state = TaskState::Failed;
        expected.error_message = "no disk".to_owned();
        expected.title = "Other".to_owned();
        expected.position = 7;
        expected.start_requested = true;
        expected.updated_at = later;
        assert_eq!(locked, expected);
        let step = fixture.steps[1].id.clone();
        let (requested, next) = fixture.read(move |tx| {
            Ok((task::ids_with_start_requested(tx, &id("node"))?, task::next_position(tx, &step)?))
        });
        assert_eq!((requested, next), (vec![expected.id], 8));
    });
}

#[test]
fn archive_and_deletion_are_marks_that_can_be_taken_back() {
    on_both_engines("marks", |fixture| {
        fixture.stored_task("task");
        let now = fixture.now();
        fixture.write(move |tx| task::set_archived(tx, &id("task"), Some(now), now)).unwrap();
        assert_eq!(fixture.read(|tx| task::require(tx, &id("task"))).archived_at, Some(now));
        fixture
            .write(move |tx| {
                task::set_archived(tx, &id("task"), None, now)?;
                task::set_start_requested(tx, &id("task"), true, now)?;
                task::set_deleted(tx, &id("task"), Some(now), now)
            })
            .unwrap();
        let deleted = fixture.read(|tx| task::require(tx, &id("task")));
        assert_eq!((deleted.archived_at, deleted.deleted_at), (None, Some(now)));
        assert!(fixture.read(|tx| task::ids_with_start_requested(tx, &id("node"))).is_empty());
        fixture.write(move |tx| task::set_deleted(tx, &id("task"), None, now)).unwrap();
        assert!(fixture.read(|tx| task::require(tx, &id("task"))).is_open());
    });
}

#[test]
fn a_change_of_an_absent_task_names_it() {
    on_both_engines("absent", |fixture| {
        let now = fixture.now();
        let refused = fixture.write(move |tx| task::rename(tx, &id("nobody"), "x", now)).unwrap_err();
        assert_eq!(refused.to_string(), "there is no task nobody");
        assert!(fixture.write(|tx| task::lock(tx, &id("nobody"))).is_err());
        assert_eq!(fixture.read(|tx| task::find(tx, &id("nobody"))), None);
    });
}

#[test]
fn deleting_a_task_takes_what_it_owned_along() {
    on_both_engines("cascade", |fixture| {
        let task = fixture.stored_task("task");
        let session = fixture.stored_session("session", &task);
        let (environment, repos) = fixture.environment("env", &task);
        fixture.write(move |tx| environment::insert_ready(tx, &environment, &repos)).unwrap();
        let turn = fixture.turn("turn", &session);
        let message = fixture.message("message", &turn, "hello");
        fixture
            .write(move |tx| {
                freehold_store::message::insert_turn(tx, &turn)?;
                freehold_store::message::append_message(tx, &message)
            })
            .unwrap();
        assert!(fixture.write(|tx| task::delete_row(tx, &id("task"))).unwrap());
        assert!(!fixture.write(|tx| task::delete_row(tx, &id("task"))).unwrap());
        let left = fixture.read(|tx| {
            Ok((
                session::find(tx, &id("session"))?,
                environment::find(tx, &id("env"))?,
                environment::repos_of(tx, &id("env"))?,
                freehold_store::message::find(tx, &id("message"))?,
                task::repositories_of(tx, &id("task"))?,
            ))
        });
        assert_eq!(left, (None, None, vec![], None, vec![]));
    });
}

#[test]
fn an_environment_keeps_what_was_made() {
    on_both_engines("environment", |fixture| {
        let task = fixture.stored_task("task");
        fixture.stored_session("session", &task);
        let (environment, mut repos) = fixture.environment("env", &task);
        let mut failed = repos[0].clone();
        failed.id = id("failed");
        failed.branch_slug = "second".to_owned();
        failed.position = 1;
        (failed.worktree_id, failed.origin) = (None, None);
        repos.push(failed);
        let (stored, stored_repos, now) = (environment.clone(), repos.clone(), fixture.now());
        fixture
            .write(move |tx| {
                environment::insert_ready(tx, &stored, &stored_repos)?;
                session::set_environment(tx, &stored.task_id, &stored.id, now)
            })
            .unwrap();
        let task_id = task.id.clone();
        let found = fixture.read(move |tx| environment::find_by_task(tx, &task_id));
        assert_eq!(found.as_ref(), Some(&environment));
        assert_eq!(fixture.read(|tx| environment::repos_of(tx, &id("env"))), repos);
        let linked = fixture.read(|tx| session::require(tx, &id("session")));
        assert_eq!(linked.environment_id, Some(id("env")));

        let later = now.plus_millis(9);
        fixture
            .write(move |tx| {
                environment::set_status(tx, &id("env"), EnvironmentStatus::Stopped, later)?;
                environment::mark_repo_deleted(tx, &id("env-repo"), later)
            })
            .unwrap();
        let found = fixture.read(|tx| environment::find(tx, &id("env"))).unwrap();
        assert_eq!((found.status, found.updated_at), (EnvironmentStatus::Stopped, later));
        let repo = fixture.read(|tx| environment::repos_of(tx, &id("env"))).remove(0);
        assert_eq!((repo.status, repo.deleted_at), (EnvironmentRepoStatus::Deleted, Some(later)));
        assert!(fixture.write(|tx| environment::delete(tx, &id("env"))).unwrap());
        assert!(!fixture.write(|tx| environment::delete(tx, &id("env"))).unwrap());
        assert_eq!(fixture.read(|tx| session::require(tx, &id("session"))).environment_id, None);
    });
}

#[test]
fn a_task_has_one_environment_and_a_worktree_has_one_owner() {
    on_both_engines("one owner", |fixture| {
        let (one, two) = (fixture.stored_task("one"), fixture.stored_task("two"));
        let (first, repos) = fixture.environment("first", &one);
        fixture.write(move |tx| environment::insert_ready(tx, &first, &repos)).unwrap();
        let (second, repos) = fixture.environment("second", &one);
        let refused = fixture.write(move |tx| environment::insert_ready(tx, &second, &repos)).unwrap_err();
        assert!(matches!(refused, StoreError::Database { .. }), "{refused}");
        let (other, mut repos) = fixture.environment("other", &two);
        repos[0].worktree_id = Some(id("first-worktree"));
        let refused = fixture.write(move |tx| environment::insert_ready(tx, &other, &repos)).unwrap_err();
        assert!(matches!(refused, StoreError::Database { .. }), "{refused}");
        assert_eq!(fixture.read(|tx| environment::find(tx, &id("other"))), None);
    });
}

#[test]
fn a_creation_attempt_is_journalled() {
    on_both_engines("creation", |fixture| {
        let expected = Creation {
            id: id("attempt"),
            task_id: id("task"),
            node_id: id("node"),
            state: CreationState::Planned,
            task_dir_name: "dir".to_owned(),
            folder_seal: None,
            worktrees: vec![PlannedWorktree {
                worktree_id: id("worktree"),
                repository_id: id("repo"),
                repository_path: "/src/sample".to_owned(),
                path: "/managed/dir/sample".to_owned(),
                branch: "freehold/x".to_owned(),
                branch_origin: PlannedBranch::Existing,
                base_branch: "main".to_owned(),
                base_commit: "b".repeat(40),
                seal: None,
                environment_repo_id: None,
            }],
            created_at: fixture.now(),
            updated_at: fixture.now(),
        };
        let stored = expected.clone();
        fixture.write(move |tx| creation::insert(tx, &stored)).unwrap();
        assert_eq!(fixture.read(creation::list_unfinished), std::slice::from_ref(&expected));
        let now = fixture.now();
        for (state, unfinished) in
            [(CreationState::Materialising, 1), (CreationState::Abandoned, 0), (CreationState::Persisted, 0)]
        {
            fixture.write(move |tx| creation::set_state(tx, &id("attempt"), state, now)).unwrap();
            assert_eq!(fixture.read(creation::list_unfinished).len(), unfinished, "{state}");
        }
        let found = fixture.read(|tx| creation::find(tx, &id("attempt"))).unwrap();
        assert_eq!(found, Creation { state: CreationState::Persisted, ..expected });
        assert!(fixture.write(|tx| creation::delete(tx, &id("attempt"))).unwrap());
        assert!(!fixture.write(|tx| creation::delete(tx, &id("attempt"))).unwrap());
    });
}

#[test]
fn a_session_is_stored_and_changed() {
    on_both_engines("session", |fixture| {
        let task = fixture.stored_task("task");
        let mut expected = fixture.stored_session("session", &task);
        let later = fixture.now().plus_millis(3);
        fixture
            .write(move |tx| {
                session::set_state(tx, &id("session"), SessionState::Running, "", later)?;
                session::set_name(tx, &id("session"), "Review", later)?;
                session::set_acp_session_id(tx, &id("session"), "acp-1", later)
            })
            .unwrap();
        expected.state = SessionState::Running;
        expected.name = "Review".to_owned();
        expected.acp_session_id = "acp-1".to_owned();
        expected.updated_at = later;
        assert_eq!(fixture.read(session::list_live), [expected.clone()]);
        fixture
            .write(move |tx| session::set_state(tx, &id("session"), SessionState::Failed, "died", later))
            .unwrap();
        expected.state = SessionState::Failed;
        expected.error_message = "died".to_owned();
        expected.completed_at = Some(later);
        assert_eq!(fixture.read(|tx| session::require(tx, &id("session"))), expected);
        assert!(fixture.read(session::list_live).is_empty());
        fixture
            .write(move |tx| session::set_state(tx, &id("session"), SessionState::Starting, "", later))
            .unwrap();
        assert_eq!(fixture.read(|tx| session::require(tx, &id("session"))).completed_at, None);
    });
}

#[test]
fn one_session_of_a_task_is_primary() {
    on_both_engines("primary", |fixture| {
        let (task, other) = (fixture.stored_task("task"), fixture.stored_task("other"));
        for name in ["a", "b"] {
            fixture.stored_session(name, &task);
        }
        fixture.stored_session("elsewhere", &other);
        let now = fixture.now();
        for name in ["a", "b"] {
            fixture.write(move |tx| session::set_primary(tx, &id("task"), &id(name), now)).unwrap();
        }
        let sessions = fixture.read(|tx| session::list_by_task(tx, &id("task")));
        let primary: Vec<_> = sessions.iter().map(|session| session.is_primary).collect();
        assert_eq!(primary, [false, true]);
        let refused = fixture
            .write(move |tx| session::set_primary(tx, &id("task"), &id("elsewhere"), now))
            .unwrap_err();
        assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
        let mut third = fixture.session("third", &task);
        third.is_primary = true;
        let refused = fixture.write(move |tx| session::insert(tx, &third)).unwrap_err();
        assert!(matches!(refused, StoreError::Database { .. }), "{refused}");
        assert!(fixture.read(|tx| session::require(tx, &id("b"))).is_primary);
    });
}

#[test]
fn deleting_a_session_leaves_the_environment_and_makes_no_cleanup_job() {
    on_both_engines("session delete", |fixture| {
        let task = fixture.stored_task("task");
        fixture.stored_session("session", &task);
        let (environment, repos) = fixture.environment("env", &task);
        let expected = (Some(environment.clone()), repos.clone());
        fixture.write(move |tx| environment::insert_ready(tx, &environment, &repos)).unwrap();
        assert!(fixture.write(|tx| session::delete(tx, &id("session"))).unwrap());
        assert!(!fixture.write(|tx| session::delete(tx, &id("session"))).unwrap());
        let left = fixture
            .read(|tx| Ok((environment::find(tx, &id("env"))?, environment::repos_of(tx, &id("env"))?)));
        assert_eq!(left, expected);
        assert!(fixture.read(|tx| freehold_store::cleanup::list(tx, None, None)).is_empty());
    });
}

#[test]
fn a_word_that_is_no_state_is_reported_with_its_place() {
    on_both_engines("corrupt", |fixture| {
        let task = fixture.stored_task("task");
        fixture.stored_session("session", &task);
        fixture.raw("UPDATE tasks SET state = 'SLEEPING'");
        let refused = fixture.write(|tx| task::find(tx, &id("task"))).unwrap_err();
        let StoreError::Corrupt { table, column, id: row, word } = refused else { panic!("{refused}") };
        assert_eq!(
            (table, column.as_str(), row.as_str(), word.as_str()),
            ("tasks", "state", "task", "SLEEPING")
        );
        fixture.raw("UPDATE tasks SET state = 'TODO'");
        fixture.raw("UPDATE task_sessions SET state = 'DREAMING', is_primary = 1");
        let workspace = fixture.workspace.id.clone();
        let refused = fixture
            .write(move |tx| task::list_page(tx, &workspace, &task::TaskFilter::default(), None, 10))
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            "task_sessions.state of row \"session\" holds \"DREAMING\", which cannot be read"
        );
    });
}

#[test]
fn null_and_empty_mean_no_foreign_id() {
    on_both_engines("null", |fixture| {
        let task = fixture.stored_task("task");
        fixture.stored_session("session", &task);
        fixture.raw(
            "UPDATE task_sessions SET task_environment_id = NULL, agent_profile_id = NULL, name = NULL, \
             is_primary = NULL, error_message = NULL",
        );
        let found = fixture.read(|tx| session::require(tx, &id("session")));
        assert_eq!((found.environment_id, found.agent_profile_id, found.name), (None, None, String::new()));
        assert!(!found.is_primary);
    });
}
