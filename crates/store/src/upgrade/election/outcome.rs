//! The outcome of the election: the rows to store, and what became of every row there was.

use std::collections::{BTreeMap, BTreeSet};

use super::Settlement;
use super::claims::{Claim, Claims, Rank, Source};
use crate::upgrade::conflict::Conflict;
use crate::upgrade::derived_id;
use crate::upgrade::evidence::{Environment, Evidence, Life, Place, Repo, Session};

/// What an election came to.
#[derive(Debug, Default)]
pub(in crate::upgrade) struct Outcome {
    /// One for each task that has one, by task.
    pub(in crate::upgrade) workspaces: Vec<OwnedWorkspace>,
    /// The environment of each session, by session; empty for one whose task is gone.
    pub(in crate::upgrade) links: BTreeMap<String, String>,
    /// What lost its owner, and data that lost against newer data of the same worktree.
    pub(in crate::upgrade) unowned: Vec<Unowned>,
    /// Every question that came up.
    pub(in crate::upgrade) asked: Vec<Conflict>,
    /// The questions that stand open; nothing may be stored while there are any.
    pub(in crate::upgrade) open: Vec<Conflict>,
}

/// A task's environment as it will be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upgrade) struct OwnedWorkspace {
    pub(in crate::upgrade) environment: Environment,
    /// Whether the upgrade made it, because the task had sessions and no environment.
    pub(in crate::upgrade) is_new: bool,
    pub(in crate::upgrade) repos: Vec<OwnedRepo>,
}

/// One repository of an environment as it will be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upgrade) struct OwnedRepo {
    pub(in crate::upgrade) row: Repo,
    /// The row it came from.
    pub(in crate::upgrade) source: Source,
}

/// Why a worktree is recorded as one without owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::upgrade) enum Reason {
    /// It lost its slot to another worktree.
    Demoted,
    /// It stood in the flat columns of an environment that another one of the task replaced.
    CollapsedEnvironment,
    /// Its task is gone.
    MissingTask,
    /// Its environment is gone.
    MissingEnvironment,
    /// Its session is gone, and a person decided to record it.
    MissingSession,
    /// Only rows that were deleted knew it.
    Deleted,
    /// The worktree has an owner; this is where an older row believed it to be.
    Superseded,
}

impl Reason {
    pub(in crate::upgrade) const fn as_str(self) -> &'static str {
        match self {
            Self::Demoted => "demoted",
            Self::CollapsedEnvironment => "collapsed_environment",
            Self::MissingTask => "missing_task",
            Self::MissingEnvironment => "missing_environment",
            Self::MissingSession => "missing_session",
            Self::Deleted => "deleted",
            Self::Superseded => "superseded",
        }
    }
}

/// A row of `unowned_worktrees` to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upgrade) struct Unowned {
    pub(in crate::upgrade) place: Place,
    pub(in crate::upgrade) repository: String,
    pub(in crate::upgrade) reason: Reason,
    pub(in crate::upgrade) source: Source,
    /// The task it belonged to; empty when there was none.
    pub(in crate::upgrade) task: String,
}

/// Puts the rows together.
pub(super) fn assemble<'e>(
    evidence: &'e Evidence,
    claims: &Claims<'e>,
    settlement: Settlement<'e>,
) -> Outcome {
    let mut environments = environments(evidence, claims);
    let mut repos = RepoRows::default();
    for (claim, place) in settlement.owners.values() {
        if let Some((environment, _)) = environments.get(claim.task) {
            repos.add_owner(claim, place, &environment.id);
        }
    }
    repos.add_rest(evidence, claims, &environments);
    let unowned = unowned(evidence, claims, &settlement, &repos);
    let links = evidence.sessions.iter().map(|session| {
        let task = claims.task_of_session(session);
        let environment = task.and_then(|task| environments.get(task));
        let id = environment.map(|(environment, _)| environment.id.clone());
        (session.id.clone(), id.unwrap_or_default())
    });
    let links = links.collect();
    for (environment, _) in environments.values_mut() {
        let owned = repos.by_environment.get(&environment.id).map_or(&[][..], Vec::as_slice);
        set_workspace_path(environment, owned, claims, &settlement);
    }
    let workspaces = environments.into_values().map(|(environment, is_new)| {
        let repos = repos.by_environment.remove(&environment.id).unwrap_or_default();
        OwnedWorkspace { environment, is_new, repos }
    });
    let workspaces = workspaces.collect();
    Outcome { workspaces, links, unowned, asked: settlement.asked, open: settlement.open }
}

/// The environment of every task that has one or gets one, and whether it is new.
fn environments<'e>(evidence: &'e Evidence, claims: &Claims<'e>) -> BTreeMap<&'e str, (Environment, bool)> {
    let mut environments: BTreeMap<&str, (Environment, bool)> =
        claims.surviving.iter().map(|(task, row)| (*task, ((*row).clone(), false))).collect();
    let mut own_sessions: BTreeMap<&str, Vec<&Session>> = BTreeMap::new();
    for session in &evidence.sessions {
        if claims.task_of_session(session) == Some(session.task.as_str()) {
            own_sessions.entry(&session.task).or_default().push(session);
        }
    }
    for (task, sessions) in own_sessions {
        environments.entry(task).or_insert_with(|| (made_for(task, &sessions, evidence), true));
    }
    environments
}

