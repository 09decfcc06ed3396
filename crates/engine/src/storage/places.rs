//! Places that nobody owns: what is on disk under the root of the workspaces, or registered in Git, and what no row
//! names.
//!
//! Rows are written before anything is made on disk, so they are read once more after the look at the disk: a
//! workspace that is made meanwhile is never taken for one without an owner. What is found is only told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use freehold_domain::cleanup::Snapshot;
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{CleanupJobId, NodeId, RepositoryId, TaskId};
use freehold_domain::storage::{Measure, PlaceKind, QuarantineEntry, QuarantineState, UnownedReason};
use freehold_git::{Git, PlaceLook};
use freehold_store as store;
use freehold_store::storage::{NamedIdle, NamedRepository, Names, RecordedUnowned};

use crate::{Engine, EngineError};

/// How deep in a folder with an owned place inside others are looked for.
const MAX_DEPTH: usize = 8;

/// The folder in the root of the workspaces in which the quarantine is.
pub(crate) const QUARANTINE: &str = ".quarantine";

/// A place without an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnownedPlace {
    /// Its absolute path.
    pub path: String,
    /// What is there.
    pub kind: PlaceKind,
    /// Why it is listed.
    pub reason: UnownedReason,
    /// That in words, where there is more to say; otherwise empty.
    pub detail: String,
    /// The task that had it, where this database knows one.
    pub task_id: Option<TaskId>,
    /// The registered repository of a worktree.
    pub repository_id: Option<RepositoryId>,
    /// The absolute path of the repository of a worktree, registered or not; empty for anything else.
    pub repository_path: String,
    /// The branch that is checked out in a worktree; may be empty.
    pub branch: String,
    /// Since when it is known to have no owner; none when it was not seen by a measurement yet.
    pub since: Option<Timestamp>,
    /// How much room it took when it was last measured.
    pub measure: Option<Measure>,
    /// Why it cannot be put into quarantine; empty when it can.
    pub refusal: String,
    /// What was found there.
    pub(crate) found: PlaceLook,
}

impl Engine {
    /// Lists what nobody owns on this server's disk, by path; changes nothing.
    pub async fn unowned_places(&self) -> Result<Vec<UnownedPlace>, EngineError> {
        let (root, here) = (self.inner.options.workspaces_root.clone(), self.inner.options.node_id.clone());
        let before = self.read_names(&here).await?;
        let (index, old_root) = (before, root.clone());
        let scan = self.blocking("looking through the workspaces", move |git| {
            let index = Index::new(&old_root, index);
            Scan::new(git, &index).run()
        });
        let found: Vec<UnownedPlace> = scan.await?;
        if found.is_empty() {
            return Ok(found);
        }
        let after = self.read_names(&here).await?;
        let again = self.blocking("looking through the workspaces", move |_| {
            let index = Index::new(&root, after);
            let is_there = |place: &UnownedPlace| {
                place.kind == PlaceKind::Missing || Path::new(&place.path).symlink_metadata().is_ok()
            };
            let kept =
                found.into_iter().filter(|place| !index.is_owned(Path::new(&place.path)) && is_there(place));
            Ok::<_, EngineError>(kept.collect())
        });
        again.await
    }

    async fn read_names(&self, here: &NodeId) -> Result<Read, EngineError> {
        let here = here.clone();
        let read = self.inner.store.read(move |tx| {
            let mut measures = store::storage::measures(tx)?;
            measures.retain(|measure| measure.node_id == here);
            let entries = store::quarantine::list(tx)?;
            Ok::<_, EngineError>(Read { names: store::storage::names(tx)?, entries, measures })
        });
        read.await
    }
}

/// What rows say of places.
struct Read {
    names: Names,
    entries: Vec<QuarantineEntry>,
    measures: Vec<Measure>,
}

/// Whether a row names a path, a place in it, or a folder under the root that it is in; jobs are counted but for the
/// one to pass over.
pub(crate) fn is_named(names: &Names, root: &Path, path: &Path, passed_over: Option<&CleanupJobId>) -> bool {
    let mut is_found = false;
    let mut look = |named: PathBuf| {
        let is_around = || named != root && named.starts_with(root) && path.starts_with(&named);
        is_found |= !named.as_os_str().is_empty() && (named.starts_with(path) || is_around());
    };
    named_places(names, root, passed_over, &mut look);
    is_found
}

