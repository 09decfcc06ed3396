//! Who owns which worktree: the rules of precedence, as a pure function of the evidence.
//!
//! A *slot* is a task, a repository and a branch slug; a *claim* is a row that puts a worktree into one. Ranks
//! are settled from the top: rows of `task_environment_repos`, then the flat columns of the task's surviving
//! environment, then rows of live sessions, then rows of finished ones. A worktree that has an owner is out of
//! every lower rank before slots are elected there, so that the slot goes to the next claim of its own task.
//! Equal claims of two tasks, or in two slots of one environment, are never decided here: a person is asked.

mod claims;
mod keep;
mod outcome;

use std::collections::{BTreeMap, BTreeSet};

use super::conflict::{Conflict, ConflictClaim, ConflictKind, RECORD, Resolutions};
use super::evidence::{Evidence, Place};
use claims::{Claim, Claims, Rank};

pub(super) use claims::Source;
pub(super) use keep::{as_it_is, is_sound};
pub(super) use outcome::{Outcome, OwnedRepo, OwnedWorkspace, Reason, Unowned};

/// A task, a repository and a branch slug.
type Slot<'e> = (&'e str, &'e str, &'e str);

/// What the ranks, settled from the top, came to.
#[derive(Debug, Default)]
struct Settlement<'e> {
    /// The winning claim and the final path and branch, by worktree.
    owners: BTreeMap<&'e str, (&'e Claim<'e>, Place)>,
    /// The worktree that holds a slot.
    slots: BTreeMap<Slot<'e>, &'e str>,
    /// Every question that came up, answered or not.
    asked: Vec<Conflict>,
    /// The questions without an answer.
    open: Vec<Conflict>,
}

/// Decides who owns what; the outcome holds the conflicts that stand open.
pub(super) fn elect(evidence: &Evidence, resolutions: &Resolutions) -> Outcome {
    let claims = Claims::of(evidence);
    let mut excluded = BTreeSet::new();
    let mut answered = Vec::new();
    // An answer takes claims out of the election from its beginning, so the election starts again with each.
    let mut settlement = loop {
        let mut settlement = Settlement::default();
        let newly_excluded = settlement.settle(&claims, resolutions, &excluded);
        if newly_excluded.is_empty() {
            break settlement;
        }
        excluded.extend(newly_excluded);
        answered.append(&mut settlement.asked);
    };
    settlement.settle_data(&claims, resolutions);
    settlement.judge_orphans(&claims, resolutions);
    settlement.asked.append(&mut answered);
    outcome::assemble(evidence, &claims, settlement)
}

impl<'e> Settlement<'e> {
    /// Settles the ranks from the top; gives the claims that answered conflicts take out, after the first such
    /// rank.
    fn settle(
        &mut self,
        claims: &'e Claims<'e>,
        resolutions: &Resolutions,
        excluded: &BTreeSet<Source>,
    ) -> BTreeSet<Source> {
        for rank in Rank::ALL {
            let elected = self.elect_rank(claims, rank, excluded);
            let mut by_worktree: BTreeMap<&str, Vec<&'e Claim<'e>>> = BTreeMap::new();
            for claim in elected {
                by_worktree.entry(&claim.place.worktree).or_default().push(claim);
            }
            for (worktree, rivals) in by_worktree {
                let Some(first) = rivals.first().copied() else { continue };
                if rivals.len() > 1 {
                    let conflict = claims.conflict(ConflictKind::Owner, worktree, &rivals);
                    if let Some(choice) = self.ask(conflict, resolutions) {
                        return losers(claims, rank, worktree, &choice);
                    }
                }
                self.slots.insert(first.slot(), worktree);
                self.owners.insert(worktree, (first, first.place.clone()));
            }
        }
        BTreeSet::new()
    }

    /// The claims of one rank that win their slots.
    fn elect_rank(
        &self,
        claims: &'e Claims<'e>,
        rank: Rank,
        excluded: &BTreeSet<Source>,
    ) -> Vec<&'e Claim<'e>> {
        let may_run = |claim: &&'e Claim<'e>| {
            claim.rank == rank
                && !excluded.contains(&claim.source)
                && !self.owners.contains_key(claim.place.worktree.as_str())
                && !self.slots.contains_key(&claim.slot())
        };
        let mut candidates: Vec<&'e Claim<'e>> = claims.list.iter().filter(may_run).collect();
        candidates.sort_by(|one, other| other.precedence().cmp(&one.precedence()));
        let mut taken: BTreeSet<Slot<'e>> = BTreeSet::new();
        let mut placed: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut elected = Vec::new();
        for claim in candidates {
            if taken.contains(&claim.slot()) {
                continue;
            }
            // Session rows remember one worktree in several slots of a task; the best of them counts. Two rows
            // of environments that do so contradict each other.
            let worktree = (claim.task, claim.place.worktree.as_str());
            if rank.is_of_sessions() && placed.contains(&worktree) {
                continue;
            }
            taken.insert(claim.slot());
            placed.insert(worktree);
            elected.push(claim);
        }
        elected
    }

