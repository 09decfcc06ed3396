//! The idle pool: per repository, a worktree that is ready before a task asks for it.
//!
//! Which idle worktrees exist is stored (`idle_worktrees`), each with the node whose disk it is on. A row is
//! written before its worktree is made and taken by compare-and-swap, so that two tasks never get the same one.
//! The pool is never needed: whenever one is missing, does not fit or is in doubt, the task's worktree is made
//! afresh. What is superfluous is given back by the cleanup worker (`cleanup/idle.rs`); nothing here removes.

mod ground;

use std::path::PathBuf;
use std::time::Duration;

use freehold_domain::id::{IdleWorktreeId, RepositoryId};
use freehold_domain::pool::{IdleProof, IdleState, IdleWorktree};
use freehold_git::{IdlePlan, IdleUse, Prepared, WorktreeIdentity, WorktreePlan, idle_path};
use freehold_store as store;
use freehold_store::StoreError;

use crate::{Engine, EngineError};

/// How long after a creation the pool is filled up, so that the agent starts undisturbed.
const PAUSE: Duration = Duration::from_millis(1_000);

/// How many times the size of a checkout must be free on disk.
const FREE_CHECKOUTS: u64 = 5;

/// How many doubtful ones a repository may have before no more are made for it.
const MOST_LEFT: usize = 2;

impl Engine {
    /// Gives the task an idle worktree of the repository where one fits; none means to make one afresh. A failure
    /// here is never the task's.
    pub(crate) async fn take_idle(
        &self,
        repository_id: &RepositoryId,
        plan: &WorktreePlan,
    ) -> Option<WorktreeIdentity> {
        if self.inner.options.idle_per_repository == 0 {
            return None;
        }
        match self.try_to_take(repository_id, plan).await {
            Ok(identity) => identity,
            Err(error) => {
                tracing::warn!(%repository_id, %error, "no idle worktree could be taken");
                None
            }
        }
    }

    async fn try_to_take(
        &self,
        repository_id: &RepositoryId,
        plan: &WorktreePlan,
    ) -> Result<Option<WorktreeIdentity>, EngineError> {
        let (node, repository, now) = (self.inner.options.node_id.clone(), repository_id.clone(), self.now());
        let commit = plan.start.to_string();
        let write = self.inner.store.write(move |tx| store::pool::take(tx, &node, &repository, &commit, now));
        let Some(idle) = write.await? else { return Ok(None) };
        crate::failpoint!("engine.pool.taken");
        let Some(made) = to_git(&idle)? else { return Ok(None) };
        let plan = plan.clone();
        let used = self.blocking("taking an idle worktree", move |git| git.take_idle(&made, &plan)).await;
        crate::failpoint!("engine.pool.moved");
        let (next, reason) = match used {
            Ok(IdleUse::Taken(identity)) => {
                tracing::info!(path = %identity.path.display(), "an idle worktree became a task's");
                self.forget_taken(idle.id);
                return Ok(Some(identity));
            }
            Ok(IdleUse::Unsuited(reason)) => (IdleState::Ready, reason),
            Ok(IdleUse::Stale(reason)) => (IdleState::Returning, reason),
            Ok(IdleUse::Doubtful(reason)) => {
                tracing::warn!(path = %idle.path, reason, "an idle worktree is in doubt and stays as it is");
                (IdleState::Left, reason)
            }
            Err(error) => (IdleState::Ready, error.to_string()),
        };
        tracing::info!(path = %idle.path, reason, "an idle worktree was not used");
        let now = self.now();
        let from = IdleState::Taken;
        let write =
            self.inner.store.write(move |tx| store::pool::set_state(tx, &idle.id, from, next, &reason, now));
        write.await?;
        self.inner.cleanup_wake.notify_one();
        Ok(None)
    }

