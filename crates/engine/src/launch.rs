//! Launching: brings a task from "start was asked for" to "its first session works", in the background.
//!
//! The wish is stored (`start_requested`), so a launch that a crash cut short begins again at the next start.
//! At most one launch per task runs in a server.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use freehold_domain::event::EventBody;
use freehold_domain::id::TaskId;
use freehold_domain::task::TaskState;
use freehold_store as store;

use crate::session::NewSession;
use crate::{Engine, EngineError};

/// The tasks that are being launched now, and the turns of those whose workspace is being made.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    running: Mutex<HashSet<TaskId>>,
    turns: Mutex<HashMap<TaskId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Launches {
    fn begin(&self, id: &TaskId) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone())
    }

    fn end(&self, id: &TaskId) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Waits for the turn of a task; nobody else has it until the guard is dropped.
    pub(crate) async fn one_at_a_time(&self, id: &TaskId) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry(id.clone()).or_default().clone()
        };
        turn.lock_owned().await
    }
}

impl Engine {
    /// Launches a task in the background, unless it is being launched already.
    pub(crate) fn launch(&self, task_id: TaskId) {
        if !self.inner.launches.begin(&task_id) {
            return;
        }
        let engine = self.clone();
        self.own(async move {
            let outcome = engine.try_launch(&task_id).await;
            engine.inner.launches.end(&task_id);
            if let Err(error) = outcome {
                engine.record_launch_failure(task_id, error).await;
            }
        });
    }

    /// Goes on with the tasks whose launch an earlier server did not finish.
    pub(crate) async fn launch_waiting_tasks(&self) -> Result<(), EngineError> {
        let node = self.inner.options.node_id.clone();
        let read = self.inner.store.read(move |tx| store::task::ids_with_start_requested(tx, &node));
        for task_id in read.await? {
            self.launch(task_id);
        }
        Ok(())
    }

    async fn try_launch(&self, task_id: &TaskId) -> Result<(), EngineError> {
        self.require_environment(task_id).await?;
        self.run_waiting_setups(task_id).await?;
        crate::failpoint!("engine.launch.ready");
        let id = task_id.clone();
        let read = self.inner.store.read(move |tx| {
            Ok::<_, EngineError>((store::task::require(tx, &id)?, store::session::list_by_task(tx, &id)?))
        });
        let (task, sessions) = read.await?;
        if !sessions.is_empty() {
            return self.forget_start_request(task_id.clone()).await;
        }
        let prompt = Some(task.prompt).filter(|prompt| !prompt.trim().is_empty());
        self.create_session(task_id.clone(), NewSession { agent_profile_id: None, prompt }).await.map(drop)
    }

    async fn forget_start_request(&self, task_id: TaskId) -> Result<(), EngineError> {
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            store::task::set_start_requested(tx, &task_id, false, now)?;
            store::task::update_state(tx, &task_id, TaskState::Review, "", now)?;
            tx.emit(EventBody::TaskChanged { task_id }, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    /// A launch that the shutdown cut short keeps its wish; any other failure is shown on the task.
    async fn record_launch_failure(&self, task_id: TaskId, error: EngineError) {
        if matches!(error, EngineError::ShuttingDown) || self.inner.shutdown.is_cancelled() {
            return;
        }
        tracing::warn!(%task_id, %error, "the task could not be launched");
        let now = self.now();
        let id = task_id.clone();
        let message = match error.hint() {
            hint if hint.is_empty() => error.to_string(),
            hint => format!("{error}; {hint}"),
        };
        let write = self.inner.store.write(move |tx| {
            store::task::set_start_requested(tx, &id, false, now)?;
            store::task::update_state(tx, &id, TaskState::Failed, &message, now)?;
            tx.emit(EventBody::TaskChanged { task_id: id }, now);
            Ok::<_, EngineError>(())
        });
        if let Err(error) = write.await {
            tracing::error!(%task_id, %error, "the failure of a launch could not be stored");
        }
    }
}
