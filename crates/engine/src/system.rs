//! The real clock and the real source of ids: the only place that reads the time or makes an id.

use freehold_domain::clock::{Clock, IdSource, Timestamp};

/// Tells the system's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else takes as a value")]
    fn now(&self) -> Timestamp {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Makes random UUIDs.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the source of ids that everything else takes as a value"
    )]
    fn next_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}
