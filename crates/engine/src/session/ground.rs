//! What an agent stands on, and what it must leave alone.
//!
//! Terms: the *ground* of a session is the directory in which its agent was started, told by device and inode: a
//! directory of the same name is another ground. An agent whose ground is gone works anywhere else, so it is ended.
//!
//! Nothing keeps an agent from writing to the main checkout by an absolute path, where its changes belong to no task
//! and are in no seal. So main checkouts are looked at before and after each turn, and what changed there meanwhile
//! is said in the conversation. It may have been a person; nothing is undone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::TaskId;
use freehold_domain::session::Session;
use freehold_store as store;
use freehold_store::StoreError;

use crate::{Engine, EngineError};

/// How long a look at the main checkouts may take; a repository that is too large for it is not watched.
const LOOK_LIMIT: Duration = Duration::from_secs(5);
/// How many files a warning names.
const NAMED: usize = 10;

/// The ground of a running session.
pub(super) struct Ground {
    engine: Engine,
    task_id: TaskId,
    directory: PathBuf,
    /// Device and inode; none when the directory was gone at once.
    identity: Option<(u64, u64)>,
    main_checkouts: Vec<PathBuf>,
}

/// What a main checkout was at a moment: HEAD, and each file that differs from it with its size and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    head: String,
    files: BTreeMap<String, Option<(u64, i64, i64)>>,
}

impl Ground {
    /// Finds the ground of a session that is being started in the directory.
    pub(super) async fn of(
        engine: &Engine,
        session: &Session,
        directory: &Path,
    ) -> Result<Self, EngineError> {
        let id = session.task_id.clone();
        let read = engine.inner.store.read(move |tx| {
            let Some(environment) = store::environment::find_visited(tx, &id)? else { return Ok(Vec::new()) };
            if !matches!(environment.kind(), Some(WorkspaceKind::Worktree) | None) {
                return Ok(Vec::new());
            }
            let mut places = Vec::new();
            for repo in store::environment::repos_of(tx, &environment.id)? {
                let repository = store::repository::find(tx, &repo.repository_id)?;
                places.extend(repository.map(|repository| PathBuf::from(repository.local_path)));
            }
            places.dedup();
            Ok::<_, StoreError>(places)
        });
        Ok(Self {
            engine: engine.clone(),
            task_id: session.task_id.clone(),
            directory: directory.to_owned(),
            identity: identity(directory),
            main_checkouts: read.await?,
        })
    }

    /// Whether the directory is still the one in which the agent was started.
    pub(super) fn is_there(&self) -> bool {
        self.identity.is_some() && identity(&self.directory) == self.identity
    }

    /// Why a session ends whose ground is gone.
    pub(super) fn missing(&self) -> String {
        let (task_id, path) = (self.task_id.clone(), self.directory.display().to_string());
        let missing = EngineError::WorkspaceMissing { task_id, path };
        format!("The agent was ended, as its workspace is not there any more: {missing}")
    }

    /// Looks at the main checkouts; none for one that cannot be looked at in time.
    pub(super) async fn look(&self) -> Vec<Option<Seen>> {
        let mut all = Vec::new();
        for path in self.main_checkouts.clone() {
            let looked = self.engine.blocking("looking at a main checkout", move |git| {
                git.status(&path).map(|status| seen(&path, status))
            });
            all.push(tokio::time::timeout(LOOK_LIMIT, looked).await.ok().and_then(Result::ok));
        }
        all
    }

    /// Says what changed in the main checkouts since a look; none when nothing did.
    pub(super) async fn changed_since(&self, before: Vec<Option<Seen>>) -> Option<String> {
        let now = self.look().await;
        let pairs = before.into_iter().zip(now).zip(&self.main_checkouts);
        let told: Vec<String> = pairs
            .filter_map(|((before, now), path)| Some((before?, now?, path)))
            .filter(|(before, now, _)| before != now)
            .map(|(before, now, path)| {
                format!("{} in the main checkout {}", differences(&before, &now), path.display())
            })
            .collect();
        (!told.is_empty()).then(|| {
            format!(
                "While the agent worked, something changed outside of its workspace: {}. What is there belongs to no \
                 task and is in no seal; look at it if it was not you.",
                told.join("; ")
            )
        })
    }
}

fn identity(directory: &Path) -> Option<(u64, u64)> {
    let metadata = directory.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((metadata.dev(), metadata.ino()))
}

fn seen(top: &Path, status: freehold_git::WorktreeStatus) -> Seen {
    let files = [status.staged, status.unstaged, status.untracked, status.unmerged].into_iter().flatten();
    let mark = |file: &String| {
        let metadata = top.join(file).symlink_metadata().ok()?;
        Some((metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
    };
    let files = files.map(|file| (file.clone(), mark(&file))).collect();
    Seen { head: format!("{:?}", status.head), files }
}

fn differences(before: &Seen, now: &Seen) -> String {
    let all = before.files.keys().chain(now.files.keys());
    let mut changed: Vec<&str> =
        all.filter(|file| before.files.get(*file) != now.files.get(*file)).map(String::as_str).collect();
    changed.sort_unstable();
    changed.dedup();
    let more = changed.len().saturating_sub(NAMED);
    changed.truncate(NAMED);
    let mut told = changed.join(", ");
    if more > 0 {
        told.push_str(&format!(" and {more} more files"));
    }
    match (told.is_empty(), before.head == now.head) {
        (true, _) => "what is checked out".into(),
        (false, true) => told,
        (false, false) => format!("what is checked out, and {told}"),
    }
}
