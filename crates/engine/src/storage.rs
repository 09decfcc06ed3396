//! Storage: what takes room on disk, by its owner; what nobody owns; and the quarantine.
//!
//! Owners are found through rows: a task through its environment, never through its sessions, so a task without a
//! session owns what it owns. Sizes are measured in the background and remembered with the time of measuring; a
//! question reads what is remembered and looks at names on disk, but walks through no workspace and changes nothing.
//! What nobody owns is listed with the reason and stays until a person puts it into quarantine, which is a cleanup job
//! like every other.

mod measuring;
pub(crate) mod places;
pub mod quarantine;
mod refusal;

use std::collections::BTreeMap;

use freehold_domain::clock::Timestamp;
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::{NodeId, RepositoryId, TaskId};
use freehold_domain::storage::{Measure, QuarantineEntry, QuarantineState, Room};
use freehold_store as store;
use freehold_store::storage::{NamedEnvironment, NamedTask, Names, SealedRoom};

pub(crate) use measuring::Measuring;
pub use places::UnownedPlace;
pub use refusal::StorageRefusal;

use crate::{Engine, EngineError};

/// What takes room, by its owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageReport {
    /// The folder of the workspaces on this server.
    pub root: String,
    /// How many bytes are free on its file system; none when that cannot be found out.
    pub free_bytes: Option<u64>,
    /// Whether sizes are being measured at this moment.
    pub is_measuring: bool,
    /// Every task that owns anything, in the order in which they were made.
    pub tasks: Vec<TaskStorage>,
    /// Every repository with what its worktrees and seals take.
    pub repositories: Vec<RepositoryStorage>,
    /// The worktrees of this server that were made ahead of time.
    pub idle: Sum,
    /// What is in quarantine on this server.
    pub quarantine: Sum,
    /// What nobody owns on this server.
    pub unowned: Sum,
}

/// Several places together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many there are.
    pub count: u64,
    /// How much room those take that were measured.
    pub room: Room,
    /// When the one was measured whose measurement is the oldest; none when none was.
    pub measured_at: Option<Timestamp>,
    /// How many were not measured yet.
    pub unmeasured: u64,
}

impl Sum {
    fn add(&mut self, measure: Option<&Measure>) {
        let is_first = self.measured_at.is_none();
        self.count += 1;
        let Some(measure) = measure else {
            self.unmeasured += 1;
            return;
        };
        self.room.size_bytes += measure.room.size_bytes;
        self.room.file_count += measure.room.file_count;
        self.room.is_complete = measure.room.is_complete && (is_first || self.room.is_complete);
        let oldest = self.measured_at.map_or(measure.measured_at, |oldest| oldest.min(measure.measured_at));
        self.measured_at = Some(oldest);
    }
}

/// What a task owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStorage {
    /// The task.
    pub task_id: TaskId,
    /// Its title.
    pub title: String,
    /// `open`, `archived` or `deleted`.
    pub state: String,
    /// Where its workspace is; empty when it has none on disk.
    pub workspace_path: String,
    /// The name of another server's machine that has the workspace; empty for this one.
    pub hostname: String,
    /// Whether the workspace is a checkout of a person, which is not measured.
    pub is_persons: bool,
    /// The workspace on disk.
    pub workspace: Sum,
    /// Its worktrees, each with its repository and what it takes.
    pub worktrees: Vec<(RepositoryId, String, Option<Measure>)>,
    /// How many bytes its seals hold.
    pub seal_bytes: u64,
    /// How many seals it has.
    pub seal_count: u64,
    /// How many runs of its scripts are recorded in the database.
    pub script_runs: u64,
    /// How many characters they printed, which the database keeps as long as the task.
    pub script_output: u64,
}

/// What is taken on behalf of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryStorage {
    /// The repository.
    pub id: RepositoryId,
    /// Its name.
    pub name: String,
    /// Its absolute path.
    pub path: String,
    /// The worktrees of tasks and those made ahead of time.
    pub worktrees: Sum,
    /// How many bytes the seals in it hold, as they were sealed.
    pub seal_bytes: u64,
    /// How many seals it holds.
    pub seal_count: u64,
}

/// Everything that rows say of storage.
struct Recorded {
    names: Names,
    tasks: Vec<NamedTask>,
    seals: Vec<SealedRoom>,
    outputs: Vec<(TaskId, u64, u64)>,
    entries: Vec<QuarantineEntry>,
    measures: BTreeMap<(NodeId, String), Measure>,
    hosts: BTreeMap<NodeId, String>,
}

impl Engine {
    /// Tells what takes room, by its owner; measures nothing and changes nothing.
    pub async fn storage(&self) -> Result<StorageReport, EngineError> {
        let unowned = self.unowned_places().await?;
        let recorded = self.recorded_storage().await?;
        let root = self.inner.options.workspaces_root.clone();
        let free = self.blocking("asking for free room", move |_| freehold_git::free_bytes(&root)).await;
        let here = &self.inner.options.node_id;
        let mut report = StorageReport {
            root: self.inner.options.workspaces_root.display().to_string(),
            free_bytes: free.ok(),
            is_measuring: self.inner.measuring.is_running(),
            repositories: repositories_of(&recorded),
            ..StorageReport::default()
        };
        for place in &unowned {
            report.unowned.add(place.measure.as_ref());
        }
        for entry in recorded.entries.iter().filter(|entry| entry.node_id == *here) {
            if matches!(entry.state, QuarantineState::Held | QuarantineState::Restoring) {
                report.quarantine.add(recorded.measure(here, &entry.held_path));
            }
        }
        for idle in &recorded.names.idle {
            let measure = recorded.measure(here, &idle.path);
            report.idle.add(measure);
            let of =
                report.repositories.iter_mut().find(|known| Some(&known.id) == idle.repository_id.as_ref());
            if let Some(repository) = of {
                repository.worktrees.add(measure);
            }
        }
        let tasks = recorded.tasks.iter().filter_map(|task| task_storage(&recorded, task, here));
        report.tasks = tasks.collect();
        for (id, _, measure) in report.tasks.iter().flat_map(|task| &task.worktrees) {
            if let Some(repository) = report.repositories.iter_mut().find(|known| known.id == *id) {
                repository.worktrees.add(measure.as_ref());
            }
        }
        Ok(report)
    }

