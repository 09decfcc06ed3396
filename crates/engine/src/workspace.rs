//! Workspaces with their boards, and what the server tells about itself.

mod deletion;

use freehold_domain::id::WorkspaceId;
use freehold_domain::workflow::{Step, Workflow, Workspace};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

pub use self::deletion::{DeleteWorkflow, DeleteWorkspace, WorkspaceReport};
pub(crate) use self::deletion::{bring_back, mark_deleted};
use crate::{Engine, EngineError};

/// A workspace with its boards and their columns, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceView {
    /// The workspace.
    pub workspace: Workspace,
    /// Its boards, each with its columns from the left.
    pub workflows: Vec<(Workflow, Vec<Step>)>,
}

/// What the server tells about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// `sqlite` or `postgresql`.
    pub database: &'static str,
    /// The absolute path under which task workspaces are made.
    pub workspaces_root: String,
    /// The version of the Git program.
    pub git_version: String,
    /// The newest event.
    pub last_event: i64,
}

impl Engine {
    /// Lists the workspaces with their boards.
    pub async fn workspaces(&self) -> Result<Vec<WorkspaceView>, EngineError> {
        let views = self.inner.store.read(|tx| {
            let mut views = Vec::new();
            for workspace in store::workspace::list(tx)? {
                let mut workflows = Vec::new();
                for workflow in store::workflow::list_workflows(tx, &workspace.id)? {
                    let steps = store::workflow::list_steps(tx, &workflow.id)?;
                    workflows.push((workflow, steps));
                }
                views.push(WorkspaceView { workspace, workflows });
            }
            Ok::<_, StoreError>(views)
        });
        Ok(views.await?)
    }

    /// Tells about the server.
    #[must_use]
    pub fn facts(&self) -> ServerFacts {
        ServerFacts {
            database: match self.inner.store.engine() {
                store::Engine::Sqlite => "sqlite",
                store::Engine::Postgres => "postgresql",
            },
            workspaces_root: self.inner.options.workspaces_root.display().to_string(),
            git_version: self.inner.git.version().to_owned(),
            last_event: *self.inner.store.last_event().borrow(),
        }
    }
}

/// Finds the named workspace, or the first when none is named.
pub(crate) fn require_or_first(tx: &mut Tx<'_>, id: Option<&WorkspaceId>) -> Result<Workspace, EngineError> {
    let (found, name) = match id {
        Some(id) => (store::workspace::find(tx, id)?, id.to_string()),
        None => (store::workspace::list(tx)?.into_iter().next(), "(there is none at all)".into()),
    };
    found.ok_or(EngineError::NotFound { noun: "workspace", id: name })
}

/// As [`require_or_first`], also for a deleted workspace whose tasks are in the trash.
pub(crate) fn require_also_deleted(
    tx: &mut Tx<'_>,
    id: Option<&WorkspaceId>,
) -> Result<Workspace, EngineError> {
    match id {
        Some(id) => {
            let found = store::workspace::find_deleted(tx, id)?;
            found.ok_or_else(|| EngineError::NotFound { noun: "workspace", id: id.to_string() })
        }
        None => require_or_first(tx, None),
    }
}

/// Makes the first workspace, board and profiles of a fresh database, and records this node.
pub(crate) async fn ensure_default(engine: &Engine) -> Result<(), EngineError> {
    let (ids, now, options) = (engine.inner.ids.clone(), engine.now(), engine.inner.options.clone());
    let write = engine.inner.store.write(move |tx| {
        store::node::upsert(tx, &options.node_id, &options.hostname, now)?;
        store::workspace::ensure_default(tx, ids.as_ref(), now).map(drop)
    });
    Ok(write.await?)
}
