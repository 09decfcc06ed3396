//! Waiting for a condition, with a limit.

use std::time::{Duration, Instant};

use crate::failure::{Exit, Failure};

const LIMIT: Duration = Duration::from_secs(120);
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// Looks until there is something to be seen; `what` completes "waited in vain for …".
pub(crate) fn wait_for<T>(
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        if begun.elapsed() > LIMIT {
            return Err(Failure::new(Exit::Failure, "timeout", format!("waited in vain for {what}")));
        }
        std::thread::sleep(LOOK_PAUSE);
    }
}

/// Fails with a sentence when something is not as it must be.
pub(crate) fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(Exit::Failure, "not_verified", otherwise())) }
}
