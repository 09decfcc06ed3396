//! Claims: the rows that put a worktree into a slot, and what the other rows mean for them.

use std::collections::BTreeMap;

use super::Slot;
use crate::upgrade::conflict::{Conflict, ConflictClaim, ConflictKind};
use crate::upgrade::evidence::{Environment, Evidence, Life, Moment, Place, Repo, Session, SessionWorktree};

/// How much a claim weighs, the heaviest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A row of `task_environment_repos` that is not deleted.
    Canonical,
    /// The flat columns of a task's surviving environment.
    Flat,
    /// A row of a session that has not ended.
    Live,
    /// A row of a session that has ended.
    Finished,
}

impl Rank {
    pub(super) const ALL: [Self; 4] = [Self::Canonical, Self::Flat, Self::Live, Self::Finished];

    pub(super) const fn is_of_sessions(self) -> bool {
        matches!(self, Self::Live | Self::Finished)
    }
}

/// The row that something came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::upgrade) struct Source {
    pub(in crate::upgrade) table: &'static str,
    pub(in crate::upgrade) id: String,
}

/// A row that puts a worktree into a slot.
#[derive(Debug, Clone)]
pub(super) struct Claim<'e> {
    pub(super) rank: Rank,
    pub(super) source: Source,
    pub(super) task: &'e str,
    pub(super) repository: &'e str,
    pub(super) slug: &'e str,
    pub(super) place: &'e Place,
    pub(super) position: i64,
    pub(super) error_message: &'e str,
    /// Status and times; flat columns mean an active worktree with the times of their environment.
    pub(super) life: Life,
}

impl<'e> Claim<'e> {
    pub(super) fn slot(&self) -> Slot<'e> {
        (self.task, self.repository, self.slug)
    }

    /// What decides inside a rank: the greater wins. Only for rows of sessions does an active worktree beat a
    /// merged one.
    pub(super) fn precedence(&self) -> (bool, Moment, Moment, &str, &str) {
        let is_active = !self.rank.is_of_sessions() || !self.life.is_merged();
        (is_active, self.life.updated, self.life.created, &self.place.worktree, &self.source.id)
    }
}

/// All claims, with the rows and relations they rest on.
#[derive(Debug, Default)]
pub(super) struct Claims<'e> {
    pub(super) list: Vec<Claim<'e>>,
    /// Places in the list, by worktree.
    of_worktree: BTreeMap<&'e str, Vec<usize>>,
    /// Places in the list, by task.
    of_task: BTreeMap<&'e str, Vec<usize>>,
    /// The environment that stays, by task.
    pub(super) surviving: BTreeMap<&'e str, &'e Environment>,
    pub(super) environments: BTreeMap<&'e str, &'e Environment>,
    sessions: BTreeMap<&'e str, &'e Session>,
    /// Active rows that name a worktree and whose session is gone.
    pub(super) orphans: Vec<&'e SessionWorktree>,
    titles: BTreeMap<&'e str, &'e str>,
}

