//! What an upgrade must not guess: it changes nothing, asks, and does as it is told.

use freehold_store::upgrade::{Conflict, ConflictKind, InvalidResolution, Resolutions, plan};
use freehold_store::{DatabaseUrl, StoreError};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{LegacyDatabase, Revision, dump, instant, rows};

use crate::fixture::{upgrade, upgrade_with};
use crate::world::{assert_same_files, files};

/// A database that asks one question, and what becomes of it with each answer.
struct Case {
    name: &'static str,
    revision: Revision,
    make: fn(&mut LegacyDatabase),
    kind: ConflictKind,
    id: &'static str,
    /// Each answer with the owners after it, as `TASK/SLUG WORKTREE PATH`, and with the records.
    answers: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
    /// What the refusal says.
    says: &'static [&'static str],
}

const CASES: [Case; 8] = [
    Case {
        name: "two tasks with flat columns",
        revision: Revision::Release085,
        make: |old| {
            old.task("a").flat_environment("of-a", "a", "w");
            old.task("b").flat_environment("of-b", "b", "w").with("worktree_path", "/elsewhere");
        },
        kind: ConflictKind::Owner,
        id: "owner:w",
        answers: &[("of-a", &["a/ w /worktrees/w"], &[]), ("of-b", &["b/ w /elsewhere"], &[])],
        says: &[
            "worktree w has more than one owner",
            "task \"Title of a\" (a)",
            "task \"Title of b\" (b)",
            "row         task_environments of-a",
            "path        /elsewhere",
            "path        /worktrees/w",
            "branch      feature/w",
            "repository  repository-1",
            "--resolve owner:w=of-a",
            "--resolve owner:w=of-b",
        ],
    },
    Case {
        name: "two tasks whose sessions run",
        revision: Revision::BeforeCutover,
        make: |old| {
            for (task, session, row) in [("a", "s", "x"), ("b", "t", "y")] {
                old.task(task)
                    .session(session, task, "RUNNING")
                    .session_worktree(session, "w")
                    .with("id", row);
            }
        },
        kind: ConflictKind::Owner,
        id: "owner:w",
        answers: &[("x", &["a/ w /worktrees/w"], &[]), ("y", &["b/ w /worktrees/w"], &[])],
        says: &["row         task_session_worktrees x", "row         task_session_worktrees y"],
    },
    Case {
        name: "two tasks with rows of environments",
        revision: Revision::Hybrid,
        make: two_owners,
        kind: ConflictKind::Owner,
        id: "owner:w",
        answers: &[("x", &["a/ w /worktrees/w"], &[]), ("y", &["b/ w /worktrees/w"], &[])],
        says: &["row         task_environment_repos x", "task \"Title of b\" (b)"],
    },
    Case {
        name: "two slots of one task",
        revision: Revision::Release085,
        make: |old| {
            old.task("a").environment("of-a", "a");
            old.environment_repo("of-a", "w").with("id", "x").with("branch_slug", "one");
            old.environment_repo("of-a", "w").with("id", "y").with("worktree_branch", "other");
        },
        kind: ConflictKind::Owner,
        id: "owner:w",
        answers: &[
            ("x", &["a/one w /worktrees/w"], &["w superseded y"]),
            ("y", &["a/ w /worktrees/w"], &["w superseded x"]),
        ],
        says: &["repository  repository-1/one\n", "repository  repository-1\n", "branch      other"],
    },
    Case {
        name: "two running sessions that remember two paths",
        revision: Revision::Release085,
        make: |old| {
            old.task("a").session("s", "a", "RUNNING").session_worktree("s", "w").with("id", "x");
            old.session("t", "a", "IDLE").session_worktree("t", "w").with("id", "y");
            old.with("worktree_path", "/moved");
        },
        kind: ConflictKind::Data,
        id: "data:w",
        answers: &[("x", &["a/ w /worktrees/w"], &[]), ("y", &["a/ w /moved"], &[])],
        says: &["sessions that did not end remember worktree w at different places", "path        /moved"],
    },
    Case {
        name: "a row whose session is gone",
        revision: Revision::Release085,
        make: |old| {
            old.task("a").session_worktree("gone", "w").with("id", "x");
        },
        kind: ConflictKind::Orphan,
        id: "orphan:x",
        answers: &[("record", &[], &["w missing_session x"])],
        says: &[
            "no row that could own worktree w knows it; the session of this one is gone",
            "row         task_session_worktrees x of missing session gone",
            "path        /worktrees/w",
            "branch      feature/w",
            "--resolve orphan:x=record",
        ],
    },
    Case {
        name: "two owners in a normalised database",
        revision: Revision::Normalised,
        make: two_owners,
        kind: ConflictKind::Owner,
        id: "owner:w",
        answers: &[
            ("x", &["a/ w /worktrees/w"], &["w demoted y"]),
            ("y", &["b/ w /worktrees/w"], &["w demoted x"]),
        ],
        says: &["worktree w has more than one owner", "task \"Title of a\" (a)"],
    },
    Case {
        name: "two slots in a normalised database",
        revision: Revision::Normalised,
        make: |old| {
            old.task("a").environment("of-a", "a");
            old.environment_repo("of-a", "w").with("id", "x").with("branch_slug", "one");
            old.environment_repo("of-a", "w").with("id", "y");
        },
        kind: ConflictKind::Owner,
        id: "owner:w",
        answers: &[
            ("x", &["a/one w /worktrees/w"], &["w demoted y"]),
            ("y", &["a/ w /worktrees/w"], &["w demoted x"]),
        ],
        says: &["--resolve owner:w=x", "--resolve owner:w=y"],
    },
];