/// Every place that a row names as owned.
fn named_places(
    names: &Names,
    root: &Path,
    passed_over: Option<&CleanupJobId>,
    take: &mut dyn FnMut(PathBuf),
) {
    let folder = |name: &str, take: &mut dyn FnMut(PathBuf)| {
        if !name.is_empty() {
            take(root.join(name));
        }
    };
    for environment in &names.environments {
        if super::is_on_disk(names, environment) {
            take(PathBuf::from(&environment.workspace_path));
            folder(&environment.task_dir_name, take);
        }
    }
    for worktree in names.worktrees.iter().filter(|worktree| worktree.is_held) {
        take(PathBuf::from(&worktree.path));
    }
    for (name, paths) in &names.creations {
        folder(name, take);
        paths.iter().for_each(|path| take(PathBuf::from(path)));
    }
    for idle in names.idle.iter().filter(|idle| !idle.is_left) {
        take(PathBuf::from(&idle.path));
    }
    for repository in &names.repositories {
        take(PathBuf::from(&repository.path));
    }
    for (id, snapshot) in &names.snapshots {
        let Snapshot::Own(resources) = snapshot else { continue };
        if passed_over == Some(id) {
            continue;
        }
        take(PathBuf::from(&resources.workspace_path));
        folder(&resources.task_dir_name, take);
        resources.worktrees.iter().for_each(|worktree| take(PathBuf::from(&worktree.path)));
    }
}

/// The rows, by the places that they name.
struct Index {
    root: PathBuf,
    owned: BTreeSet<PathBuf>,
    history: BTreeMap<PathBuf, TaskId>,
    recorded: BTreeMap<PathBuf, RecordedUnowned>,
    idle_left: BTreeMap<PathBuf, NamedIdle>,
    restored: BTreeMap<PathBuf, QuarantineEntry>,
    /// Where what is in quarantine was found.
    moved_from: BTreeSet<PathBuf>,
    measures: BTreeMap<PathBuf, Measure>,
    foreign: Vec<String>,
    trash_names: Vec<String>,
    repositories: Vec<NamedRepository>,
}

impl Index {
    fn new(root: &Path, read: Read) -> Self {
        let Read { names, entries, measures } = read;
        let mut owned = BTreeSet::new();
        named_places(&names, root, None, &mut |path| {
            if !path.as_os_str().is_empty() {
                owned.insert(settled(&path));
            }
        });
        let (mut restored, mut moved_from) = (BTreeMap::new(), BTreeSet::new());
        for entry in entries {
            match entry.state {
                QuarantineState::Moving | QuarantineState::Held | QuarantineState::Restoring => {
                    let held = settled(Path::new(&entry.held_path));
                    owned.extend(held.parent().map(Path::to_owned));
                    moved_from.insert(settled(Path::new(&entry.original_path)));
                }
                QuarantineState::Restored => {
                    restored.insert(settled(Path::new(&entry.restore_path)), entry);
                }
                QuarantineState::CalledOff => {}
            }
        }
        let mut history = BTreeMap::new();
        for environment in names.environments.iter().filter(|one| !super::is_on_disk(&names, one)) {
            for path in [PathBuf::from(&environment.workspace_path), root.join(&environment.task_dir_name)] {
                history.insert(settled(&path), environment.task_id.clone());
            }
        }
        for worktree in names.worktrees.iter().filter(|worktree| !worktree.is_held) {
            history.insert(settled(Path::new(&worktree.path)), worktree.task_id.clone());
        }
        let own = names.snapshots.iter().filter_map(|(_, snapshot)| match snapshot {
            Snapshot::Own(resources) => Some(resources),
            Snapshot::Foreign(_) => None,
        });
        let removed = own.flat_map(|resources| {
            let worktrees = resources.worktrees.iter().map(|worktree| worktree.path.as_str());
            worktrees.chain([resources.workspace_path.as_str()])
        });
        let removed = removed.chain(names.idle.iter().map(|idle| idle.path.as_str()));
        let trash_names = removed.map(|path| freehold_git::trash_name(Path::new(path))).collect();
        let foreign = names.snapshots.iter().filter_map(|(_, snapshot)| match snapshot {
            Snapshot::Foreign(text) => Some(text.clone()),
            Snapshot::Own(_) => None,
        });
        let foreign = foreign.collect();
        let left = names.idle.into_iter().filter(|idle| idle.is_left);
        let recorded = names.unowned.into_iter().filter(|row| !row.path.is_empty());
        Self {
            root: root.to_owned(),
            owned,
            history,
            restored,
            moved_from,
            trash_names,
            foreign,
            idle_left: left.map(|idle| (settled(Path::new(&idle.path)), idle)).collect(),
            recorded: recorded.map(|row| (settled(Path::new(&row.path)), row)).collect(),
            measures: measures.into_iter().map(|found| (PathBuf::from(&found.path), found)).collect(),
            repositories: names.repositories,
        }
    }

