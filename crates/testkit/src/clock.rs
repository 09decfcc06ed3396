//! A clock that stands until it is moved, and ids that count.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use freehold_domain::clock::{Clock, IdSource, Timestamp};

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    micros: AtomicI64,
}

impl ManualClock {
    /// Makes a clock that shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { micros: AtomicI64::new(now.as_micros()) }
    }

    /// Moves the clock forward.
    pub fn advance_ms(&self, millis: i64) {
        self.micros.fetch_add(millis.saturating_mul(1_000), Ordering::SeqCst);
    }

    /// Makes the clock show `now`.
    pub fn set(&self, now: Timestamp) {
        self.micros.store(now.as_micros(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// Makes a clock that shows 2026-11-30T08:15:00Z.
    fn default() -> Self {
        Self::new(Timestamp::from_micros(1_796_026_500_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

/// Ids in the shape of UUIDs that count from 1.
#[derive(Debug, Default)]
pub struct SequentialIds {
    last: AtomicU64,
}

impl IdSource for SequentialIds {
    fn next_id(&self) -> String {
        let number = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        format!("00000000-0000-4000-8000-{number:012x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_until_it_is_moved() {
        let clock = ManualClock::default();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance_ms(1_500);
        assert_eq!(clock.now().millis_since(start), 1_500);
        clock.set(start);
        assert_eq!(clock.now(), start);
    }

    #[test]
    fn ids_count_from_one() {
        let ids = SequentialIds::default();
        assert_eq!(ids.next_id(), "00000000-0000-4000-8000-000000000001");
        assert_eq!(ids.next_id(), "00000000-0000-4000-8000-000000000002");
    }
}
