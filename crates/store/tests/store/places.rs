//! Workspaces, boards, repositories, agents and nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use freehold_domain::agent::{AgentProfile, ExecutionStatus, ProcessIdentity};
use freehold_domain::clock::Clock as _;
use freehold_store::{StoreError, agent, node, repository, workflow, workspace};
use freehold_testkit::clock::SequentialIds;

use crate::fixture::{id, on_both_engines};

#[test]
fn a_fresh_database_begins_with_a_board_and_the_demo_agent() {
    on_both_engines("fresh", |fixture| {
        let names: Vec<_> = fixture.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, freehold_domain::workflow::DEFAULT_STEPS);
        let board = fixture.board.id.clone();
        let start = fixture.read(move |tx| workflow::start_step(tx, &board));
        assert_eq!(start.as_ref(), fixture.steps.first());
        let (profiles, executors) = fixture.read(|tx| Ok((agent::list(tx)?, agent::list_executors(tx)?)));
        assert_eq!(profiles.len(), 1);
        assert_eq!(profiles[0].id.as_str(), "demo");
        assert_eq!(executors[0].id.as_str(), "exec-worktree");
        let (ids, now) = (Arc::new(SequentialIds::default()), fixture.clock.now());
        let again = fixture.write(move |tx| workspace::ensure_default(tx, &*ids, now)).unwrap();
        assert_eq!(again, fixture.workspace);
        assert_eq!(fixture.read(workspace::list), std::slice::from_ref(&again));
        let found = fixture.read(move |tx| workspace::find(tx, &again.id));
        assert_eq!(found.as_ref(), Some(&fixture.workspace));
    });
}

#[test]
fn boards_and_steps_are_found_by_id() {
    on_both_engines("boards", |fixture| {
        let (board, step) = (fixture.board.clone(), fixture.steps[2].clone());
        let (found_board, found_step) = fixture.read(move |tx| {
            Ok((workflow::find_workflow(tx, &board.id)?, workflow::find_step(tx, &step.id)?))
        });
        assert_eq!(found_board.as_ref(), Some(&fixture.board));
        assert_eq!(found_step.as_ref(), Some(&fixture.steps[2]));
        assert_eq!(fixture.read(|tx| workflow::start_step(tx, &id("absent"))), None);
    });
}

#[test]
fn a_repository_is_found_by_id_and_by_path_the_oldest_where_a_database_holds_two() {
    on_both_engines("repository", |fixture| {
        let workspace = fixture.workspace.id.clone();
        let found = fixture.read(move |tx| {
            let by_path = repository::find_by_path(tx, &workspace, "/src/sample")?;
            Ok((repository::require(tx, &id("repo"))?, by_path, repository::list(tx, &workspace)?))
        });
        let expected = fixture.repository.clone();
        assert_eq!(found, (expected.clone(), Some(expected.clone()), vec![expected.clone()]));
        let absent = fixture.write(|tx| repository::require(tx, &id("absent"))).unwrap_err();
        assert_eq!(absent.to_string(), "there is no repository absent");
        let created_at = expected.created_at.plus_millis(1);
        let twin =
            freehold_domain::repository::Repository { id: id("a-twin"), created_at, ..expected.clone() };
        fixture.write(move |tx| repository::insert(tx, &twin)).unwrap();
        let workspace = fixture.workspace.id.clone();
        let oldest = fixture.read(move |tx| repository::find_by_path(tx, &workspace, "/src/sample"));
        assert_eq!(oldest, Some(expected));
    });
}

#[test]
fn an_agent_profile_keeps_its_arguments_and_environment() {
    on_both_engines("profile", |fixture| {
        let profile = AgentProfile {
            id: id("own"),
            agent_id: "custom".to_owned(),
            name: "Own agent".to_owned(),
            command: "/opt/agent".to_owned(),
            args: vec!["--acp".to_owned(), "a b".to_owned()],
            env: BTreeMap::from([("KEY".to_owned(), "välue".to_owned())]),
            created_at: fixture.now(),
            updated_at: fixture.now(),
        };
        let stored = profile.clone();
        fixture.write(move |tx| agent::insert(tx, &stored)).unwrap();
        assert_eq!(fixture.read(|tx| agent::find(tx, &id("own"))), Some(profile));
        assert!(fixture.write(|tx| agent::delete(tx, &id("own"))).unwrap());
        assert!(!fixture.write(|tx| agent::delete(tx, &id("own"))).unwrap());
        assert_eq!(fixture.read(|tx| agent::find(tx, &id("own"))), None);
    });
}

#[test]
fn a_session_has_one_execution_which_outlives_it() {
    on_both_engines("execution", |fixture| {
        let task = fixture.stored_task("task");
        let session = fixture.stored_session("session", &task);
        let (first, second) = (fixture.execution("first", &session), fixture.execution("second", &session));
        fixture.write(move |tx| agent::insert_execution(tx, &first)).unwrap();
        let refused = fixture.write(move |tx| agent::insert_execution(tx, &second)).unwrap_err();
        assert!(matches!(refused, StoreError::ExecutionExists { session_id } if session_id == session.id));
        let process = ProcessIdentity { pid: 7, start_ticks: u64::MAX, boot_id: "boot".to_owned() };
        let (recorded, now) = (process.clone(), fixture.now());
        fixture
            .write(move |tx| {
                agent::set_process(tx, &id("first"), &recorded, now)?;
                agent::set_status(tx, &id("first"), ExecutionStatus::Running, now)?;
                freehold_store::session::delete(tx, &id("session"))
            })
            .unwrap();
        let all = fixture.read(agent::list_executions);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].status, all[0].process.as_ref()), (ExecutionStatus::Running, Some(&process)));
        assert_eq!(fixture.read(|tx| agent::find_by_session(tx, &id("session"))).as_ref(), all.first());
        assert!(fixture.write(|tx| agent::delete_by_session(tx, &id("session"))).unwrap());
        assert!(!fixture.write(|tx| agent::delete_by_session(tx, &id("session"))).unwrap());
    });
}

#[test]
fn a_node_is_recorded_each_time_it_starts() {
    on_both_engines("node", |fixture| {
        let now = fixture.now();
        fixture.write(move |tx| node::upsert(tx, &id("node"), "one", now)).unwrap();
        fixture.write(move |tx| node::upsert(tx, &id("node"), "two", now.plus_millis(1))).unwrap();
    });
}
