//! Scratch folders: the workspace of a task without a repository.
//!
//! The folder is made under the name that the journal holds. It goes only when it is empty; what is in it is known to
//! nobody else.

use std::path::{Path, PathBuf};

use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::TaskId;

use crate::{Engine, EngineError};

impl Engine {
    /// Makes the folder; it may not exist.
    pub(super) async fn make_scratch(&self, task_dir_name: &str) -> Result<(), EngineError> {
        let path: PathBuf = self.inner.options.workspaces_root.join(task_dir_name);
        self.blocking("making a scratch folder", move |_| make(&path)).await
    }

    /// Makes the folder of a task that comes back; it was empty when it went.
    pub(super) async fn make_scratch_again(&self, task_id: &TaskId) -> Result<(), EngineError> {
        let Some((environment, _)) = self.environment_of(task_id.clone()).await? else { return Ok(()) };
        let is_there = Path::new(&environment.workspace_path).is_dir();
        if environment.kind() == Some(WorkspaceKind::Scratch) && !is_there {
            self.make_scratch(&environment.task_dir_name).await?;
        }
        Ok(())
    }
}

fn make(path: &Path) -> Result<(), EngineError> {
    std::fs::create_dir(path).map_err(|source| EngineError::Folder {
        operation: "making the scratch folder",
        path: path.display().to_string(),
        source,
    })
}
