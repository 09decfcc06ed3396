//! Measuring: how much room places take, in the background, a bounded piece at a time.
//!
//! A round measures what was not measured for the longest time and ends after a while; the next one goes on. What a
//! round finds without an owner gets the time at which that was first seen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use freehold_domain::clock::Timestamp;
use freehold_domain::storage::{Measure, PlaceKind, QuarantineState, Room};
use freehold_git::{RoomLimits, measure_room};
use freehold_store as store;
use tokio::sync::{Mutex, Notify};

use super::{is_on_disk, is_persons, parts_of};
use crate::{Engine, EngineError};

/// How long after its start a server measures for the first time, so that it is of use first.
const FIRST: Duration = Duration::from_secs(5);
/// How long the pause between two rounds is.
const PAUSE: Duration = Duration::from_secs(120);
/// How old a measurement may become, in milliseconds, before it is repeated.
const FRESH_MS: i64 = 30 * 60 * 1_000;
/// How long a round may take.
const ROUND: Duration = Duration::from_secs(60);
/// How far one place is measured.
const LIMITS: RoomLimits = RoomLimits { entries: 2_000_000, time: Duration::from_secs(30) };

/// What is going on with measuring.
#[derive(Debug, Default)]
pub(crate) struct Measuring {
    wake: Notify,
    is_running: AtomicBool,
    round: Mutex<()>,
}

impl Measuring {
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Relaxed)
    }
}

/// A place that is measured.
#[derive(Debug)]
struct Target {
    skipped: Vec<PathBuf>,
    is_unowned: bool,
}

impl Engine {
    /// Measures again and again, until the server shuts down.
    pub(crate) async fn keep_measuring(self) {
        let mut pause = FIRST;
        loop {
            tokio::select! {
                () = self.inner.shutdown.cancelled() => return,
                () = self.inner.measuring.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause = PAUSE;
            if let Err(error) = self.measure_round(FRESH_MS).await {
                tracing::warn!(%error, "the room of workspaces could not be measured");
            }
        }
    }

    /// Asks for everything to be measured anew, in the background.
    pub fn ask_to_measure(&self) {
        let engine = self.clone();
        self.own(async move {
            if let Err(error) = engine.measure_storage().await {
                tracing::warn!(%error, "the room of workspaces could not be measured");
            }
        });
    }

    /// Measures everything anew, within the limit of a round, and remembers it.
    pub async fn measure_storage(&self) -> Result<(), EngineError> {
        self.measure_round(0).await
    }

    async fn measure_round(&self, fresh_ms: i64) -> Result<(), EngineError> {
        let measuring = &self.inner.measuring;
        let _round = measuring.round.lock().await;
        measuring.is_running.store(true, Ordering::Relaxed);
        let ended = self.measure_due(fresh_ms).await;
        measuring.is_running.store(false, Ordering::Relaxed);
        ended
    }

    async fn measure_due(&self, fresh_ms: i64) -> Result<(), EngineError> {
        let (began, begun_at) = (Instant::now(), self.now());
        let targets = self.measured_places().await?;
        let here = self.inner.options.node_id.clone();
        let read = self.inner.store.read(store::storage::measures);
        let known: BTreeMap<String, Measure> = read
            .await?
            .into_iter()
            .filter(|one| one.node_id == here)
            .map(|one| (one.path.clone(), one))
            .collect();
        for path in known.keys().filter(|path| !targets.contains_key(*path)) {
            let (here, path) = (here.clone(), path.clone());
            self.inner.store.write(move |tx| store::storage::forget(tx, &here, &path)).await?;
        }
        let mut due: Vec<(Option<Timestamp>, String, Target)> = Vec::new();
        for (path, target) in targets {
            let last = known.get(&path);
            let is_told = last.is_some_and(|last| last.unowned_since.is_some() == target.is_unowned);
            let is_fresh = last.is_some_and(|last| begun_at.millis_since(last.measured_at) < fresh_ms);
            if !(is_told && is_fresh) {
                due.push((last.map(|last| last.measured_at), path, target));
            }
        }
        due.sort_by_key(|(last, ..)| *last);
        for (_, path, target) in due {
            if self.inner.shutdown.is_cancelled() || began.elapsed() > ROUND {
                break;
            }
            let since = known.get(&path).and_then(|last| last.unowned_since);
            self.measure_place(path, target, since).await?;
        }
        Ok(())
    }

    async fn measure_place(
        &self,
        path: String,
        target: Target,
        since: Option<Timestamp>,
    ) -> Result<(), EngineError> {
        let (top, skipped) = (PathBuf::from(&path), target.skipped);
        let measured = self.blocking("measuring", move |_| measure_room(&top, &skipped, LIMITS)).await;
        let room = match measured {
            Ok(Some(room)) => {
                Room { size_bytes: room.bytes, file_count: room.entries, is_complete: !room.is_partial }
            }
            Ok(None) if target.is_unowned => Room { is_complete: true, ..Room::default() },
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::debug!(path, %error, "a place could not be measured");
                return Ok(());
            }
        };
        let now = self.now();
        let unowned_since = target.is_unowned.then(|| since.unwrap_or(now));
        let node_id = self.inner.options.node_id.clone();
        let measure = Measure { node_id, path, room, measured_at: now, unowned_since };
        Ok(self.inner.store.write(move |tx| store::storage::remember(tx, &measure)).await?)
    }

    /// Everything on this server's disk that is measured: what tasks own, what waits for a task, what is in
    /// quarantine, and what nobody owns.
    async fn measured_places(&self) -> Result<BTreeMap<String, Target>, EngineError> {
        let unowned = self.unowned_places().await?;
        let here = self.inner.options.node_id.clone();
        let read = self.inner.store.read(move |tx| {
            let entries = store::quarantine::list(tx)?;
            Ok::<_, EngineError>((store::storage::names(tx)?, entries))
        });
        let (names, entries) = read.await?;
        let mut targets = BTreeMap::new();
        let owned = |skipped| Target { skipped, is_unowned: false };
        for environment in &names.environments {
            let is_here = environment.node_id.as_ref().is_none_or(|node| *node == here);
            if is_here && is_on_disk(&names, environment) && !is_persons(environment) {
                let parts = parts_of(&names, environment);
                for path in &parts {
                    let others = parts.iter().filter(|other| *other != path).map(PathBuf::from);
                    targets.insert(path.clone(), owned(others.collect()));
                }
            }
        }
        for idle in names.idle.iter().filter(|idle| !idle.is_left) {
            targets.insert(idle.path.clone(), owned(Vec::new()));
        }
        let is_held = |state| matches!(state, QuarantineState::Held | QuarantineState::Restoring);
        for entry in entries.iter().filter(|entry| entry.node_id == here && is_held(entry.state)) {
            targets.insert(entry.held_path.clone(), owned(Vec::new()));
        }
        for place in unowned.into_iter().filter(|place| place.kind != PlaceKind::File) {
            targets.insert(place.path, Target { skipped: Vec::new(), is_unowned: true });
        }
        Ok(targets)
    }
}
