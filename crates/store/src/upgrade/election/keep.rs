//! A database that was normalised before: its ownership is taken as it is, unless a worktree has two owners.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{Claim, Claims, Rank};
use super::{Outcome, OwnedRepo, OwnedWorkspace, Reason, Source, Unowned};
use crate::upgrade::conflict::{ConflictKind, Resolutions};
use crate::upgrade::evidence::{Evidence, Repo};

/// Whether every row leads to a task and every task has one environment, as normalised databases have it.
pub(in crate::upgrade) fn is_sound(evidence: &Evidence) -> bool {
    let tasks: BTreeSet<&str> = evidence.environments.iter().map(|row| row.task.as_str()).collect();
    let environments: BTreeSet<&str> = evidence.environments.iter().map(|row| row.id.as_str()).collect();
    tasks.len() == evidence.environments.len()
        && tasks.iter().all(|task| evidence.tasks.contains_key(*task))
        && evidence.repos.iter().all(|row| environments.contains(row.environment.as_str()))
}

/// Every row as it is; of two owners of one worktree, the one that a person chose.
pub(in crate::upgrade) fn as_it_is(evidence: &Evidence, resolutions: &Resolutions) -> Outcome {
    let mut outcome = Outcome::default();
    let claims = Claims::of(evidence);
    let mut owners: BTreeMap<&str, Vec<&Claim<'_>>> = BTreeMap::new();
    for claim in claims.list.iter().filter(|claim| claim.rank == Rank::Canonical) {
        owners.entry(&claim.place.worktree).or_default().push(claim);
    }
    let mut losers: BTreeSet<&str> = BTreeSet::new();
    for (worktree, rivals) in owners.into_iter().filter(|(_, rivals)| rivals.len() > 1) {
        let conflict = claims.conflict(ConflictKind::Owner, worktree, &rivals);
        let ids = || rivals.iter().map(|claim| claim.source.id.as_str());
        match resolutions.choice(&conflict.id).filter(|choice| ids().any(|id| id == *choice)) {
            Some(choice) => losers.extend(ids().filter(|id| *id != choice)),
            None => outcome.open.push(conflict.clone()),
        }
        outcome.asked.push(conflict);
    }
    let mut repos: BTreeMap<&str, Vec<&Repo>> = BTreeMap::new();
    for row in &evidence.repos {
        repos.entry(&row.environment).or_default().push(row);
    }
    for environment in &evidence.environments {
        let rows = repos.remove(environment.id.as_str()).unwrap_or_default();
        let (lost, kept): (Vec<&Repo>, Vec<&Repo>) =
            rows.into_iter().partition(|row| losers.contains(row.id.as_str()));
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
