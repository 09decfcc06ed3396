//! What operators measure: counters of what happened, and gauges of what stands, for any recorder that the program
//! installed.

use std::time::Duration;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_store as store;
use freehold_store::cleanup::CleanupOutcome;
use metrics::{counter, gauge, histogram};

use crate::{Engine, EngineError};

/// The states in which jobs stand; every one is told, also when no job is in it.
const OPEN_STATES: [CleanupState; 5] = [
    CleanupState::Prepared,
    CleanupState::Pending,
    CleanupState::Running,
    CleanupState::RetryWait,
    CleanupState::NeedsDecision,
];

/// Counts an attempt of a cleanup job and its time.
pub(crate) fn attempt_ended(trigger: CleanupTrigger, outcome: &CleanupOutcome, took: Duration) {
    let outcome = outcome.state().as_str();
    counter!("freehold_cleanup_attempts_total", "trigger" => trigger.as_str(), "outcome" => outcome)
        .increment(1);
    histogram!("freehold_cleanup_attempt_seconds", "trigger" => trigger.as_str()).record(took.as_secs_f64());
}

impl Engine {
    /// Brings the gauges up to date: cleanup jobs by state, and how long the oldest open one has been there.
    pub async fn update_gauges(&self) -> Result<(), EngineError> {
        let now = self.now();
        let jobs = self.inner.store.read(|tx| store::cleanup::list(tx, None, None)).await?;
        for state in OPEN_STATES {
            let count = jobs.iter().filter(|job| job.state == state).count();
            gauge!("freehold_cleanup_jobs", "state" => state.as_str())
                .set(u32::try_from(count).unwrap_or(u32::MAX));
        }
        let open = jobs.iter().filter(|job| OPEN_STATES.contains(&job.state));
        let oldest = open.map(|job| now.millis_since(job.created_at).max(0)).max();
        let seconds = Duration::from_millis(oldest.unwrap_or(0).unsigned_abs()).as_secs_f64();
        gauge!("freehold_cleanup_oldest_open_job_seconds").set(seconds);
        Ok(())
    }
}
