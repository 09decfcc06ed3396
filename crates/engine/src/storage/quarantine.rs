//! The quarantine: what a person put there, taken back or let go for good.
//!
//! Putting something in and letting it go are cleanup jobs, with the same look and the same seal as every removal.
//! Taking it back is one rename to a place where nothing is, written down before it is done.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use freehold_domain::cleanup::{
    CleanupJob, CleanupTrigger, ResourceSnapshot, SnapshotSeal, SnapshotWorktree,
};
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::WorktreeOrigin;
use freehold_domain::id::{CleanupJobId, QuarantineId, RepositoryId, WorktreeId};
use freehold_domain::storage::{PlaceKind, QuarantineEntry, QuarantineState};
use freehold_git::{ExpectedIdentity, FoundWorktree, GitError, PlaceLook, PlaceMove};
use freehold_store as store;

use super::places::{QUARANTINE, UnownedPlace, is_named, settled};
use super::refusal::StorageRefusal;
use crate::cleanup::{insert_pending, prepared_job, tell};
use crate::{Engine, EngineError};

/// The longest text by which somebody names themselves, in characters.
const MAX_NAME_CHARS: usize = 100;

/// Asks for something without an owner to be put into quarantine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuarantineRequest {
    /// Its absolute path, as it is listed.
    pub path: String,
    /// The name of the directory, typed by a person; needed where another database may know an owner.
    pub confirm: Option<String>,
    /// Who asks; for the record.
    pub requested_by: String,
}

/// Something in quarantine, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineView {
    /// The entry.
    pub entry: QuarantineEntry,
    /// When it goes for good; none while it is not held.
    pub expires_at: Option<Timestamp>,
    /// The name of another server's machine that has it; empty for this one.
    pub hostname: String,
}

impl Engine {
    /// Lists what is in quarantine on all servers, the newest first.
    pub async fn quarantine_entries(&self) -> Result<Vec<QuarantineView>, EngineError> {
        let engine = self.clone();
        let read = self.inner.store.read(move |tx| {
            let is_over = |state| matches!(state, QuarantineState::Restored | QuarantineState::CalledOff);
            let entries = store::quarantine::list(tx)?.into_iter().filter(|entry| !is_over(entry.state));
            entries.map(|entry| engine.view_of(tx, entry)).collect::<Result<Vec<_>, EngineError>>()
        });
        read.await
    }

    /// Reads one entry, also of what was taken back.
    pub async fn quarantine_entry(&self, id: QuarantineId) -> Result<QuarantineView, EngineError> {
        let engine = self.clone();
        let read = self.inner.store.read(move |tx| {
            let entry = store::quarantine::require(tx, &id)?;
            engine.view_of(tx, entry)
        });
        read.await
    }

    fn view_of(
        &self,
        tx: &mut store::Tx<'_>,
        mut entry: QuarantineEntry,
    ) -> Result<QuarantineView, EngineError> {
        let mut measures = store::storage::measures(tx)?.into_iter();
        let measured = measures.find(|one| one.node_id == entry.node_id && one.path == entry.held_path);
        if let Some(measured) = measured {
            entry.size_bytes = measured.room.size_bytes;
        }
        let is_here = entry.node_id == self.inner.options.node_id;
        let hostname =
            if is_here { String::new() } else { crate::cleanup::waiting::hostname_of(tx, &entry.node_id)? };
        let held_at = entry.held_at.filter(|_| entry.state == QuarantineState::Held);
        let expires_at = held_at.map(|held_at| held_at.plus_millis(self.inner.options.retention_ms));
        Ok(QuarantineView { entry, expires_at, hostname })
    }

    /// Puts something without an owner into quarantine: looks at it, and hands the move to the cleanup worker.
    pub async fn quarantine(&self, request: QuarantineRequest) -> Result<QuarantineView, EngineError> {
        let engine = self.clone();
        self.to_the_end("putting something into quarantine", async move {
            engine.put_into_quarantine(request).await
        })
        .await
    }

