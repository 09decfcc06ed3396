//! How long a workspace takes to be gone in the eyes of a person, beside `git worktree remove --force` of the same
//! files: from the last look to the rename and the removed registration. What follows, unlinking the trash, nobody
//! waits for. Run with
//! `cargo test --release -p freehold-git --features failpoints --test git removal_speed -- --ignored --nocapture`.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use freehold_git::Remover;
use freehold_testkit::repo::TempRepo;

use crate::pool_bench::make_fresh;
use crate::pool_speed::report;
use crate::world::World;

const ROUNDS: usize = 7;

/// Notes the moment at which a removal passes a failpoint.
fn noted(failpoint: &str) -> Arc<Mutex<Option<Instant>>> {
    let moment = Arc::new(Mutex::new(None));
    let noted = moment.clone();
    fail::cfg_callback(failpoint, move || *noted.lock().unwrap() = Some(Instant::now())).unwrap();
    moment
}

#[test]
#[ignore = "a measurement"]
fn giving_back_beside_a_forced_removal() {
    let _scenario = fail::FailScenario::setup();
    let (assessed, gone) = (noted("git.removal.before_rename"), noted("git.removal.hidden"));
    let world = World::of(TempRepo::with_files(12_000));
    let remover = Remover::new(world.git.clone());
    let [mut plain, mut visible, mut whole] = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        let name = format!("round-{round}");
        let path = make_fresh(&world, &name, &world.head());
        let started = Instant::now();
        world.repo.git(&["worktree", "remove", "--force", path.to_str().unwrap()]);
        plain.push(started.elapsed());
        let identity = world.add(&name);
        let started = Instant::now();
        remover.remove(&world.target(&name, &identity)).unwrap();
        whole.push(started.elapsed());
        let moment = |moment: &Mutex<Option<Instant>>| moment.lock().unwrap().take().unwrap();
        visible.push(moment(&gone) - moment(&assessed));
    }
    let reference = "12000 files, ÷ `git worktree remove --force`";
    report(&format!("given back: renamed and unregistered, {reference}"), 0.02, visible, plain.clone());
    report(&format!("given back: with the last look and unlinking, {reference}"), 2.0, whole, plain);
}
