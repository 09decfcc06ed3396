//! Evidence and outcomes as text, so that a test reads as a table.
//!
//! A line is a row, told by its first words; a worktree of `-` is none. Words after them set what a row has
//! besides: `@3` its time in minutes, `slug=`, `path=`, `branch=`, `position=`, `status=`, `merged`, `deleted`,
//! `env=`, `executor=`, `workspace=`. Without them a worktree `w` is at `/at/w` on `on/w`, of repository `r`.
//!
//! ```text
//! task a
//! env e a w @1              the environment of a task, with a worktree in its flat columns
//! repo r1 e w @1            a row of task_environment_repos
//! session s a RUNNING @1    a session of a task
//! row x s w @1              a row of task_session_worktrees
//! ```

use std::collections::BTreeMap;

use crate::upgrade::conflict::{Conflict, Resolutions};
use crate::upgrade::derived_id;
use crate::upgrade::election::{Outcome, elect};
use crate::upgrade::evidence::{Environment, Evidence, Life, Moment, Place, Repo, Session, SessionWorktree};

const NANOSECONDS_PER_MINUTE: i128 = 60_000_000_000;

pub(super) fn at(minute: u8) -> Moment {
    Some(i128::from(minute) * NANOSECONDS_PER_MINUTE)
}

/// The words of a line after the first ones.
struct Words<'t>(Vec<&'t str>);

impl Words<'_> {
    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    fn get(&self, key: &str) -> Option<String> {
        self.0.iter().find_map(|word| word.strip_prefix(key)).map(str::to_owned)
    }

    fn minute(&self) -> Moment {
        at(self.get("@").map_or(0, |minute| minute.parse().unwrap()))
    }

    fn place(&self, worktree: &str) -> Place {
        let worktree = if worktree == "-" { "" } else { worktree };
        let usual =
            |folder: &str| if worktree.is_empty() { String::new() } else { format!("{folder}/{worktree}") };
        Place {
            worktree: worktree.to_owned(),
            path: self.get("path=").unwrap_or_else(|| usual("/at")),
            branch: self.get("branch=").unwrap_or_else(|| usual("on")),
        }
    }

    fn life(&self) -> Life {
        let when = |word: &str| if self.has(word) { self.minute() } else { None };
        Life {
            status: self.get("status=").unwrap_or_else(|| "active".to_owned()),
            created: self.get("created=").map_or(self.minute(), |minute| at(minute.parse().unwrap())),
            updated: self.minute(),
            merged: when("merged"),
            deleted: when("deleted"),
        }
    }

    fn text(&self, key: &str) -> String {
        self.get(key).unwrap_or_default()
    }
}

/// Reads evidence.
pub(super) fn evidence(text: &str) -> Evidence {
    let mut evidence = Evidence::default();
    for kind in ["local", "worktree"] {
        evidence.executors.insert(format!("exec-{kind}"), kind.to_owned());
    }
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = |from: usize| Words(words[from..].to_vec());
        match words.as_slice() {
            ["task", id, ..] => {
                evidence.tasks.insert((*id).to_owned(), format!("Title of {id}"));
            }
            ["env", id, task, worktree, ..] => {
                evidence.environments.push(environment(id, task, worktree, &rest(4)));
            }
            ["repo", id, environment, worktree, ..] => {
                evidence.repos.push(repo(id, environment, worktree, &rest(4)));
            }
            ["session", id, task, state, ..] => {
                evidence.sessions.push(session(id, task, state, &rest(4)));
            }
            ["row", id, session, worktree, ..] => {
                evidence.session_worktrees.push(row(id, session, worktree, &rest(4)));
            }
            _ => panic!("{line} is no row"),
        }
    }
    evidence
}

fn environment(id: &str, task: &str, worktree: &str, words: &Words<'_>) -> Environment {
    Environment {
        id: id.to_owned(),
        task: task.to_owned(),
        status: "ready".to_owned(),
        workspace_path: words.text("workspace="),
        repository: words.get("repository=").unwrap_or_else(|| "r".to_owned()),
        place: words.place(worktree),
        created: words.get("created=").map_or(words.minute(), |minute| at(minute.parse().unwrap())),
        updated: words.minute(),
        ..Environment::default()
    }
}

fn repo(id: &str, environment: &str, worktree: &str, words: &Words<'_>) -> Repo {
    Repo {
        id: id.to_owned(),
        environment: environment.to_owned(),
        repository: words.get("repository=").unwrap_or_else(|| "r".to_owned()),
        slug: words.text("slug="),
        place: words.place(worktree),
        position: words.get("position=").map_or(0, |position| position.parse().unwrap()),
        error_message: words.text("error="),
        life: words.life(),
    }
}

