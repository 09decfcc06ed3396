//! What takes room, what nobody owns, and the quarantine.

mod artefacts;
mod automation;
mod quarantine;
mod unowned;

use std::path::{Path, PathBuf};

use freehold_domain::cleanup::CleanupState;
use freehold_domain::storage::{QuarantineEntry, QuarantineState};
use freehold_engine::storage::quarantine::QuarantineRequest;
use freehold_engine::storage::{StorageRefusal, UnownedPlace};
use freehold_engine::{Engine, EngineError};
use freehold_testkit::repo::write_file;

use crate::harness::{World, wait_for_job};

/// A worktree under the root of the workspaces that no row names, with work of every kind in it.
pub(crate) fn stray(world: &World, name: &str) -> PathBuf {
    let path = world.root().join(name).join("repo");
    world.repo.git(&["worktree", "add", "-q", "-b", &format!("stray/{name}"), &path.display().to_string()]);
    write_file(&path.join("src/lib.rs"), "changed and not committed\n");
    write_file(&path.join("src/staged.rs"), "staged\n");
    world.repo.git_in(&path, &["add", "src/staged.rs"]);
    write_file(&path.join("notes/untracked.md"), "untracked\n");
    path
}

/// What the list says of a path; the path must be on it.
async fn listed(engine: &Engine, path: &Path) -> UnownedPlace {
    let places = engine.unowned_places().await.unwrap();
    let found = places.iter().find(|place| Path::new(&place.path) == path);
    found.unwrap_or_else(|| panic!("{} is not among {places:#?}", path.display())).clone()
}

pub(crate) fn request(path: &Path) -> QuarantineRequest {
    QuarantineRequest {
        path: path.display().to_string(),
        confirm: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        requested_by: "a test".into(),
    }
}

/// Puts a path into quarantine, and waits until it is there.
async fn put(engine: &Engine, path: &Path) -> QuarantineEntry {
    let entry = engine.quarantine(request(path)).await.unwrap().entry;
    let job = engine.cleanup_job(entry.job_id.clone()).await.unwrap();
    let job = wait_for_job(engine, &job).await;
    assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
    let entry = engine.quarantine_entry(entry.id).await.unwrap().entry;
    assert_eq!(entry.state, QuarantineState::Held);
    entry
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, EngineError>) -> StorageRefusal {
    match outcome {
        Err(EngineError::Quarantine(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}
