//! Random histories of everything that can happen to a task, on real Git and both database engines: operations of
//! all kinds, one server or two, servers that die at failpoints and at any other moment, and persons who work in and
//! on the workspaces meanwhile.
//!
//! `history` says what may happen, `stage` makes it happen, `doom` lets servers die, `ledger` knows what must be true afterwards:
//!
//! - every directory under the managed folders belongs to one open task, to the idle pool, to a job that waits, or to
//!   a person;
//! - no operation on sessions changes the disk, a ref or a job, but for what an agent does;
//! - every byte of a workspace is in it, in a seal that brings it back, or was given up by name;
//! - main checkouts, and what persons put anywhere, are as they were;
//! - a job is worked on by the server of its node alone, and nothing is left of any operation that ended.
//!
//! `FREEHOLD_MODEL_HISTORIES` sets how many histories each engine gets, `FREEHOLD_MODEL_AT_ONCE` how many of them run
//! at once. A failure prints how to repeat exactly that
//! history: `FREEHOLD_MODEL_SEED`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails and says where")]
#![expect(clippy::print_stdout, reason = "a long run says where its servers died")]

mod doom;
mod history;
mod ledger;
mod person;
mod server;
mod stage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use freehold_testkit::database::TestDatabase;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use history::{Histories, Known, Step};
use stage::Stage;

/// How many histories each engine gets unless `FREEHOLD_MODEL_HISTORIES` says otherwise.
const HISTORIES: u64 = 50;
/// How many of them run at once unless `FREEHOLD_MODEL_AT_ONCE` says otherwise.
const AT_ONCE: u64 = 2;
const STEPS: std::ops::Range<usize> = 3..13;

thread_local! {
    /// One database for all histories of a thread: making and dropping one costs more than a short history.
    static POSTGRES: TestDatabase = TestDatabase::postgres();
}

struct Freehold<const SERVERS: usize>;

impl<const SERVERS: usize> StateMachineTest for Freehold<SERVERS> {
    type SystemUnderTest = Stage;
    type Reference = Histories<SERVERS>;

    fn init_test(known: &Known) -> Stage {
        if SERVERS == 1 {
            return Stage::new(None, SERVERS, known.has_pool);
        }
        POSTGRES.with(|database| {
            database.empty(&["freehold_meta", "event_sequence"]);
            Stage::new(Some(database), SERVERS, known.has_pool)
        })
    }

    fn apply(mut stage: Stage, _: &Known, step: Step) -> Stage {
        stage.take(&step);
        stage
    }

    fn teardown(mut stage: Stage, _: Known) {
        stage.bring_everything_back();
    }
}

#[test]
fn nothing_is_lost_in_any_history_of_one_server_on_sqlite() {
    run_histories::<1>("nothing_is_lost_in_any_history_of_one_server_on_sqlite");
}

#[test]
fn nothing_is_lost_in_any_history_of_two_servers_on_postgresql() {
    run_histories::<2>("nothing_is_lost_in_any_history_of_two_servers_on_postgresql");
}

/// Runs histories, a few at once as most of each is waiting. Each has a seed of its own, so that one can be repeated
/// alone.
fn run_histories<const SERVERS: usize>(test: &str) {
    let count = variable("FREEHOLD_MODEL_HISTORIES").unwrap_or(HISTORIES);
    let seeds = match variable("FREEHOLD_MODEL_SEED") {
        Some(only) => only..only + 1,
        None => {
            let first = variable("FREEHOLD_MODEL_FIRST_SEED").unwrap_or(1);
            first..first + count
        }
    };
    let (next, failure) = (AtomicU64::new(seeds.start), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..variable("FREEHOLD_MODEL_AT_ONCE").unwrap_or(AT_ONCE).min(count) {
            scope.spawn(|| {
                while failure.lock().unwrap().is_none() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if !seeds.contains(&seed) {
                        return;
                    }
                    if let Err(error) = run_history::<SERVERS>(seed) {
                        failure.lock().unwrap().get_or_insert((seed, error));
                    }
                }
            });
        }
    });
    if let Some((seed, error)) = failure.into_inner().unwrap() {
        panic!(
            "{error}\nrepeat this history:\n  FREEHOLD_MODEL_SEED={seed} cargo test -p freehold-engine --test model \
             {test}\n"
        );
    }
    println!("{test}: {}", doom::tally());
}

fn run_history<const SERVERS: usize>(seed: u64) -> Result<(), String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let shrinks = variable("FREEHOLD_MODEL_SHRINKS").and_then(|number| u32::try_from(number).ok());
    let config = Config {
        cases: 1,
        max_shrink_iters: shrinks.unwrap_or(30),
        failure_persistence: None::<Box<FileFailurePersistence>>.map(|it| it as _),
        ..Config::default()
    };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config.clone(), random);
    let histories = Histories::<SERVERS>::sequential_strategy(STEPS);
    let run = || {
        runner.run(&histories, |(known, steps, seen)| {
            Freehold::<SERVERS>::test_sequential(config.clone(), known, steps, seen);
            Ok(())
        })
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => outcome.map_err(|failure| failure.to_string()),
        Err(_) => Err("a history failed, and no shorter one was looked for".into()),
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
