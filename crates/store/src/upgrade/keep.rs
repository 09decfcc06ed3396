//! A database that was normalised before: its ownership is taken as it is, unless a worktree has two owners.

use std::collections::{BTreeMap, BTreeSet};

use super::conflict::{Conflict, ConflictClaim, ConflictKind, Resolutions};
use super::election::{Outcome, OwnedRepo, OwnedWorkspace, Reason, Source, Unowned};
use super::evidence::{Evidence, Repo};

/// Whether every row leads to a task and every task has one environment, as normalised databases have it.
pub(super) fn is_sound(evidence: &Evidence) -> bool {
    let tasks: BTreeSet<&str> = evidence.environments.iter().map(|row| row.task.as_str()).collect();
    let environments: BTreeSet<&str> = evidence.environments.iter().map(|row| row.id.as_str()).collect();
    tasks.len() == evidence.environments.len()
        && tasks.iter().all(|task| evidence.tasks.contains_key(*task))
        && evidence.repos.iter().all(|row| environments.contains(row.environment.as_str()))
}

/// Every row as it is; of two owners of one worktree, the one that a person chose.
pub(super) fn as_it_is(evidence: &Evidence, resolutions: &Resolutions) -> Outcome {
    let mut outcome = Outcome::default();
    let mut owners: BTreeMap<&str, Vec<&Repo>> = BTreeMap::new();
    for row in evidence.repos.iter().filter(|row| !row.place.worktree.is_empty() && !row.life.is_deleted()) {
        owners.entry(&row.place.worktree).or_default().push(row);
    }
    let mut losers: BTreeSet<&str> = BTreeSet::new();
    for (worktree, rivals) in owners.into_iter().filter(|(_, rivals)| rivals.len() > 1) {
        let conflict = conflict(evidence, worktree, &rivals);
        match resolutions.choice(&conflict.id).filter(|choice| rivals.iter().any(|row| row.id == *choice)) {
            Some(choice) => {
                losers.extend(rivals.iter().map(|row| row.id.as_str()).filter(|id| *id != choice));
            }
            None => outcome.open.push(conflict.clone()),
        }
        outcome.asked.push(conflict);
    }
    for environment in &evidence.environments {
        let repos = evidence.repos.iter().filter(|row| row.environment == environment.id);
        let (lost, kept): (Vec<&Repo>, Vec<&Repo>) = repos.partition(|row| losers.contains(row.id.as_str()));
        outcome.unowned.extend(lost.into_iter().map(|row| Unowned {
            place: row.place.clone(),
            repository: row.repository.clone(),
            reason: Reason::Demoted,
            source: Source { table: "task_environment_repos", id: row.id.clone() },
            task: environment.task.clone(),
        }));
        let repos = kept.into_iter().map(|row| OwnedRepo {
            source: Source { table: "task_environment_repos", id: row.id.clone() },
            row: row.clone(),
        });
        outcome.workspaces.push(OwnedWorkspace {
            environment: environment.clone(),
            is_new: false,
            repos: repos.collect(),
        });
    }
    outcome
}

fn conflict(evidence: &Evidence, worktree: &str, rivals: &[&Repo]) -> Conflict {
    let task_of = |row: &Repo| {
        let environment = evidence.environments.iter().find(|environment| environment.id == row.environment);
        environment.map(|environment| environment.task.clone()).unwrap_or_default()
    };
    let claims = rivals.iter().map(|row| {
        let task_id = task_of(row);
        ConflictClaim {
            choice: row.id.clone(),
            row: format!("task_environment_repos {}", row.id),
            task_title: evidence.tasks.get(&task_id).cloned().unwrap_or_default(),
            task_id,
            repository_id: row.repository.clone(),
            branch_slug: row.slug.clone(),
            path: row.place.path.clone(),
            branch: row.place.branch.clone(),
        }
    });
    Conflict {
        id: format!("owner:{worktree}"),
        kind: ConflictKind::Owner,
        worktree_id: worktree.to_owned(),
        claims: claims.collect(),
    }
}