    async fn recorded_storage(&self) -> Result<Recorded, EngineError> {
        let read = self.inner.store.read(|tx| {
            let measures = store::storage::measures(tx)?.into_iter();
            let nodes = store::node::list(tx)?.into_iter();
            Ok::<_, EngineError>(Recorded {
                names: store::storage::names(tx)?,
                tasks: store::storage::tasks(tx)?,
                seals: store::storage::sealed_room(tx)?,
                outputs: store::storage::script_output(tx)?,
                entries: store::quarantine::list(tx)?,
                measures: measures
                    .map(|found| ((found.node_id.clone(), found.path.clone()), found))
                    .collect(),
                hosts: nodes.map(|node| (node.id, node.hostname)).collect(),
            })
        });
        read.await
    }
}

impl Recorded {
    fn measure(&self, node: &NodeId, path: &str) -> Option<&Measure> {
        self.measures.get(&(node.clone(), path.to_owned()))
    }
}

fn repositories_of(recorded: &Recorded) -> Vec<RepositoryStorage> {
    let of = |repository: &store::storage::NamedRepository| {
        let seals = recorded.seals.iter().filter(|seals| seals.repository_id == repository.id.as_str());
        let (seal_bytes, seal_count) =
            seals.fold((0, 0), |(bytes, count), seals| (bytes + seals.size_bytes, count + seals.count));
        RepositoryStorage {
            id: repository.id.clone(),
            name: repository.name.clone(),
            path: repository.path.clone(),
            worktrees: Sum::default(),
            seal_bytes,
            seal_count,
        }
    };
    recorded.names.repositories.iter().map(of).collect()
}

/// What a task owns; none when it owns nothing.
fn task_storage(recorded: &Recorded, task: &NamedTask, here: &NodeId) -> Option<TaskStorage> {
    let seals = recorded.seals.iter().filter(|seals| seals.task_id == task.id);
    let (seal_bytes, seal_count) =
        seals.fold((0, 0), |(bytes, count), seals| (bytes + seals.size_bytes, count + seals.count));
    let output = recorded.outputs.iter().find(|(id, ..)| *id == task.id);
    let mut storage = TaskStorage {
        task_id: task.id.clone(),
        title: task.title.clone(),
        state: task.state.clone(),
        workspace_path: String::new(),
        hostname: String::new(),
        is_persons: false,
        workspace: Sum::default(),
        worktrees: Vec::new(),
        seal_bytes,
        seal_count,
        script_runs: output.map_or(0, |(_, runs, _)| *runs),
        script_output: output.map_or(0, |(_, _, characters)| *characters),
    };
    let environment = recorded.names.environments.iter().find(|environment| environment.task_id == task.id);
    if let Some(environment) = environment.filter(|environment| is_on_disk(&recorded.names, environment)) {
        let node = environment.node_id.as_ref().unwrap_or(here);
        storage.workspace_path.clone_from(&environment.workspace_path);
        if node != here {
            storage.hostname = recorded.hosts.get(node).cloned().unwrap_or_else(|| node.to_string());
        }
        storage.is_persons = is_persons(environment);
        if !storage.is_persons {
            for path in parts_of(&recorded.names, environment) {
                storage.workspace.add(recorded.measure(node, &path));
            }
            let held = recorded.names.worktrees.iter();
            for worktree in held.filter(|worktree| worktree.task_id == task.id && worktree.is_held) {
                let measure = recorded.measure(node, &worktree.path).cloned();
                storage.worktrees.push((worktree.repository_id.clone(), worktree.path.clone(), measure));
            }
        }
    }
    let owns = !storage.workspace_path.is_empty() || seal_count > 0 || storage.script_runs > 0;
    owns.then_some(storage)
}

/// Whether an environment has anything on disk, as far as its rows say.
pub(crate) fn is_on_disk(names: &Names, environment: &NamedEnvironment) -> bool {
    let has_worktree =
        names.worktrees.iter().any(|worktree| worktree.task_id == environment.task_id && worktree.is_held);
    has_worktree || environment.status != freehold_domain::environment::EnvironmentStatus::Stopped
}

/// Whether an environment is a checkout of a person.
pub(crate) fn is_persons(environment: &NamedEnvironment) -> bool {
    environment.executor_type.parse().is_ok_and(WorkspaceKind::is_kept)
}

/// The places of an environment that are measured each by itself: its worktrees, and the folder around them.
pub(crate) fn parts_of(names: &Names, environment: &NamedEnvironment) -> Vec<String> {
    let held = names.worktrees.iter();
    let held = held.filter(|worktree| worktree.task_id == environment.task_id && worktree.is_held);
    let mut parts: Vec<String> =
        held.map(|worktree| worktree.path.clone()).filter(|path| !path.is_empty()).collect();
    if !environment.workspace_path.is_empty() && !parts.contains(&environment.workspace_path) {
        parts.push(environment.workspace_path.clone());
    }
    parts
}
