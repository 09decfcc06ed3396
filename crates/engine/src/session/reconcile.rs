//! After a crash: every session that was live on this node is proven gone, its processes are ended, and it is
//! marked as interrupted. Its conversation stays, and a prompt starts its agent again.

use freehold_domain::agent::Execution;
use freehold_domain::id::MessageId;
use freehold_domain::message::{Author, Message, MessageKind};
use freehold_domain::session::Session;
use freehold_store as store;
use freehold_store::StoreError;

use super::record;
use super::turn::{self, TurnEvent};
use crate::{Engine, EngineError};

/// Ends what agents of an earlier server of this node left behind, and marks their sessions as interrupted.
pub(crate) async fn interrupt_orphaned_sessions(engine: &Engine) -> Result<(), EngineError> {
    let here = engine.inner.options.node_id.clone();
    let read = engine.inner.store.read(move |tx| {
        let mut live = Vec::new();
        for session in store::session::list_live(tx)? {
            // Whose workspace is on another server, that one looks after.
            if store::node::of_task(tx, &session.task_id)?.is_none_or(|node| node == here) {
                live.push(session);
            }
        }
        Ok::<_, StoreError>((store::agent::list_executions(tx)?, live))
    });
    let (executions, live) = read.await?;
    let node = &engine.inner.options.node_id;
    let (own, foreign): (Vec<Execution>, Vec<Execution>) =
        executions.into_iter().partition(|execution| execution.node_id == *node);
    for execution in &own {
        end_processes(engine, execution).await;
    }
    for session in live {
        if foreign.iter().all(|execution| execution.session_id != session.id) {
            interrupt(engine, session).await?;
        }
    }
    Ok(())
}

async fn end_processes(engine: &Engine, execution: &Execution) {
    let mut all_ended = true;
    if let Some(process) = &execution.process {
        let process = freehold_agent::ProcessIdentity {
            pid: process.pid,
            start_ticks: process.start_ticks,
            boot_id: process.boot_id.clone(),
        };
        all_ended = freehold_agent::end_group(&process, engine.inner.options.agent_stop_grace_ms).await;
    }
    all_ended &= freehold_agent::end_execution(execution.id.as_str()).await;
    if !all_ended {
        tracing::error!(session_id = %execution.session_id, "processes of an earlier agent could not be ended");
    }
}

async fn interrupt(engine: &Engine, session: Session) -> Result<(), EngineError> {
    let now = engine.now();
    let message_id = MessageId::generate(engine.ids());
    let write = engine.inner.store.write(move |tx| {
        turn::lock(tx, &session.id)?;
        let open = store::message::open_turns_of(tx, &session.id)?;
        if let Some(turn) = open.last() {
            let note = Message {
                id: message_id,
                session_id: session.id.clone(),
                task_id: session.task_id.clone(),
                turn_id: turn.id.clone(),
                ordinal: 0,
                author: Author::System,
                kind: MessageKind::Status,
                content: "The server stopped during this turn. Send a prompt to go on.".into(),
                metadata: serde_json::json!({ "code": "interrupted" }),
                created_at: now,
                updated_at: now,
            };
            record::add(tx, &note)?;
        }
        for turn in open {
            store::message::finish_turn(tx, &turn.id, now, "interrupted")?;
        }
        record::expire_permissions(tx, &session.id, now)?;
        store::agent::delete_by_session(tx, &session.id)?;
        turn::advance(tx, &session.id, TurnEvent::Interrupted, now)
    });
    Ok(write.await?)
}