fn session(id: &str, task: &str, state: &str, words: &Words<'_>) -> Session {
    Session {
        id: id.to_owned(),
        task: task.to_owned(),
        environment: words.text("env="),
        state: state.to_owned(),
        executor: words.text("executor="),
        executor_profile: words.text("profile="),
        started: words.get("started=").map_or(words.minute(), |minute| at(minute.parse().unwrap())),
        updated: words.minute(),
    }
}

fn row(id: &str, session: &str, worktree: &str, words: &Words<'_>) -> SessionWorktree {
    SessionWorktree {
        id: id.to_owned(),
        session: session.to_owned(),
        repository: words.get("repository=").unwrap_or_else(|| "r".to_owned()),
        slug: words.text("slug="),
        place: words.place(worktree),
        position: words.get("position=").map_or(0, |position| position.parse().unwrap()),
        life: words.life(),
    }
}

/// Elects, with answers to conflicts.
pub(super) fn outcome(text: &str, answers: &[&str]) -> Outcome {
    elect(&evidence(text), &Resolutions::parse(answers).unwrap())
}

/// What became of every worktree, as sorted lines: `own TASK/REPOSITORY/SLUG WORKTREE PATH BRANCH` for an owner,
/// with its status when that is not `active`; `kept ROW WORKTREE` for a row that owns nothing and stays;
/// `lost WORKTREE REASON ROW` for a record. While questions stand open, only those: `ask CONFLICT CHOICES`.
pub(super) fn ownership(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    if !outcome.open.is_empty() {
        return outcome.open.iter().map(asked).collect();
    }
    for workspace in &outcome.workspaces {
        for repo in &workspace.repos {
            let (row, place) = (&repo.row, &repo.row.place);
            if place.worktree.is_empty() || row.life.is_deleted() {
                lines.push(format!("kept {} {}", row.id, place.worktree).trim_end().to_owned());
                continue;
            }
            let slot = format!("{}/{}/{}", workspace.environment.task, row.repository, row.slug);
            let status = if row.life.status == "active" { "" } else { &row.life.status };
            let line = format!("own {slot} {} {} {} {status}", place.worktree, place.path, place.branch);
            lines.push(line.trim_end().to_owned());
        }
    }
    let lost = outcome.unowned.iter();
    lines.extend(lost.map(|record| {
        format!("lost {} {} {}", record.place.worktree, record.reason.as_str(), record.source.id)
    }));
    lines.sort();
    lines
}

fn asked(conflict: &Conflict) -> String {
    let choices: Vec<&str> = conflict.claims.iter().map(|claim| claim.choice.as_str()).collect();
    format!("ask {} {}", conflict.id, choices.join(" "))
}

/// Compares what becomes of rows with what shall, after answers.
#[track_caller]
pub(super) fn becomes_with(text: &str, answers: &[&str], expected: &[&str]) {
    let mut expected: Vec<&str> = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(ownership(&outcome(text, answers)), expected, "\n{text}");
}

/// As [`becomes_with`], without answers.
#[track_caller]
pub(super) fn becomes(text: &str, expected: &[&str]) {
    becomes_with(text, &[], expected);
}

/// The environments that stay and those that are made, which are called `new-of-TASK`, with their tasks and
/// workspace paths.
pub(super) fn workspaces(outcome: &Outcome) -> Vec<String> {
    let line = |workspace: &crate::upgrade::election::OwnedWorkspace| {
        let row = &workspace.environment;
        format!("{} {} {}", name_of(&row.id, &row.task), row.task, row.workspace_path).trim_end().to_owned()
    };
    outcome.workspaces.iter().map(line).collect()
}

/// The environment of each session, as [`workspaces`] calls it.
pub(super) fn links(outcome: &Outcome) -> Vec<String> {
    let names: BTreeMap<&str, String> = outcome
        .workspaces
        .iter()
        .map(|workspace| {
            let row = &workspace.environment;
            (row.id.as_str(), name_of(&row.id, &row.task))
        })
        .collect();
    let name = |id: &String| names.get(id.as_str()).cloned().unwrap_or_else(|| id.clone());
    outcome
        .links
        .iter()
        .map(|(session, id)| format!("{session} {}", name(id)).trim_end().to_owned())
        .collect()
}

fn name_of(id: &str, task: &str) -> String {
    if id == derived_id(&["environment", task]) { format!("new-of-{task}") } else { id.to_owned() }
}
