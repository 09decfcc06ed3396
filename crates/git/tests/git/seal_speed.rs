//! How long sealing and restoring take beside Git's own stash, on the same tree. Run with
//! `cargo test --release -p freehold-git --test git seal_speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use freehold_git::{GroundUse, Remover};
use freehold_testkit::repo::TempRepo;

use crate::pool_bench::{idle_target, prepare};
use crate::pool_speed::report;
use crate::seal_bench::SealBench;
use crate::world::World;

/// How often each is measured; the middle one counts.
const ROUNDS: usize = 7;

fn timed(mut work: impl FnMut()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn make_dirty(bench: &SealBench) {
    for number in 0..200 {
        bench.write(&format!("folder-{:04}/file-{:06}.txt", number % 10, number % 10 * 100), "changed\n");
        bench.write(&format!("new/{}/{number}.txt", number % 10), format!("new {number}\n"));
    }
}

#[test]
#[ignore = "a measurement"]
fn sealing_and_restoring_beside_a_stash() {
    for count in [1_000, 10_000] {
        let bench = SealBench::of(World::of(TempRepo::with_files(count)));
        let remover = Remover::new(bench.world.git.clone());
        let [mut stash, mut pop, mut seal, mut add, mut restore, mut ground] = [const { Vec::new() }; 6];
        for round in 0..ROUNDS {
            make_dirty(&bench);
            std::thread::sleep(Duration::from_millis(50));
            let id = format!("round-{round}");
            let request = freehold_git::SealRequest { id: id.clone(), ..bench.request() };
            seal.push(timed(|| _ = bench.world.git.seal(&request).unwrap()));
            stash.push(timed(|| _ = bench.git(&["stash", "--quiet", "-u"])));
            pop.push(timed(|| _ = bench.git(&["stash", "pop", "--quiet"])));
            bench.git(&["stash", "--quiet", "-u"]);
            bench.detach_directory();
            // What a stash needs in order to come back: a worktree with its files.
            let path = bench.path.to_str().unwrap();
            add.push(timed(|| {
                bench.world.repo.git(&["worktree", "add", "--quiet", path, "freehold/a"]);
                bench.git(&["stash", "pop", "--quiet"]);
            }));
            bench.detach_directory();
            let request = freehold_git::RestoreRequest { id, ..bench.restore_request() };
            restore.push(timed(|| _ = bench.world.git.restore_seal(&request).unwrap()));
            bench.detach_directory();
            let idle = prepare(&bench.world, &format!("ground-{round}"), &bench.world.head());
            ground.push(timed(|| {
                let (_, used) = bench.world.git.restore_seal_on(&idle, &request).unwrap();
                assert_eq!(used, GroundUse::Used);
            }));
            remover.remove(&idle_target(&bench.world, &idle)).unwrap();
            bench.git(&["reset", "--quiet", "--hard"]);
            bench.git(&["clean", "--quiet", "-fd"]);
        }
        report(&format!("seal, {count} files, ÷ `git stash -u`"), 1.5, seal, stash);
        let files = format!("{count} files");
        report(&format!("restore on an idle worktree, {files}, ÷ `git stash pop`"), 1.5, ground, pop.clone());
        report(&format!("restore without one, {files}, ÷ `git stash pop`"), 4.0, restore.clone(), pop);
        let both = "`git worktree add` and `git stash pop`";
        report(&format!("restore without one, {files}, ÷ {both}"), 1.5, restore, add);
    }
}