    async fn put_into_quarantine(&self, request: QuarantineRequest) -> Result<QuarantineView, EngineError> {
        let QuarantineRequest { path, confirm, requested_by } = request;
        if requested_by.chars().count() > MAX_NAME_CHARS {
            let reason = format!("it is longer than {MAX_NAME_CHARS} characters");
            return Err(EngineError::InvalidField { field: "requested_by", reason });
        }
        let asked = PathBuf::from(&path);
        if !is_plain(&asked) {
            let reason = format!("{path:?} is not a plain absolute path");
            return Err(EngineError::InvalidField { field: "path", reason });
        }
        let place = self.require_unowned(&asked).await?;
        if !place.refusal.is_empty() {
            return Err(StorageRefusal::NotMovable { path, reason: place.refusal }.into());
        }
        let name = asked.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !place.reason.is_recorded() && confirm.as_deref().map(str::trim) != Some(name.as_str()) {
            return Err(StorageRefusal::OwnerUnknown { path, name }.into());
        }
        let (entry, job, snapshot) = self.planned(&place, requested_by)?;
        self.require_same_file_system(&place).await?;
        let stakes = self.quarantine_stakes(&entry, &snapshot).await?;
        if !stakes.is_empty() {
            return Err(StorageRefusal::AtStake { path, stakes }.into());
        }
        crate::failpoint!("engine.quarantine.assessed");
        let (root, now, id) = (self.inner.options.workspaces_root.clone(), self.now(), entry.id.clone());
        let write = self.inner.store.write(move |tx| {
            let names = store::storage::names(tx)?;
            if is_named(&names, &root, Path::new(&entry.original_path), None) {
                return Err(StorageRefusal::Owned { path: entry.original_path }.into());
            }
            store::quarantine::insert(tx, &entry)?;
            insert_pending(tx, &job, &snapshot, now)?;
            Ok::<_, EngineError>(())
        });
        write.await?;
        crate::failpoint!("engine.quarantine.reserved");
        self.inner.cleanup_wake.notify_one();
        self.quarantine_entry(id).await
    }

    async fn require_unowned(&self, path: &Path) -> Result<UnownedPlace, EngineError> {
        let listed = self.unowned_places().await?;
        let key = settled(path);
        let found = listed.into_iter().find(|place| settled(Path::new(&place.path)) == key);
        found.ok_or_else(|| StorageRefusal::NotUnowned { path: path.display().to_string() }.into())
    }

    async fn require_same_file_system(&self, place: &UnownedPlace) -> Result<(), EngineError> {
        let (root, path) = (self.inner.options.workspaces_root.clone(), PathBuf::from(&place.path));
        let alike = self.blocking("looking at file systems", move |_| {
            let device = |path: &Path| path.symlink_metadata().map(|found| found.dev());
            Ok::<_, EngineError>(
                matches!((device(&root), device(&path)), (Ok(one), Ok(other)) if one == other),
            )
        });
        if alike.await? {
            return Ok(());
        }
        Err(StorageRefusal::OtherFileSystem { path: place.path.clone() }.into())
    }

    fn planned(
        &self,
        place: &UnownedPlace,
        requested_by: String,
    ) -> Result<(QuarantineEntry, CleanupJob, ResourceSnapshot), EngineError> {
        let (id, job_id, now) =
            (QuarantineId::generate(self.ids()), CleanupJobId::generate(self.ids()), self.now());
        let folder = self.inner.options.workspaces_root.join(QUARANTINE).join(id.as_str());
        let held_path = folder.join(Path::new(&place.path).file_name().unwrap_or_default());
        let (registration, device, inode) = match &place.found {
            PlaceLook::Worktree(FoundWorktree { registration, device, inode, .. }) => {
                (registration.clone(), *device, *inode)
            }
            PlaceLook::Folder { device, inode, .. } => (String::new(), *device, *inode),
            PlaceLook::Nothing | PlaceLook::Other(_) => {
                let reason = "nothing that can be moved is there".to_owned();
                return Err(StorageRefusal::NotMovable { path: place.path.clone(), reason }.into());
            }
        };
        let entry = QuarantineEntry {
            id,
            node_id: self.inner.options.node_id.clone(),
            state: QuarantineState::Moving,
            kind: place.kind,
            original_path: place.path.clone(),
            held_path: held_path.display().to_string(),
            restore_path: String::new(),
            repository_id: place.repository_id.clone(),
            repository_path: place.repository_path.clone(),
            registration,
            device,
            inode,
            reason: place.reason,
            detail: place.detail.clone(),
            requested_by,
            size_bytes: place.measure.as_ref().map_or(0, |measure| measure.room.size_bytes),
            job_id: job_id.clone(),
            error_message: String::new(),
            created_at: now,
            held_at: None,
            updated_at: now,
        };
        let trigger = CleanupTrigger::Quarantine;
        let job = prepared_job(job_id, &entry.subject(), &entry.original_path, trigger, now);
        let mut snapshot = self.snapshot_of_entry(&entry);
        snapshot.workspace_path.clone_from(&entry.original_path);
        if entry.kind == PlaceKind::Worktree {
            let worktree_id = WorktreeId::generate(self.ids());
            snapshot.worktrees.push(worktree_of(&entry, &entry.original_path, &place.branch, worktree_id));
        }
        Ok((entry, job, snapshot))
    }