    /// Deletes the row of one that was moved to its task. A crash before that leaves a row whose place is empty,
    /// which the next start gives back as what it is: nothing.
    fn forget_taken(&self, id: IdleWorktreeId) {
        let engine = self.clone();
        self.own(async move {
            let write = engine.inner.store.write(move |tx| store::pool::delete(tx, &id));
            if let Err(error) = write.await {
                tracing::warn!(%error, "the row of a taken idle worktree stays until the next start");
            }
        });
    }

    /// Fills the pool of these repositories up, in the background.
    pub(crate) fn refill_idle(&self, repositories: Vec<RepositoryId>) {
        if self.inner.options.idle_per_repository == 0 || repositories.is_empty() {
            return;
        }
        let engine = self.clone();
        self.own(async move {
            for repository_id in repositories {
                tokio::select! {
                    () = engine.inner.shutdown.cancelled() => return,
                    () = tokio::time::sleep(PAUSE) => {}
                }
                if let Err(error) = engine.fill_up(&repository_id).await {
                    tracing::warn!(%repository_id, %error, "no idle worktree could be made");
                }
            }
        });
    }

    /// Makes idle worktrees until the pool has its size or something says that it shall not.
    async fn fill_up(&self, repository_id: &RepositoryId) -> Result<(), EngineError> {
        while !self.inner.shutdown.is_cancelled() {
            let Some(idle) = self.reserve_idle(repository_id).await? else { return Ok(()) };
            crate::failpoint!("engine.pool.reserved");
            let plan = IdlePlan {
                repo: PathBuf::from(&idle.repository_path),
                path: PathBuf::from(&idle.path),
                commit: idle.commit.parse()?,
            };
            let prepared = self.blocking("making an idle worktree", move |git| git.prepare_idle(&plan)).await;
            crate::failpoint!("engine.pool.made");
            if !self.store_prepared(idle, prepared).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Stores whether a reserved one was made; what was not, or only half, is given back.
    pub(crate) async fn store_prepared(
        &self,
        idle: IdleWorktree,
        prepared: Result<Prepared, EngineError>,
    ) -> Result<bool, EngineError> {
        let (proof, reason) = match prepared {
            Ok(Prepared::Ready(made)) => (Some(proof_of(&made)), String::new()),
            Ok(Prepared::Unsuited(reason)) => (None, reason),
            Err(error) => (None, error.to_string()),
        };
        let is_made = proof.is_some();
        if !is_made {
            tracing::info!(repository_id = %idle.repository_id, reason, "no idle worktree was made");
        }
        let (id, now) = (idle.id, self.now());
        let write = self.inner.store.write(move |tx| match proof {
            Some(proof) => store::pool::set_ready(tx, &id, &proof, now),
            None => store::pool::set_state(tx, &id, IdleState::Preparing, IdleState::Returning, &reason, now),
        });
        write.await?;
        if !is_made {
            self.inner.cleanup_wake.notify_one();
        }
        Ok(is_made)
    }

    /// Stores that one is going to be made; none when the pool is full or the disk is.
    pub(crate) async fn reserve_idle(
        &self,
        repository_id: &RepositoryId,
    ) -> Result<Option<IdleWorktree>, EngineError> {
        let id = repository_id.clone();
        let read = self.inner.store.read(move |tx| store::repository::find(tx, &id));
        let Some(repository) = read.await? else { return Ok(None) };
        if !self.has_room(repository_id, None).await? {
            return Ok(None);
        }
        let (path, branch) = (PathBuf::from(&repository.local_path), repository.default_branch.clone());
        let root = self.inner.options.workspaces_root.clone();
        let looked = self
            .blocking("looking for room for an idle worktree", move |git| {
                let commit = git.resolve_start(&path, &branch)?.commit;
                let needed = git.checkout_bytes(&path, &commit)?.saturating_mul(FREE_CHECKOUTS);
                let free = freehold_git::free_bytes(&root)?;
                Ok::<_, EngineError>((free > needed).then_some(commit))
            })
            .await?;
        let Some(commit) = looked else {
            tracing::info!(%repository_id, "the disk has no room for an idle worktree");
            return Ok(None);
        };
        let id = IdleWorktreeId::generate(self.ids());
        let path = idle_path(&self.inner.options.workspaces_root, id.as_str());
        let now = self.now();
        let idle = IdleWorktree {
            id,
            repository_id: repository_id.clone(),
            node_id: self.inner.options.node_id.clone(),
            state: IdleState::Preparing,
            repository_path: repository.local_path,
            path: path.display().to_string(),
            commit: commit.to_string(),
            made: None,
            reason: String::new(),
            created_at: now,
            updated_at: now,
        };
        let is_reserved = self.has_room(repository_id, Some(idle.clone())).await?;
        Ok(is_reserved.then_some(idle))
    }

    /// Whether the pool of a repository may grow; stores the one that it grows by in the same transaction.
    async fn has_room(
        &self,
        repository_id: &RepositoryId,
        grows_by: Option<IdleWorktree>,
    ) -> Result<bool, EngineError> {
        let (node, id) = (self.inner.options.node_id.clone(), repository_id.clone());
        let size = usize::try_from(self.inner.options.idle_per_repository).unwrap_or(usize::MAX);
        let write = self.inner.store.write(move |tx| {
            let (mut idle, mut left) = (0, 0);
            for row in store::pool::list(tx, &node)?.iter().filter(|row| row.repository_id == id) {
                match row.state {
                    IdleState::Preparing | IdleState::Ready => idle += 1,
                    IdleState::Left => left += 1,
                    IdleState::Taken | IdleState::Returning => {}
                }
            }
            let has_room = idle < size && left < MOST_LEFT;
            if let (true, Some(row)) = (has_room, grows_by) {
                store::pool::insert(tx, &row)?;
            }
            Ok::<_, StoreError>(has_room)
        });
        Ok(write.await?)
    }
}

/// Judges what an earlier server of this node left: what was half made, half taken, in doubt or is superfluous
/// is given back, if nothing is lost by it; then fills the pool up.
pub(crate) async fn judge(engine: &Engine) -> Result<(), EngineError> {
    let (node, now) = (engine.inner.options.node_id.clone(), engine.now());
    let size = usize::try_from(engine.inner.options.idle_per_repository).unwrap_or(usize::MAX);
    let write = engine.inner.store.write(move |tx| {
        let mut kept: Vec<RepositoryId> = Vec::new();
        for idle in store::pool::list(tx, &node)? {
            let is_listed = store::repository::find(tx, &idle.repository_id)?.is_some();
            let has_place = kept.iter().filter(|id| **id == idle.repository_id).count() < size;
            if idle.state == IdleState::Ready && is_listed && has_place {
                kept.push(idle.repository_id);
                continue;
            }
            let to = IdleState::Returning;
            store::pool::set_state(tx, &idle.id, idle.state, to, &idle.reason, now)?;
        }
        store::pool::repositories_in_use(tx)
    });
    let repositories = write.await?;
    engine.refill_idle(repositories);
    Ok(())
}

/// As the Git layer knows it; none while it was not made.
pub(crate) fn to_git(idle: &IdleWorktree) -> Result<Option<freehold_git::IdleWorktree>, EngineError> {
    let Some(made) = &idle.made else { return Ok(None) };
    Ok(Some(freehold_git::IdleWorktree {
        identity: WorktreeIdentity {
            path: PathBuf::from(&idle.path),
            registration: made.registration.clone(),
            common_dir: PathBuf::from(&made.common_dir),
            device: made.device,
            inode: made.inode,
            head: idle.commit.parse()?,
        },
        evidence: made.evidence.clone(),
    }))
}

fn proof_of(made: &freehold_git::IdleWorktree) -> IdleProof {
    IdleProof {
        // A repository is registered under a path that is UTF-8 text, and its common directory is in it.
        common_dir: made.identity.common_dir.to_string_lossy().into_owned(),
        registration: made.identity.registration.clone(),
        device: made.identity.device,
        inode: made.identity.inode,
        evidence: made.evidence.clone(),
    }
}
