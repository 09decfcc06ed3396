//! What holds for every database, however damaged.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::written::at;
use crate::upgrade::conflict::{InvalidResolution, Resolutions};
use crate::upgrade::election::keep;
use crate::upgrade::election::{Outcome, elect};
use crate::upgrade::evidence::{Environment, Evidence, Life, Place, Repo, Session, SessionWorktree};

/// More rounds of questions than so few rows can raise.
const ROUNDS: usize = 40;

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

fn place() -> impl Strategy<Value = Place> {
    (one_of(&["", "w1", "w2", "w3", "w4"]), one_of(&["", "/1", "/2"]), one_of(&["", "b1", "b2"]))
        .prop_map(|(worktree, path, branch)| Place { worktree, path, branch })
}

fn life() -> impl Strategy<Value = Life> {
    (0..3_u8, 0..3_u8, one_of(&["active", "active", "active", "merged", "deleted", ""]), any::<bool>())
        .prop_map(|(created, updated, status, is_unknown)| Life {
            status,
            created: at(created),
            updated: if is_unknown { None } else { at(updated) },
            merged: None,
            deleted: None,
        })
}

/// A task that is there, or one that is not.
fn task() -> impl Strategy<Value = String> {
    one_of(&["a", "a", "b", "b", "c", "gone"])
}

fn environment() -> impl Strategy<Value = Environment> {
    (task(), place(), 0..3_u8, one_of(&["", "/1", "/2", "/9"])).prop_map(
        |(task, place, updated, workspace_path)| Environment {
            task,
            place,
            repository: "r".to_owned(),
            workspace_path,
            updated: at(updated),
            ..Environment::default()
        },
    )
}

fn repo() -> impl Strategy<Value = Repo> {
    (one_of(&["e0", "e1", "e2", "e3", "gone"]), one_of(&["", "x"]), place(), life()).prop_map(
        |(environment, slug, place, life)| Repo {
            environment,
            slug,
            place,
            life,
            repository: "r".to_owned(),
            ..Repo::default()
        },
    )
}

fn session() -> impl Strategy<Value = Session> {
    (task(), one_of(&["", "", "e0", "e1", "gone"]), one_of(&["RUNNING", "IDLE", "FAILED"]), 0..3_u8).prop_map(
        |(task, environment, state, updated)| Session {
            task,
            environment,
            state,
            updated: at(updated),
            ..Session::default()
        },
    )
}

fn session_worktree() -> impl Strategy<Value = SessionWorktree> {
    (one_of(&["s0", "s1", "s2", "s3", "gone"]), one_of(&["", "x"]), place(), life()).prop_map(
        |(session, slug, place, life)| SessionWorktree {
            session,
            slug,
            place,
            life,
            repository: "r".to_owned(),
            ..SessionWorktree::default()
        },
    )
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let rows = |count| 0..=count;
    (
        prop::collection::vec(environment(), rows(4)),
        prop::collection::vec(repo(), rows(5)),
        prop::collection::vec(session(), rows(4)),
        prop::collection::vec(session_worktree(), rows(6)),
    )
        .prop_map(|(environments, repos, sessions, session_worktrees)| {
            let mut evidence =
                Evidence { environments, repos, sessions, session_worktrees, ..Evidence::default() };
            evidence.tasks = ["a", "b", "c"].map(|id| (id.to_owned(), format!("Title of {id}"))).into();
            number(&mut evidence);
            evidence
        })
}

/// Names every row, and leaves one row in each slot of an environment, as a constraint of every database does.
fn number(evidence: &mut Evidence) {
    evidence.environments.iter_mut().enumerate().for_each(|(at, row)| row.id = format!("e{at}"));
    evidence.sessions.iter_mut().enumerate().for_each(|(at, row)| row.id = format!("s{at}"));
    evidence.repos.iter_mut().enumerate().for_each(|(at, row)| row.id = format!("c{at}"));
    evidence.session_worktrees.iter_mut().enumerate().for_each(|(at, row)| row.id = format!("x{at}"));
    let mut slots = BTreeSet::new();
    evidence.repos.retain(|row| slots.insert((row.environment.clone(), row.slug.clone())));
    let mut places = BTreeSet::new();
    evidence.session_worktrees.retain(|row| places.insert((row.session.clone(), row.place.worktree.clone())));
}

fn mentioned(evidence: &Evidence) -> BTreeSet<&str> {
    let flat = evidence.environments.iter().map(|row| &row.place);
    let repos = evidence.repos.iter().map(|row| &row.place);
    let sessions = evidence.session_worktrees.iter().map(|row| &row.place);
    let all = flat.chain(repos).chain(sessions).map(|place| place.worktree.as_str());
    all.filter(|worktree| !worktree.is_empty()).collect()
}