    fn snapshot_of_entry(&self, entry: &QuarantineEntry) -> ResourceSnapshot {
        ResourceSnapshot {
            node_id: Some(self.inner.options.node_id.clone()),
            quarantine_id: Some(entry.id.clone()),
            ..ResourceSnapshot::default()
        }
    }

    /// Lets something go from the quarantine for good: it and its seals.
    pub async fn purge_quarantined(&self, id: QuarantineId) -> Result<CleanupJob, EngineError> {
        let engine = self.clone();
        self.to_the_end("emptying the quarantine", async move { engine.purge_entry(id).await }).await
    }

    async fn purge_entry(&self, id: QuarantineId) -> Result<CleanupJob, EngineError> {
        let view = self.quarantine_entry(id.clone()).await?;
        require_here(&view)?;
        let held = PathBuf::from(&view.entry.held_path);
        let found = self.blocking("looking into the quarantine", move |git| git.look_at_place(&held)).await?;
        let (job_id, worktree_id) = (CleanupJobId::generate(self.ids()), WorktreeId::generate(self.ids()));
        let (now, mut snapshot) = (self.now(), self.snapshot_of_entry(&view.entry));
        let stored = job_id.clone();
        let write = self.inner.store.write(move |tx| {
            let entry = require_held(tx, &id)?;
            if let PlaceLook::Worktree(found) = &found {
                snapshot.worktrees.push(worktree_of(&entry, &entry.held_path, &found.branch, worktree_id));
            }
            let seals = store::seal::of_task(tx, &entry.subject())?;
            snapshot.seals = seals
                .into_iter()
                .map(|seal| SnapshotSeal {
                    id: seal.id,
                    repository_path: seal.repository_path,
                    commit: seal.commit,
                })
                .collect();
            snapshot.workspace_path.clone_from(&entry.held_path);
            let trigger = CleanupTrigger::QuarantinePurge;
            let job = prepared_job(job_id, &entry.subject(), &entry.original_path, trigger, now);
            Ok::<_, EngineError>(insert_pending(tx, &job, &snapshot, now)?)
        });
        write.await?;
        self.inner.cleanup_wake.notify_one();
        self.cleanup_job(stored).await
    }

    /// Takes something back from the quarantine, to where it was or to another place. Nothing is overwritten.
    pub async fn restore_quarantined(
        &self,
        id: QuarantineId,
        to: Option<String>,
    ) -> Result<QuarantineView, EngineError> {
        let engine = self.clone();
        self.to_the_end("restoring from the quarantine", async move { engine.take_back(id, to).await }).await
    }

    async fn take_back(&self, id: QuarantineId, to: Option<String>) -> Result<QuarantineView, EngineError> {
        let view = self.quarantine_entry(id.clone()).await?;
        require_here(&view)?;
        if view.entry.state != QuarantineState::Held {
            return Err(StorageRefusal::NotHeld { id, state: view.entry.state }.into());
        }
        let to = to.unwrap_or_else(|| view.entry.original_path.clone());
        self.require_free(&to).await?;
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            let entry = require_held(tx, &id)?;
            let entry = QuarantineEntry { state: QuarantineState::Restoring, restore_path: to, ..entry };
            store::quarantine::set_state(tx, &entry, now)?;
            Ok::<_, EngineError>(entry)
        });
        let entry = write.await?;
        crate::failpoint!("engine.quarantine.restoring");
        self.finish_restore(entry).await
    }

    /// Moves back what is to be restored, and stores how that ended.
    async fn finish_restore(&self, entry: QuarantineEntry) -> Result<QuarantineView, EngineError> {
        let moved = move_of(&entry, &entry.held_path, &entry.restore_path);
        let outcome = self.blocking("restoring from the quarantine", move |git| git.move_place(&moved)).await;
        crate::failpoint!("engine.quarantine.restored");
        let (now, id) = (self.now(), entry.id.clone());
        let (state, error_message) = match &outcome {
            Ok(true) => (QuarantineState::Restored, String::new()),
            Ok(false) => {
                let message = "its Git registration was removed meanwhile, so Git does not know it there";
                (QuarantineState::Restored, message.to_owned())
            }
            Err(error) => (QuarantineState::Held, error.to_string()),
        };
        let (taken, free) = (entry.restore_path.clone(), free_beside(&entry.restore_path));
        let folder = Path::new(&entry.held_path).parent().map(Path::to_owned);
        let job_id = entry.job_id.clone();
        let write = self.inner.store.write(move |tx| {
            let entry = QuarantineEntry { state, error_message, ..entry };
            store::quarantine::set_state(tx, &entry, now)?;
            if let Some(job) = store::cleanup::find(tx, &job_id)? {
                tell(tx, &job, now);
            }
            Ok::<_, EngineError>(())
        });
        write.await?;
        match outcome {
            Ok(_) => {
                if let Some(folder) = folder {
                    // Fails, as it should, when anything else is in it.
                    _ = std::fs::remove_dir(folder);
                }
                self.quarantine_entry(id).await
            }
            Err(EngineError::Git(GitError::PathTaken { .. })) => {
                Err(StorageRefusal::PathTaken { path: taken, free }.into())
            }
            Err(error) => Err(error),
        }
    }

    async fn require_free(&self, to: &str) -> Result<(), EngineError> {
        let path = PathBuf::from(to);
        let root = &self.inner.options.workspaces_root;
        let is_kept_apart = path.strip_prefix(root).is_ok_and(|inside| {
            inside
                .components()
                .next()
                .is_none_or(|first| first.as_os_str().to_string_lossy().starts_with('.'))
        });
        if !is_plain(&path) || is_kept_apart {
            let reason = if is_kept_apart {
                format!("{to} is where only Freehold puts something")
            } else {
                format!("{to:?} is not a plain absolute path")
            };
            return Err(EngineError::InvalidField { field: "path", reason });
        }
        let (taken, free) = (to.to_owned(), free_beside(to));
        let is_free = self
            .blocking("looking at a place", move |_| Ok::<_, EngineError>(path.symlink_metadata().is_err()));
        if is_free.await? {
            return Ok(());
        }
        Err(StorageRefusal::PathTaken { path: taken, free }.into())
    }
}

