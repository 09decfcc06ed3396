//! Makes the database usable before anything else starts, and tells how far it has come.

use std::io::IsTerminal as _;
use std::sync::Mutex;

use freehold_domain::clock::Clock as _;
use freehold_engine::system::SystemClock;
use freehold_store::upgrade::{self, Initialise, Initialised, Progress, Resolutions};
use freehold_store::{DatabaseUrl, Engine, StoreError};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// Makes the schema, or upgrades an old database when that is allowed; blocking.
pub(crate) fn initialise(
    database: &DatabaseUrl,
    may_upgrade: bool,
    resolutions: Resolutions,
    output: Output,
) -> Result<Initialised, StoreError> {
    let teller = Teller { output, bar: Mutex::new(None) };
    let progress = |progress| teller.tell(&progress);
    let request = Initialise { may_upgrade, resolutions, now: SystemClock.now(), progress: &progress };
    upgrade::initialise(database, &request)
}

/// Tells a person on standard error; a terminal also gets a bar.
struct Teller {
    output: Output,
    bar: Mutex<Option<ProgressBar>>,
}

impl Teller {
    fn tell(&self, progress: &Progress) {
        match progress {
            Progress::Begin { shape, engine } => {
                if self.output.is_json() {
                    tracing::warn!(
                        ?engine,
                        "an older database is upgraded; of PostgreSQL no snapshot is made"
                    );
                }
                self.output.note(&format!("This is {}. It is upgraded now.", shape.describe()));
                if *engine == Engine::Postgres {
                    self.output.note(
                        "PostgreSQL: Freehold makes no backup of it. Interrupt now unless you have one (pg_dump).",
                    );
                }
            }
            Progress::Snapshot => self.output.note("Making a snapshot of the database as it is …"),
            Progress::SnapshotTaken(path) => self.output.note(&format!("Snapshot: {}", path.display())),
            Progress::Lock => {}
            Progress::Ownership => self.output.note("Giving every worktree its owner …"),
            Progress::Conversations { done, of } => self.advance(*done, *of),
            Progress::Indexes => self.output.note("Making indexes …"),
            Progress::Finish => self.output.note("Checking everything …"),
        }
    }

    fn advance(&self, done: usize, of: usize) {
        if self.output.is_json() || !std::io::stderr().is_terminal() || of == 0 {
            return;
        }
        let mut bar = self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let bar = bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos} of {len} conversations, {eta} left");
            ProgressBar::new(of as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(done as u64);
        if done == of {
            bar.finish_and_clear();
        }
    }
}
