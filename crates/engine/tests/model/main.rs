//! Random histories of everything that can happen to a task, on real Git and both database engines: operations of
//! all kinds, one server or two, servers that die, and persons who work in and on the workspaces meanwhile.
//!
//! `history` says what may happen, `stage` makes it happen, `ledger` knows what must be true afterwards:
//!
//! - every directory under the managed folders belongs to one open task, to a job that waits, or to a person;
//! - no operation on sessions changes the disk, a ref or a job, but for what an agent does;
//! - every byte of a workspace is in it, in a seal that brings it back, or was given up by name;
//! - main checkouts, and what persons put anywhere, are as they were;
//! - a job is worked on by the server of its node alone, and nothing is left of any operation that ended.
//!
//! `FREEHOLD_MODEL_HISTORIES` sets how many histories each engine gets. A failure prints how to repeat exactly that
//! history: `FREEHOLD_MODEL_SEED`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails and says where")]

mod history;
mod ledger;
mod person;
mod server;
mod stage;

use freehold_testkit::database::TestDatabase;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use history::{Histories, Known, Step};
use stage::Stage;

/// How many histories each engine gets unless `FREEHOLD_MODEL_HISTORIES` says otherwise.
const HISTORIES: u64 = 50;
const STEPS: std::ops::Range<usize> = 3..13;

struct Freehold<const SERVERS: usize>;

impl<const SERVERS: usize> StateMachineTest for Freehold<SERVERS> {
    type SystemUnderTest = Stage;
    type Reference = Histories<SERVERS>;

    fn init_test(_: &Known) -> Stage {
        let database = if SERVERS == 1 { TestDatabase::sqlite() } else { TestDatabase::postgres() };
        Stage::new(database, SERVERS)
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

/// Runs histories one after the other, each from a seed of its own, so that one can be repeated alone.
fn run_histories<const SERVERS: usize>(test: &str) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = variable("FREEHOLD_MODEL_HISTORIES").unwrap_or(HISTORIES);
    let seeds = match variable("FREEHOLD_MODEL_SEED") {
        Some(only) => only..only + 1,
        None => {
            let first = variable("FREEHOLD_MODEL_FIRST_SEED").unwrap_or(1);
            first..first + count
        }
    };
    let shrinks = variable("FREEHOLD_MODEL_SHRINKS").and_then(|number| u32::try_from(number).ok());
    for seed in seeds {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config {
            cases: 1,
            max_shrink_iters: shrinks.unwrap_or(30),
            failure_persistence: None::<Box<FileFailurePersistence>>.map(|it| it as _),
            ..Config::default()
        };
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config.clone(), random);
        let histories = Histories::<SERVERS>::sequential_strategy(STEPS);
        let outcome = runner.run(&histories, |(known, steps, seen)| {
            Freehold::<SERVERS>::test_sequential(config.clone(), known, steps, seen);
            Ok(())
        });
        if let Err(failure) = outcome {
            panic!(
                "{failure}\nrepeat this history:\n  FREEHOLD_MODEL_SEED={seed} cargo test -p freehold-engine \
                 --test model {test}\n"
            );
        }
    }
}