/// Finishes what an earlier server of this node was taking back; what cannot be finished is held again.
pub(crate) async fn settle_unfinished_restores(engine: &Engine) -> Result<(), EngineError> {
    let here = engine.inner.options.node_id.clone();
    for entry in engine.inner.store.read(store::quarantine::list).await? {
        if entry.state == QuarantineState::Restoring && entry.node_id == here {
            let id = entry.id.clone();
            if let Err(error) = engine.finish_restore(entry).await {
                tracing::warn!(%id, %error, "what was being restored is in quarantine again");
            }
        }
    }
    Ok(())
}

/// How an entry moves from one of its places to another.
pub(crate) fn move_of(entry: &QuarantineEntry, from: &str, to: &str) -> PlaceMove {
    let is_worktree = entry.kind == PlaceKind::Worktree;
    PlaceMove {
        from: PathBuf::from(from),
        to: PathBuf::from(to),
        identity: ExpectedIdentity {
            registration: entry.registration.clone(),
            device: entry.device,
            inode: entry.inode,
        },
        repo: is_worktree.then(|| PathBuf::from(&entry.repository_path)),
    }
}

fn worktree_of(
    entry: &QuarantineEntry,
    path: &str,
    branch: &str,
    worktree_id: WorktreeId,
) -> SnapshotWorktree {
    SnapshotWorktree {
        environment_repo_id: None,
        worktree_id,
        repository_id: entry.repository_id.clone().unwrap_or_else(RepositoryId::unnamed),
        repository_path: entry.repository_path.clone(),
        path: path.to_owned(),
        branch: branch.to_owned(),
        branch_made: false,
        base_commit: String::new(),
        origin: Some(WorktreeOrigin {
            base_branch: String::new(),
            base_commit: String::new(),
            registration: entry.registration.clone(),
            device: entry.device,
            inode: entry.inode,
            branch_made: false,
            warning: String::new(),
        }),
        planted: Vec::new(),
    }
}

fn require_here(view: &QuarantineView) -> Result<(), EngineError> {
    if view.hostname.is_empty() {
        return Ok(());
    }
    let (id, hostname) = (view.entry.id.clone(), view.hostname.clone());
    Err(StorageRefusal::Elsewhere { id, hostname }.into())
}

/// Finds an entry that is held and that no job is about, and keeps others from changing it.
fn require_held(tx: &mut store::Tx<'_>, id: &QuarantineId) -> Result<QuarantineEntry, EngineError> {
    let entry = store::quarantine::lock(tx, id)?;
    if entry.state != QuarantineState::Held {
        return Err(StorageRefusal::NotHeld { id: entry.id, state: entry.state }.into());
    }
    if let Some(job) = store::cleanup::barrier_of(tx, &entry.subject())? {
        return Err(EngineError::Barrier { task_id: job.task_id, job_id: job.id, trigger: job.trigger });
    }
    Ok(entry)
}

/// A path beside one that is taken, at which nothing is.
fn free_beside(path: &str) -> String {
    let candidates = (1..).map(|number| format!("{path}-restored-{number}"));
    let mut free = candidates.take(1_000).filter(|path| Path::new(path).symlink_metadata().is_err());
    free.next().unwrap_or_else(|| format!("{path}-restored"))
}

fn is_plain(path: &Path) -> bool {
    let is_part = |part| matches!(part, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.file_name().is_some() && path.components().all(is_part)
}