    fn is_owned(&self, path: &Path) -> bool {
        let is_in_foreign = || {
            let text = path.to_string_lossy();
            self.foreign.iter().any(|record| record.contains(&*text))
        };
        let (path, root) = (settled(path), settled(&self.root));
        let is_inside =
            path.ancestors().skip(1).take_while(|around| *around != root && around.starts_with(&root));
        let mut candidates = std::iter::once(path.as_path()).chain(is_inside);
        candidates.any(|around| self.owned.contains(around))
            || self.has_owned_inside(&path)
            || is_in_foreign()
    }

    fn has_owned_inside(&self, path: &Path) -> bool {
        let next = self.owned.range(path.to_owned()..).next();
        next.is_some_and(|owned| owned.starts_with(path))
    }
}

/// A look through the root of the workspaces and the registrations of the repositories.
struct Scan<'s> {
    git: &'s Git,
    index: &'s Index,
    found: BTreeMap<PathBuf, UnownedPlace>,
}

impl<'s> Scan<'s> {
    const fn new(git: &'s Git, index: &'s Index) -> Self {
        Self { git, index, found: BTreeMap::new() }
    }

    fn run(mut self) -> Result<Vec<UnownedPlace>, EngineError> {
        for child in children(&self.index.root)? {
            match child.file_name().and_then(|name| name.to_str()) {
                Some(".trash") => self.visit_trash(&child)?,
                Some(".idle") => self.visit_all(&child, 1)?,
                Some(QUARANTINE) => {
                    for entry in children(&child)? {
                        if !self.index.owned.contains(&settled(&entry)) {
                            self.visit_left_in_quarantine(&entry)?;
                        }
                    }
                }
                _ => self.visit(&child, 0)?,
            }
        }
        for path in self.index.recorded.keys() {
            let is_in_quarantine = self.index.moved_from.contains(path) && path.symlink_metadata().is_err();
            if !is_in_quarantine && !self.index.is_owned(path) && !self.is_inside_found(path) {
                let path = PathBuf::from(&self.index.recorded[path].path);
                self.add(&path, None)?;
            }
        }
        self.add_registrations();
        Ok(self.found.into_values().collect())
    }

    fn is_inside_found(&self, path: &Path) -> bool {
        path.ancestors().any(|around| self.found.contains_key(around))
    }

    fn visit_all(&mut self, folder: &Path, depth: usize) -> Result<(), EngineError> {
        children(folder)?.iter().try_for_each(|child| self.visit(child, depth))
    }

    fn visit(&mut self, path: &Path, depth: usize) -> Result<(), EngineError> {
        let key = settled(path);
        if self.index.owned.contains(&key) {
            return Ok(());
        }
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if self.index.has_owned_inside(&key) {
            return if is_folder && depth < MAX_DEPTH { self.visit_all(path, depth + 1) } else { Ok(()) };
        }
        if self.index.is_owned(path) {
            return Ok(());
        }
        // The folder of a task is around its worktrees; each of them is a place by itself.
        let is_around = is_folder && !has_git(path) && children(path)?.iter().any(|child| has_git(child));
        if is_around && depth < MAX_DEPTH {
            return children(path)?.iter().try_for_each(|child| self.add(child, None));
        }
        self.add(path, None)
    }

    fn visit_trash(&mut self, trash: &Path) -> Result<(), EngineError> {
        for entry in children(trash)? {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !self.index.trash_names.iter().any(|known| name.starts_with(known)) {
                self.add(&entry, Some(UnownedReason::TrashLeftOver))?;
            }
        }
        Ok(())
    }

    fn visit_left_in_quarantine(&mut self, entry: &Path) -> Result<(), EngineError> {
        let reason = Some(UnownedReason::QuarantineLeftOver);
        let inner = children(entry)?;
        if inner.is_empty() || has_git(entry) {
            return self.add(entry, reason);
        }
        inner.iter().try_for_each(|child| self.add(child, reason))
    }