    /// Notes a question; gives its answer when there is one.
    fn ask(&mut self, conflict: Conflict, resolutions: &Resolutions) -> Option<String> {
        let choice = resolutions.choice(&conflict.id).map(str::to_owned);
        let answered = choice.filter(|choice| conflict.claims.iter().any(|claim| claim.choice == *choice));
        if answered.is_none() {
            self.open.push(conflict.clone());
        }
        self.asked.push(conflict);
        answered
    }

    /// Completes path and branch of every owner: the higher source counts, an empty text is no data.
    fn settle_data(&mut self, claims: &'e Claims<'e>, resolutions: &Resolutions) {
        let worktrees: Vec<&'e str> = self.owners.keys().copied().collect();
        for worktree in worktrees {
            let Some((winner, _)) = self.owners.get(worktree) else { continue };
            let winner = *winner;
            let mut sources = claims.sources_of(winner);
            if winner.rank == Rank::Live {
                let rivals: Vec<_> =
                    sources.iter().copied().filter(|claim| claim.rank == Rank::Live).collect();
                let differ = |one: &Place, other: &Place| {
                    both_differ(&one.path, &other.path) || both_differ(&one.branch, &other.branch)
                };
                let drifts =
                    rivals.iter().any(|one| rivals.iter().any(|other| differ(one.place, other.place)));
                if drifts {
                    let conflict = claims.conflict(ConflictKind::Data, worktree, &distinct_places(&rivals));
                    if let Some(choice) = self.ask(conflict, resolutions) {
                        sources.sort_by_key(|claim| claim.source.id != choice);
                    }
                }
            }
            let first = |text: fn(&Place) -> &String| {
                let found = sources.iter().map(|claim| text(claim.place)).find(|text| !text.is_empty());
                found.cloned().unwrap_or_default()
            };
            let place = Place {
                worktree: worktree.to_owned(),
                path: first(|place| &place.path),
                branch: first(|place| &place.branch),
            };
            self.owners.insert(worktree, (winner, place));
        }
    }

    /// Asks about every active row whose session is gone and whose worktree nobody owns.
    fn judge_orphans(&mut self, claims: &Claims<'e>, resolutions: &Resolutions) {
        for row in &claims.orphans {
            if self.owners.contains_key(row.place.worktree.as_str()) {
                continue;
            }
            let conflict = Conflict {
                id: format!("orphan:{}", row.id),
                kind: ConflictKind::Orphan,
                worktree_id: row.place.worktree.clone(),
                claims: vec![ConflictClaim {
                    choice: RECORD.to_owned(),
                    row: format!("task_session_worktrees {} of missing session {}", row.id, row.session),
                    task_id: String::new(),
                    task_title: String::new(),
                    repository_id: row.repository.clone(),
                    branch_slug: row.slug.clone(),
                    path: row.place.path.clone(),
                    branch: row.place.branch.clone(),
                }],
            };
            self.ask(conflict, resolutions);
        }
    }
}

/// The claims on a worktree that an answer takes out: all of the rank but the chosen one.
fn losers(claims: &Claims<'_>, rank: Rank, worktree: &str, choice: &str) -> BTreeSet<Source> {
    let chosen = claims.on_worktree(worktree).find(|claim| claim.source.id == choice);
    let loses = |claim: &&Claim<'_>| claim.rank == rank && Some(claim.slot()) != chosen.map(Claim::slot);
    claims.on_worktree(worktree).filter(loses).map(|claim| claim.source.clone()).collect()
}

fn both_differ(one: &str, other: &str) -> bool {
    !one.is_empty() && !other.is_empty() && one != other
}

/// One claim for each path and branch among the rivals.
fn distinct_places<'c, 'e>(rivals: &[&'c Claim<'e>]) -> Vec<&'c Claim<'e>> {
    let mut seen = BTreeSet::new();
    rivals.iter().copied().filter(|claim| seen.insert(&claim.place)).collect()
}

#[cfg(test)]
mod tests;
