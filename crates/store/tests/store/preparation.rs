//! Ports, preparations, runs of scripts and settings, on both engines.

use freehold_domain::environment::TaskEnvironment;
use freehold_domain::preparation::{
    PortBlock, Preparation, RepositorySettings, Setup, SetupKind, SetupState, Skipped, Submodules,
};
use freehold_store::{environment, port_block, preparation, repository_settings, setup};

use crate::fixture::{Fixture, block_on, id, on_both_engines};

/// Stores a workspace of one repository, which waits for its preparation.
fn stored_environment(fixture: &Fixture, name: &str) -> TaskEnvironment {
    let task = fixture.stored_task(&format!("task-{name}"));
    let (stored, repos) = fixture.environment(name, &task);
    let (environment, now) = (stored.clone(), fixture.now());
    fixture
        .write(move |tx| {
            environment::insert_ready(tx, &stored, &repos[..1])?;
            preparation::insert_pending(tx, &repos[0].id, now)
        })
        .unwrap();
    environment
}

fn block(environment: &TaskEnvironment, node: &str, first: u16) -> PortBlock {
    PortBlock { node_id: id(node), environment_id: environment.id.clone(), first, count: 10 }
}

#[test]
fn of_many_workspaces_that_take_one_block_at_once_one_gets_it() {
    on_both_engines("ports", |fixture| {
        let environments: Vec<_> =
            (0..8).map(|number| stored_environment(fixture, &format!("env{number}"))).collect();
        let now = fixture.now();
        let reserved: Vec<bool> = std::thread::scope(|scope| {
            let reserve = |environment: &TaskEnvironment| {
                let block = block(environment, "node", 20_000);
                block_on(fixture.store.write(move |tx| port_block::reserve(tx, &block, now))).unwrap()
            };
            let running: Vec<_> =
                environments.iter().map(|environment| scope.spawn(move || reserve(environment))).collect();
            running.into_iter().map(|running| running.join().unwrap()).collect()
        });
        assert_eq!(reserved.iter().filter(|is_reserved| **is_reserved).count(), 1, "{reserved:?}");
        let winner = environments[reserved.iter().position(|it| *it).unwrap()].clone();
        let expected = block(&winner, "node", 20_000);
        assert_eq!(fixture.read(|tx| port_block::list(tx, &id("node"))), std::slice::from_ref(&expected));
        // The same ports of another machine are others; a second block for one workspace is none.
        let other = environments.iter().find(|it| it.id != winner.id).unwrap();
        let (elsewhere, second) = (block(other, "far", 20_000), block(&winner, "node", 20_010));
        let outcome = fixture.write(move |tx| {
            Ok((port_block::reserve(tx, &elsewhere, now)?, port_block::reserve(tx, &second, now)?))
        });
        assert_eq!(outcome.unwrap(), (true, false));
        let freed = winner.id.clone();
        assert!(fixture.write(move |tx| port_block::free(tx, &freed)).unwrap());
        let deleted = other.id.clone();
        fixture.write(move |tx| environment::delete(tx, &deleted)).unwrap();
        assert_eq!(fixture.read(|tx| port_block::list(tx, &id("far"))), []);
        assert_eq!(fixture.read(|tx| port_block::list(tx, &id("node"))), []);
    });
}

#[test]
fn a_preparation_waits_until_it_is_stored_once() {
    on_both_engines("preparation", |fixture| {
        let environment = stored_environment(fixture, "env");
        let repo = fixture.read(move |tx| environment::repos_of(tx, &environment.id)).remove(0).id;
        let skipped = vec![Skipped { path: "a \" b".into(), reason: "é".into() }];
        let report = Preparation { skipped, skipped_total: 1, ..Preparation::default() };
        let (one, two, stored, now) = (repo.clone(), repo.clone(), report.clone(), fixture.now());
        assert!(fixture.read(move |tx| preparation::is_pending(tx, &one)));
        let finished = fixture.write(move |tx| {
            let first = preparation::finish(tx, &two, &stored, now)?;
            Ok((first, preparation::finish(tx, &two, &Preparation::default(), now)?))
        });
        assert_eq!(finished.unwrap(), (true, false));
        let asked = repo.clone();
        assert_eq!(fixture.read(move |tx| preparation::find(tx, &asked)), Some(report));
        assert!(!fixture.read(move |tx| preparation::is_pending(tx, &repo)));
        assert_eq!(fixture.read(|tx| preparation::find(tx, &id("unknown"))), None);
    });
}

#[test]
fn a_run_of_a_script_begins_once_and_keeps_how_it_ended() {
    on_both_engines("setup", |fixture| {
        let environment = stored_environment(fixture, "env");
        let environment_id = environment.id.clone();
        let repo = fixture.read(move |tx| environment::repos_of(tx, &environment_id)).remove(0).id;
        let (now, later) = (fixture.now(), fixture.now().plus_millis(9));
        let mut run = Setup {
            id: id("run"),
            environment_repo_id: repo,
            node_id: id("node"),
            kind: SetupKind::Setup,
            state: SetupState::Pending,
            exit_code: None,
            output: String::new(),
            created_at: now,
            started_at: None,
            finished_at: None,
        };
        let stored = run.clone();
        let begun = fixture.write(move |tx| {
            setup::insert(tx, &stored)?;
            let first = setup::begin(tx, &stored.id, &id("far"), later)?;
            Ok((first, setup::begin(tx, &stored.id, &id("node"), later)?))
        });
        assert_eq!(begun.unwrap(), (true, false));
        assert_eq!(fixture.read(|tx| setup::list_running(tx, &id("far"))).len(), 1);
        assert_eq!(fixture.read(|tx| setup::list_running(tx, &id("node"))), []);
        fixture
            .write(move |tx| setup::finish(tx, &id("run"), SetupState::Failed, Some(-7), "oops\n", later))
            .unwrap();
        run.node_id = id("far");
        (run.state, run.exit_code, run.output) = (SetupState::Failed, Some(-7), "oops\n".into());
        (run.started_at, run.finished_at) = (Some(later), Some(later));
        assert_eq!(fixture.read(move |tx| setup::list(tx, &environment.id)), [run]);
    });
}

#[test]
fn settings_are_empty_until_set_and_trust_is_of_one_content() {
    on_both_engines("settings", |fixture| {
        let unset = RepositorySettings::unset(id("repo"));
        assert_eq!(fixture.read(|tx| repository_settings::read(tx, &id("repo"))), unset);
        let set = RepositorySettings {
            copy: vec![".env".into(), "*.key".into()],
            setup: "echo 'a'\n".into(),
            submodules: Submodules::On,
            ..unset.clone()
        };
        let now = fixture.now();
        for settings in [set.clone(), unset, set] {
            let stored = settings.clone();
            fixture.write(move |tx| repository_settings::save(tx, &stored, now)).unwrap();
            assert_eq!(fixture.read(|tx| repository_settings::read(tx, &id("repo"))), settings);
        }
        for _ in 0..2 {
            fixture.write(move |tx| repository_settings::trust(tx, &id("repo"), "abc", now)).unwrap();
        }
        assert!(fixture.read(|tx| repository_settings::is_trusted(tx, &id("repo"), "abc")));
        assert!(!fixture.read(|tx| repository_settings::is_trusted(tx, &id("repo"), "abd")));
        assert!(!fixture.read(|tx| repository_settings::is_trusted(tx, &id("other"), "abc")));
    });
}