    /// Registrations in repositories of this database that lead under the root, to nothing.
    fn add_registrations(&mut self) {
        for repository in &self.index.repositories {
            let listed = match self.git.list_worktrees(Path::new(&repository.path)) {
                Ok(listed) => listed,
                Err(error) => {
                    tracing::debug!(path = repository.path, %error, "the worktrees of a repository are not known");
                    continue;
                }
            };
            let root = settled(&self.index.root);
            for worktree in listed {
                let Some(registration) = worktree.registration else { continue };
                let key = settled(&worktree.path);
                let is_known = self.index.is_owned(&worktree.path) || self.is_inside_found(&key);
                if is_known || !key.starts_with(&root) || worktree.path.symlink_metadata().is_ok() {
                    continue;
                }
                let mut place = self.place(&worktree.path, PlaceLook::Nothing, None);
                place.repository_id = Some(repository.id.clone());
                place.repository_path.clone_from(&repository.path);
                place.branch = worktree.branch.unwrap_or_default();
                place.detail =
                    format!("Git has the registration {registration:?}, and its directory is gone.");
                self.found.insert(key, place);
            }
        }
    }

    fn add(&mut self, path: &Path, reason: Option<UnownedReason>) -> Result<(), EngineError> {
        let look = self.git.look_at_place(path)?;
        let place = self.place(path, look, reason);
        self.found.insert(settled(path), place);
        Ok(())
    }

    fn place(&self, path: &Path, look: PlaceLook, reason: Option<UnownedReason>) -> UnownedPlace {
        let key = settled(path);
        let mut place = UnownedPlace {
            path: path.display().to_string(),
            kind: PlaceKind::Missing,
            reason: UnownedReason::NotRecorded,
            detail: String::new(),
            task_id: None,
            repository_id: None,
            repository_path: String::new(),
            branch: String::new(),
            since: None,
            measure: self.index.measures.get(path).cloned(),
            refusal: String::new(),
            found: look.clone(),
        };
        place.since = place.measure.as_ref().and_then(|measure| measure.unowned_since);
        if let Some(row) = self.index.recorded.get(&key) {
            place.reason = UnownedReason::LostOwner;
            place.detail.clone_from(&row.reason);
            (place.task_id, place.since) = (row.task_id.clone(), Some(row.created_at));
            place.repository_id.clone_from(&row.repository_id);
        } else if let Some(idle) = self.index.idle_left.get(&key) {
            place.reason = UnownedReason::IdleInDoubt;
            place.detail.clone_from(&idle.reason);
        } else if let Some(entry) = self.index.restored.get(&key) {
            place.reason = UnownedReason::Restored;
            place.detail.clone_from(&entry.detail);
            place.since = Some(entry.created_at);
        } else if let Some(task_id) = self.index.history.get(&key) {
            place.reason = UnownedReason::GivenBack;
            place.task_id = Some(task_id.clone());
        } else if let Some(reason) = reason {
            place.reason = reason;
        }
        self.describe(&mut place, look);
        place
    }

    fn describe(&self, place: &mut UnownedPlace, look: PlaceLook) {
        match look {
            PlaceLook::Nothing => place.refusal = "nothing is there".into(),
            PlaceLook::Other(what) => {
                place.kind = PlaceKind::File;
                place.refusal = what;
            }
            PlaceLook::Folder { has_git, .. } => {
                place.kind = PlaceKind::Folder;
                if has_git {
                    let reason = "a repository is there, or a worktree that its registration does not name";
                    place.refusal = reason.into();
                }
            }
            PlaceLook::Worktree(found) => {
                place.kind = PlaceKind::Worktree;
                place.branch = found.branch;
                place.repository_path = found.common_dir.display().to_string();
                let of = self.index.repositories.iter().find(|repository| {
                    let main = Path::new(&repository.path);
                    [main.join(".git"), main.to_owned()]
                        .into_iter()
                        .any(|dir| dir.canonicalize().is_ok_and(|dir| dir == found.common_dir))
                });
                if let Some(repository) = of {
                    place.repository_id = Some(repository.id.clone());
                    place.repository_path.clone_from(&repository.path);
                }
            }
        }
        if place.path.contains('\u{fffd}') {
            place.refusal = "its path is not UTF-8 text, so it cannot be recorded".into();
        }
    }
}

fn has_git(path: &Path) -> bool {
    path.join(".git").symlink_metadata().is_ok()
}

/// What is in a folder, by name; nothing when it is no folder or gone.
fn children(folder: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let failed = |source| EngineError::Folder {
        operation: "looking through",
        path: folder.display().to_string(),
        source,
    };
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// A path whose folders are free of links, as far as they exist.
pub(crate) fn settled(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    match parent.canonicalize() {
        Ok(parent) => parent.join(name),
        Err(_) => settled(parent).join(name),
    }
}