impl<'e> Claims<'e> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let mut claims = Self {
            titles: evidence.tasks.iter().map(|(id, title)| (id.as_str(), title.as_str())).collect(),
            environments: evidence.environments.iter().map(|row| (row.id.as_str(), row)).collect(),
            sessions: evidence.sessions.iter().map(|row| (row.id.as_str(), row)).collect(),
            ..Self::default()
        };
        for row in &evidence.environments {
            if claims.titles.contains_key(row.task.as_str()) {
                let stays = claims.surviving.entry(&row.task).or_insert(row);
                if (row.updated, row.created, &row.id) > (stays.updated, stays.created, &stays.id) {
                    *stays = row;
                }
            }
        }
        let mut list = Vec::new();
        list.extend(evidence.repos.iter().filter_map(|row| claims.of_repo(row)));
        list.extend(claims.surviving.values().filter_map(|row| of_flat(row)));
        list.extend(evidence.session_worktrees.iter().filter_map(|row| claims.of_session(row)));
        for (place, claim) in list.iter().enumerate() {
            claims.of_worktree.entry(&claim.place.worktree).or_default().push(place);
            claims.of_task.entry(claim.task).or_default().push(place);
        }
        claims.list = list;
        let is_orphan = |row: &&SessionWorktree| {
            !row.life.is_deleted()
                && !row.place.worktree.is_empty()
                && !claims.sessions.contains_key(row.session.as_str())
        };
        claims.orphans = evidence.session_worktrees.iter().filter(is_orphan).collect();
        claims
    }

    /// The task of an environment; none when either is missing.
    pub(super) fn task_of_environment(&self, environment: &str) -> Option<&'e str> {
        let environment = self.environments.get(environment)?;
        self.titles.contains_key(environment.task.as_str()).then_some(environment.task.as_str())
    }

    /// The task whose environment a session uses: the one it is bound to, else its own; none when that task is
    /// gone.
    pub(super) fn task_of_session(&self, session: &'e Session) -> Option<&'e str> {
        let own = || self.titles.contains_key(session.task.as_str()).then_some(session.task.as_str());
        self.task_of_environment(&session.environment).or_else(own)
    }

    /// As [`Self::task_of_session`], by the session's id; the outer none means that the session is gone.
    pub(super) fn task_of_session_id(&self, session: &str) -> Option<Option<&'e str>> {
        self.sessions.get(session).map(|session| self.task_of_session(session))
    }

    fn of_repo(&self, row: &'e Repo) -> Option<Claim<'e>> {
        let task = self.task_of_environment(&row.environment)?;
        (!row.life.is_deleted() && !row.place.worktree.is_empty()).then(|| Claim {
            rank: Rank::Canonical,
            source: Source { table: "task_environment_repos", id: row.id.clone() },
            task,
            repository: &row.repository,
            slug: &row.slug,
            place: &row.place,
            position: row.position,
            error_message: &row.error_message,
            life: row.life.clone(),
        })
    }

    fn of_session(&self, row: &'e SessionWorktree) -> Option<Claim<'e>> {
        let session = self.sessions.get(row.session.as_str())?;
        let task = self.task_of_session(session)?;
        (!row.life.is_deleted() && !row.place.worktree.is_empty()).then(|| Claim {
            rank: if session.is_live() { Rank::Live } else { Rank::Finished },
            source: Source { table: "task_session_worktrees", id: row.id.clone() },
            task,
            repository: &row.repository,
            slug: &row.slug,
            place: &row.place,
            position: row.position,
            error_message: "",
            life: row.life.clone(),
        })
    }

    /// The claims on a worktree.
    pub(super) fn on_worktree(&self, worktree: &str) -> impl Iterator<Item = &Claim<'e>> {
        let places = self.of_worktree.get(worktree).into_iter().flatten();
        places.filter_map(|place| self.list.get(*place))
    }

    /// The claims of a task.
    pub(super) fn of_task(&self, task: &str) -> impl Iterator<Item = &Claim<'e>> {
        let places = self.of_task.get(task).into_iter().flatten();
        places.filter_map(|place| self.list.get(*place))
    }

    /// The claims of the winner's task on its worktree: the winner, then the others by weight. One that weighs
    /// more than the winner lost its slot, and with it the first word.
    pub(super) fn sources_of(&self, winner: &Claim<'e>) -> Vec<&Claim<'e>> {
        let mut sources: Vec<_> =
            self.on_worktree(&winner.place.worktree).filter(|claim| claim.task == winner.task).collect();
        sources.sort_by(|one, other| {
            let is_other = |claim: &Claim<'_>| claim.source != winner.source;
            (is_other(one), one.rank)
                .cmp(&(is_other(other), other.rank))
                .then_with(|| other.precedence().cmp(&one.precedence()))
        });
        sources
    }

    /// Puts a contradiction into words.
    pub(super) fn conflict(&self, kind: ConflictKind, worktree: &str, rivals: &[&Claim<'e>]) -> Conflict {
        let word = if kind == ConflictKind::Data { "data" } else { "owner" };
        let mut claims: Vec<_> = rivals.iter().map(|claim| self.describe(claim)).collect();
        claims.sort_by(|one, other| one.choice.cmp(&other.choice));
        Conflict { id: format!("{word}:{worktree}"), kind, worktree_id: worktree.to_owned(), claims }
    }

    fn describe(&self, claim: &Claim<'_>) -> ConflictClaim {
        ConflictClaim {
            choice: claim.source.id.clone(),
            row: format!("{} {}", claim.source.table, claim.source.id),
            task_id: claim.task.to_owned(),
            task_title: self.titles.get(claim.task).copied().unwrap_or_default().to_owned(),
            repository_id: claim.repository.to_owned(),
            branch_slug: claim.slug.to_owned(),
            path: claim.place.path.clone(),
            branch: claim.place.branch.clone(),
        }
    }
}

fn of_flat<'e>(row: &'e Environment) -> Option<Claim<'e>> {
    (!row.place.worktree.is_empty()).then(|| Claim {
        rank: Rank::Flat,
        source: Source { table: "task_environments", id: row.id.clone() },
        task: &row.task,
        repository: &row.repository,
        slug: "",
        place: &row.place,
        position: 0,
        error_message: "",
        life: Life {
            status: "active".to_owned(),
            created: row.created,
            updated: row.updated,
            ..Life::default()
        },
    })
}