/// The environment for a task that has sessions and none yet; executor fields come from the newest live
/// session, else from the newest.
fn made_for(task: &str, sessions: &[&Session], evidence: &Evidence) -> Environment {
    let newest = sessions
        .iter()
        .max_by_key(|session| (session.is_live(), session.updated, session.started, &session.id));
    let (executor, executor_profile) = newest
        .map(|session| (session.executor.clone(), session.executor_profile.clone()))
        .unwrap_or_default();
    Environment {
        id: derived_id(&["environment", task]),
        task: task.to_owned(),
        executor_type: evidence.executors.get(&executor).cloned().unwrap_or_default(),
        executor,
        executor_profile,
        status: "ready".to_owned(),
        created: sessions.iter().filter_map(|session| session.started).min(),
        updated: newest.and_then(|session| session.updated),
        ..Environment::default()
    }
}

/// The repository rows to store, by environment.
#[derive(Default)]
struct RepoRows {
    by_environment: BTreeMap<String, Vec<OwnedRepo>>,
    slots: BTreeSet<(String, String, String)>,
    kept_sources: BTreeSet<Source>,
}

impl RepoRows {
    fn add(&mut self, repo: OwnedRepo) {
        let row = &repo.row;
        self.slots.insert((row.environment.clone(), row.repository.clone(), row.slug.clone()));
        self.kept_sources.insert(repo.source.clone());
        self.by_environment.entry(row.environment.clone()).or_default().push(repo);
    }

    fn is_taken(&self, environment: &str, row: &Repo) -> bool {
        self.slots.contains(&(environment.to_owned(), row.repository.clone(), row.slug.clone()))
    }

    fn add_owner(&mut self, claim: &Claim<'_>, place: &Place, environment: &str) {
        let id = match claim.rank {
            Rank::Canonical => claim.source.id.clone(),
            _ => derived_id(&["repository", environment, claim.repository, claim.slug]),
        };
        let status = if claim.life.status.is_empty() { "active" } else { &claim.life.status };
        let row = Repo {
            id,
            environment: environment.to_owned(),
            repository: claim.repository.to_owned(),
            slug: claim.slug.to_owned(),
            place: place.clone(),
            position: claim.position,
            error_message: claim.error_message.to_owned(),
            life: Life { status: status.to_owned(), ..claim.life.clone() },
        };
        self.add(OwnedRepo { row, source: claim.source.clone() });
    }

    /// Adds the rows that own nothing and whose slot nobody took: of worktrees that were given back, and of
    /// preparations that failed. The newest of a slot stays.
    fn add_rest(
        &mut self,
        evidence: &Evidence,
        claims: &Claims<'_>,
        environments: &BTreeMap<&str, (Environment, bool)>,
    ) {
        let owns_nothing = |row: &&Repo| row.life.is_deleted() || row.place.worktree.is_empty();
        let mut rows: Vec<&Repo> = evidence.repos.iter().filter(owns_nothing).collect();
        let weight = |row: &Repo| (!row.place.worktree.is_empty(), row.life.updated, row.life.created);
        rows.sort_by(|one, other| (weight(other), &other.id).cmp(&(weight(one), &one.id)));
        let owned: BTreeSet<String> =
            self.by_environment.values().flatten().map(|repo| repo.row.place.worktree.clone()).collect();
        for row in rows {
            let Some(task) = claims.task_of_environment(&row.environment) else { continue };
            let Some((environment, _)) = environments.get(task) else { continue };
            if self.is_taken(&environment.id, row) || owned.contains(&row.place.worktree) {
                continue;
            }
            let mut kept = row.clone();
            kept.environment.clone_from(&environment.id);
            if kept.life.status.is_empty() {
                kept.life.status = "active".to_owned();
            }
            let source = Source { table: "task_environment_repos", id: row.id.clone() };
            self.add(OwnedRepo { row: kept, source });
        }
    }
}

/// Fills an empty workspace path, and points one at the winner that pointed at a worktree that lost.
fn set_workspace_path(
    environment: &mut Environment,
    repos: &[OwnedRepo],
    claims: &Claims<'_>,
    settlement: &Settlement<'_>,
) {
    let mut owned: Vec<&Repo> = repos.iter().map(|repo| &repo.row).collect();
    owned.retain(|row| !row.life.is_deleted() && !row.place.path.is_empty());
    owned.sort_by_key(|row| (row.position, &row.repository, &row.slug));
    if environment.workspace_path.is_empty() {
        environment.workspace_path = common_root(&owned);
        return;
    }
    if owned.iter().any(|row| row.place.path == environment.workspace_path) {
        return;
    }
    let slot_of_loser = claims.of_task(&environment.task).find(|claim| {
        let winner = settlement.slots.get(&claim.slot());
        let owner = settlement.owners.get(claim.place.worktree.as_str());
        claim.place.path == environment.workspace_path
            && owner.is_none_or(|(owner, _)| owner.task != claim.task)
            && winner.is_some_and(|winner| *winner != claim.place.worktree)
    });
    if let Some(loser) = slot_of_loser {
        let winner = owned.iter().find(|row| row.repository == loser.repository && row.slug == loser.slug);
        if let Some(winner) = winner {
            environment.workspace_path.clone_from(&winner.place.path);
        }
    }
}