fn make(case: &Case, url: &str) {
    (case.make)(&mut LegacyDatabase::create(url, case.revision));
}

fn planned(url: &str, answers: &[&str]) -> Result<Vec<Conflict>, StoreError> {
    let resolutions = Resolutions::parse(answers)?;
    plan(&DatabaseUrl::parse(url)?, &resolutions).map(|plan| plan.conflicts)
}

#[test]
fn a_question_is_asked_before_anything_changes_and_names_what_a_person_needs() {
    for case in CASES {
        TestDatabase::each(case.name, |url| {
            make(&case, url);
            let (before, beside) = (dump(url), files(url));
            let conflicts = planned(url, &[]).unwrap();
            assert_same_files(url, &beside);
            let refused = upgrade(url).unwrap_err();
            let text = refused.to_string();
            assert_same_files(url, &beside);
            assert_eq!(dump(url), before);
            let StoreError::UpgradeConflicts { conflicts: found, .. } = refused else { panic!("{text}") };
            assert_eq!(found, conflicts);
            let told: Vec<_> = found.iter().map(|conflict| (conflict.id.as_str(), conflict.kind)).collect();
            assert_eq!(told, [(case.id, case.kind)]);
            let choices: Vec<&str> = found[0].claims.iter().map(|claim| claim.choice.as_str()).collect();
            assert_eq!(choices, case.answers.iter().map(|(choice, ..)| *choice).collect::<Vec<_>>());
            for words in case.says {
                assert!(text.contains(words), "{words:?} is not in {text}");
            }
            assert!(
                text.contains("cannot be upgraded before a person answers 1 question; nothing was changed")
            );
        });
    }
}

#[test]
fn every_answer_decides_as_it_says_and_is_recorded() {
    for case in CASES {
        for (choice, owners, records) in case.answers {
            TestDatabase::each(&format!("{}: {choice}", case.name), |url| {
                make(&case, url);
                let answer = format!("{}={choice}", case.id);
                assert_eq!(planned(url, &[&answer]).unwrap(), []);
                upgrade_with(url, &[&answer]).unwrap();
                assert_eq!(
                    rows(
                        url,
                        "SELECT e.task_id || '/' || r.branch_slug || ' ' || r.worktree_id || ' ' || r.worktree_path \
                         FROM task_environment_repos r JOIN task_environments e ON e.id = r.task_environment_id \
                         WHERE r.worktree_id <> ''"
                    ),
                    *owners
                );
                assert_eq!(
                    rows(
                        url,
                        "SELECT worktree_id || ' ' || reason || ' ' || source_id FROM unowned_worktrees"
                    ),
                    *records
                );
                let decided = format!("{}|{choice}", case.id);
                assert_eq!(rows(url, "SELECT conflict, choice FROM upgrade_decisions"), [decided]);
                assert!(upgrade(url).unwrap().upgrade.is_none());
            });
        }
    }
}

