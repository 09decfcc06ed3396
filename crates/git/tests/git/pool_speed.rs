//! How long taking an idle worktree takes beside a plain `git worktree add` of the same repository. Run with
//! `cargo test --release -p freehold-git --test git pool_speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use freehold_git::IdleUse;
use freehold_testkit::repo::TempRepo;

use crate::pool_bench::{make_fresh, prepare, take};
use crate::world::World;

const ROUNDS: usize = 7;

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints a measurement as `xtask bench worktrees` reads it: what, target, times of both sides.
#[expect(clippy::print_stdout, reason = "a measurement is read from the output")]
pub(crate) fn report(what: &str, target: f64, ours: Vec<Duration>, reference: Vec<Duration>) {
    let (ours, reference) = (middle(ours).as_micros(), middle(reference).as_micros());
    println!("measured\t{what}\t{target}\t{ours}\t{reference}");
}

#[test]
#[ignore = "a measurement"]
fn taking_beside_a_plain_worktree_add() {
    let world = World::of(TempRepo::with_files(12_000));
    let [mut plain, mut taken, mut moved_on] = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        let name = format!("round-{round}");
        let started = Instant::now();
        make_fresh(&world, &name, &world.head());
        plain.push(started.elapsed());
        for (times, changes) in [(&mut taken, 0), (&mut moved_on, 100)] {
            let idle = prepare(&world, &format!("{name}-{changes}"), &world.head());
            for number in 0..changes {
                world.repo.write(&format!("folder-{number:04}/new-{round}.txt"), "new\n");
            }
            world.repo.commit("More");
            let mut plan = world.plan(&format!("{name}-{changes}"));
            if changes == 0 {
                plan.start = idle.identity.head.clone();
            }
            let started = Instant::now();
            let used = take(&world, &idle, &plan);
            times.push(started.elapsed());
            assert!(matches!(used, IdleUse::Taken(_)), "{used:?}");
        }
    }
    report("idle worktree taken, 12000 files, ÷ plain `git worktree add`", 0.05, taken, plain.clone());
    report("the same, brought 100 files along, ÷ plain `git worktree add`", 1.0, moved_on, plain);
}
