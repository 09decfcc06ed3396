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
    let [plain, taken, moved_on] = [plain, taken, moved_on].map(middle);
    let ratio = |time: Duration| time.as_secs_f64() / plain.as_secs_f64();
    println!("git worktree add {plain:?}");
    println!("taken {taken:?}: {:.3}", ratio(taken));
    println!("taken, 100 files brought along {moved_on:?}: {:.3}", ratio(moved_on));
}