/// What holds once nothing is open.
fn check(evidence: &Evidence, outcome: &Outcome) {
    let tasks: BTreeSet<&str> = outcome.workspaces.iter().map(|of| of.environment.task.as_str()).collect();
    assert_eq!(tasks.len(), outcome.workspaces.len(), "one environment for each task");
    assert!(tasks.iter().all(|task| evidence.tasks.contains_key(*task)));
    let (mut ids, mut owned, mut kept) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for workspace in &outcome.workspaces {
        let mut slots = BTreeSet::new();
        for repo in &workspace.repos {
            let row = &repo.row;
            assert_eq!(row.environment, workspace.environment.id);
            assert!(ids.insert(&row.id), "{} is there twice", row.id);
            assert!(slots.insert((&row.repository, &row.slug)), "a slot is taken twice");
            if !row.place.worktree.is_empty() && !row.life.is_deleted() {
                assert!(owned.insert(row.place.worktree.as_str()), "{} has two owners", row.place.worktree);
            }
            kept.insert(row.place.worktree.as_str());
        }
    }
    let recorded: BTreeSet<&str> =
        outcome.unowned.iter().map(|record| record.place.worktree.as_str()).collect();
    for worktree in mentioned(evidence) {
        assert!(kept.contains(worktree) || recorded.contains(worktree), "{worktree} vanished");
    }
    for session in &evidence.sessions {
        let environment = outcome.links.get(&session.id).unwrap();
        let is_there = outcome.workspaces.iter().any(|of| of.environment.id == *environment);
        assert!(is_there || (environment.is_empty() && !evidence.tasks.contains_key(&session.task)));
    }
}

/// The evidence of the database that an outcome makes.
fn stored(evidence: &Evidence, outcome: &Outcome) -> Evidence {
    let environment =
        |row: &Environment| Environment { place: Place::default(), repository: String::new(), ..row.clone() };
    let session = |row: &Session| Session { environment: outcome.links[&row.id].clone(), ..row.clone() };
    Evidence {
        tasks: evidence.tasks.clone(),
        environments: outcome.workspaces.iter().map(|of| environment(&of.environment)).collect(),
        repos: outcome.workspaces.iter().flat_map(|of| &of.repos).map(|repo| repo.row.clone()).collect(),
        sessions: evidence.sessions.iter().map(session).collect(),
        ..Evidence::default()
    }
}

fn rows(outcome: &Outcome) -> BTreeMap<&str, (Environment, Vec<Repo>)> {
    let of = |workspace: &crate::upgrade::election::OwnedWorkspace| {
        let row = &workspace.environment;
        let environment = Environment { place: Place::default(), repository: String::new(), ..row.clone() };
        let mut repos: Vec<Repo> = workspace.repos.iter().map(|repo| repo.row.clone()).collect();
        repos.sort_by(|one, other| one.id.cmp(&other.id));
        (environment, repos)
    };
    outcome.workspaces.iter().map(|workspace| (workspace.environment.task.as_str(), of(workspace))).collect()
}

/// The rows of ownership alone.
fn owned(outcome: &Outcome) -> Vec<Vec<Repo>> {
    rows(outcome).into_values().map(|(_, repos)| repos).collect()
}

fn check_replay(evidence: &Evidence, outcome: &Outcome) {
    let stored = stored(evidence, outcome);
    let again = elect(&stored, &Resolutions::default());
    assert!(again.open.is_empty(), "{:?}", again.open);
    assert_eq!(rows(&again), rows(outcome), "a second election changes something");
    assert_eq!(again.links, outcome.links);
    assert_eq!(again.unowned, []);
    assert!(keep::is_sound(&stored));
    assert_eq!(rows(&keep::as_it_is(&stored, &Resolutions::default())), rows(outcome));
}

/// Answers whatever is asked, as `pick` says, until nothing is open; an answer that no longer fits is taken back,
/// as a person does who is told so.
fn answer(evidence: &Evidence, mut pick: impl FnMut(usize) -> usize) -> Outcome {
    let mut answers: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let texts: Vec<String> = answers.iter().map(|(id, choice)| format!("{id}={choice}")).collect();
        let resolutions = Resolutions::parse(&texts).unwrap();
        let outcome = elect(evidence, &resolutions);
        match resolutions.check(&outcome.asked) {
            Err(InvalidResolution::NoConflict(id) | InvalidResolution::NoChoice { conflict: id, .. }) => {
                answers.remove(&id).unwrap();
                continue;
            }
            Err(other) => panic!("{other}"),
            Ok(()) if outcome.open.is_empty() => return outcome,
            Ok(()) => {}
        }
        for conflict in &outcome.open {
            let choice = &conflict.claims[pick(conflict.claims.len())].choice;
            answers.insert(conflict.id.clone(), choice.clone());
        }
    }
    panic!("there is no end of questions: {answers:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_worktree_has_one_owner_or_a_record_and_replay_changes_nothing(evidence in evidence()) {
        let outcome = elect(&evidence, &Resolutions::default());
        if outcome.open.is_empty() {
            check(&evidence, &outcome);
            check_replay(&evidence, &outcome);
        }
    }

    #[test]
    fn answering_whatever_is_asked_comes_to_an_end(evidence in evidence(), picks in prop::collection::vec(any::<u8>(), 8)) {
        let mut next = picks.into_iter().cycle();
        let outcome = answer(&evidence, |choices| usize::from(next.next().unwrap()) % choices);
        check(&evidence, &outcome);
        check_replay(&evidence, &outcome);
    }

    #[test]
    fn the_order_of_rows_decides_nothing(evidence in evidence()) {
        let mut turned = evidence.clone();
        turned.environments.reverse();
        turned.repos.reverse();
        turned.sessions.reverse();
        turned.session_worktrees.reverse();
        let (one, other) = (elect(&evidence, &Resolutions::default()), elect(&turned, &Resolutions::default()));
        prop_assert_eq!(owned(&one), owned(&other));
        let asked = |outcome: Outcome| {
            let open = outcome.open.into_iter().map(|conflict| (conflict.id, conflict.claims.len()));
            open.collect::<BTreeSet<_>>()
        };
        prop_assert_eq!(&one.links, &other.links);
        prop_assert_eq!(asked(one), asked(other));
    }
}