#[test]
fn a_wrong_answer_is_refused_by_name_and_changes_nothing() {
    for case in CASES {
        TestDatabase::each(case.name, |url| {
            make(&case, url);
            let before = dump(url);
            let choices: Vec<&str> = case.answers.iter().map(|(choice, ..)| *choice).collect();
            let no_choice = format!("{}=nobody", case.id);
            let expected = InvalidResolution::NoChoice {
                conflict: case.id.to_owned(),
                choice: "nobody".to_owned(),
                choices: choices.join(", "),
            };
            let right = format!("{}={}", case.id, choices[0]);
            let no_conflict = InvalidResolution::NoConflict("owner:another".to_owned());
            for (answers, expected) in
                [(vec![no_choice.as_str()], expected), (vec![right.as_str(), "owner:another=x"], no_conflict)]
            {
                for refused in [upgrade_with(url, &answers).unwrap_err(), planned(url, &answers).unwrap_err()]
                {
                    assert!(
                        matches!(&refused, StoreError::Resolution(found) if *found == expected),
                        "{refused}"
                    );
                }
            }
            assert_eq!(dump(url), before);
        });
    }
}

#[test]
fn an_answer_to_a_database_that_asks_nothing_is_refused() {
    TestDatabase::each("no question", |url| {
        let nothing = dump(url);
        let refused = upgrade_with(url, &["owner:w=x"]).unwrap_err();
        assert!(matches!(refused, StoreError::Resolution(InvalidResolution::NoConflict(_))), "{refused}");
        assert_eq!(dump(url), nothing);
        LegacyDatabase::create(url, Revision::Release085).task("a");
        let before = dump(url);
        let refused = upgrade_with(url, &["owner:w=x"]).unwrap_err();
        let expected = "there is no conflict owner:w in this database; `freehold upgrade --plan` lists the ones there are; nothing was changed";
        assert_eq!(refused.to_string(), expected);
        assert_eq!(dump(url), before);
    });
}

#[test]
fn several_questions_are_asked_at_once_and_one_that_is_left_open_stops_the_upgrade() {
    TestDatabase::each("several", |url| {
        let mut old = LegacyDatabase::create(url, Revision::Release085);
        for (task, other) in [("a", "b"), ("c", "d")] {
            let worktree = format!("worktree-of-{task}");
            old.task(task).flat_environment(&format!("of-{task}"), task, &worktree);
            old.task(other).flat_environment(&format!("of-{other}"), other, &worktree);
        }
        old.session_worktree("gone", "lost").with("id", "x").with("updated_at", &instant(1));
        let before = dump(url);
        let ids = |answers: &[&str]| {
            let open = planned(url, answers).unwrap();
            open.into_iter().map(|conflict| conflict.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[]), ["owner:worktree-of-a", "owner:worktree-of-c", "orphan:x"]);
        let answers = ["owner:worktree-of-a=of-b", "orphan:x=record"];
        assert_eq!(ids(&answers), ["owner:worktree-of-c"]);
        let refused = upgrade_with(url, &answers).unwrap_err();
        assert!(refused.to_string().contains("answers 1 question;"), "{refused}");
        assert_eq!(dump(url), before);
        upgrade_with(url, &[&answers[..], &["owner:worktree-of-c=of-c"]].concat()).unwrap();
        assert_eq!(rows(url, "SELECT count(*) FROM upgrade_decisions"), ["3"]);
    });
}

/// Two tasks whose environments each have a row of the one worktree.
fn two_owners(old: &mut LegacyDatabase) {
    for (task, row) in [("a", "x"), ("b", "y")] {
        let environment = format!("of-{task}");
        old.task(task).environment(&environment, task).environment_repo(&environment, "w").with("id", row);
    }
}