/// The path of the only worktree, or the folder that all of them stand in.
fn common_root(owned: &[&Repo]) -> String {
    let Some((first, rest)) = owned.split_first() else { return String::new() };
    let parent = |row: &Repo| row.place.path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    match parent(first) {
        Some(root) if !rest.is_empty() && rest.iter().all(|row| parent(row).as_deref() == Some(&root)) => {
            root
        }
        _ => first.place.path.clone(),
    }
}

/// A row that names a worktree, whatever its rank.
struct Mention<'e> {
    source: Source,
    place: &'e Place,
    repository: &'e str,
    task: &'e str,
    reason: Reason,
}

/// Every mention of a worktree that nobody owns at the end, and the data that newer data replaced.
fn unowned<'e>(
    evidence: &'e Evidence,
    claims: &Claims<'e>,
    settlement: &Settlement<'e>,
    repos: &RepoRows,
) -> Vec<Unowned> {
    let mut unowned = Vec::new();
    let mut record = |mention: Mention<'_>| {
        unowned.push(Unowned {
            place: mention.place.clone(),
            repository: mention.repository.to_owned(),
            reason: mention.reason,
            source: mention.source,
            task: mention.task.to_owned(),
        });
    };
    let kept = repos.by_environment.values().flatten().map(|repo| repo.row.place.worktree.as_str());
    let kept: BTreeSet<&str> = kept.collect();
    for mention in mentions(evidence, claims) {
        let worktree = mention.place.worktree.as_str();
        let is_told = settlement.owners.contains_key(worktree)
            || repos.kept_sources.contains(&mention.source)
            || (mention.reason == Reason::Deleted && kept.contains(worktree));
        if !worktree.is_empty() && !is_told {
            record(mention);
        }
    }
    for (winner, place) in settlement.owners.values() {
        let sources = claims.sources_of(winner);
        let is_replaced = |claim: &&Claim<'_>| {
            let lost = claim.place;
            claim.rank == winner.rank
                && matches!(winner.rank, Rank::Canonical | Rank::Finished)
                && ((!lost.path.is_empty() && lost.path != place.path)
                    || (!lost.branch.is_empty() && lost.branch != place.branch))
        };
        for claim in sources.into_iter().filter(is_replaced) {
            record(Mention {
                source: claim.source.clone(),
                place: claim.place,
                repository: claim.repository,
                task: claim.task,
                reason: Reason::Superseded,
            });
        }
    }
    unowned
}

/// Every row that could name a worktree, with the reason to give when nobody owns it.
fn mentions<'e>(evidence: &'e Evidence, claims: &Claims<'e>) -> Vec<Mention<'e>> {
    let mut mentions = Vec::new();
    for row in &evidence.repos {
        let environment = claims.environments.get(row.environment.as_str());
        let reason = match claims.task_of_environment(&row.environment) {
            _ if row.life.is_deleted() => Reason::Deleted,
            Some(_) => Reason::Demoted,
            None if environment.is_some() => Reason::MissingTask,
            None => Reason::MissingEnvironment,
        };
        mentions.push(Mention {
            source: Source { table: "task_environment_repos", id: row.id.clone() },
            place: &row.place,
            repository: &row.repository,
            task: environment.map_or("", |environment| &environment.task),
            reason,
        });
    }
    for row in &evidence.environments {
        let reason = match claims.surviving.get(row.task.as_str()) {
            Some(surviving) if surviving.id == row.id => Reason::Demoted,
            Some(_) => Reason::CollapsedEnvironment,
            None => Reason::MissingTask,
        };
        mentions.push(Mention {
            source: Source { table: "task_environments", id: row.id.clone() },
            place: &row.place,
            repository: &row.repository,
            task: &row.task,
            reason,
        });
    }
    for row in &evidence.session_worktrees {
        let (task, reason) = match claims.task_of_session_id(&row.session) {
            _ if row.life.is_deleted() => ("", Reason::Deleted),
            Some(Some(task)) => (task, Reason::Demoted),
            Some(None) => ("", Reason::MissingTask),
            None => ("", Reason::MissingSession),
        };
        mentions.push(Mention {
            source: Source { table: "task_session_worktrees", id: row.id.clone() },
            place: &row.place,
            repository: &row.repository,
            task,
            reason,
        });
    }
    mentions
}
