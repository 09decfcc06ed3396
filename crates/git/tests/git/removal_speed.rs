//! How long a workspace takes to be gone in the eyes of a person, beside `git worktree remove --force` of the same
//! files: its path is free, and Git does not list it. The looks before and after that are a part of the whole, which
//! is measured too, without and with a seal; what follows, unlinking the trash, nobody waits for. Run with
//! `cargo test --release -p freehold-git --features failpoints --test git removal_speed -- --ignored --nocapture`.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use freehold_git::{Remover, SealRequest, TrashEntry};
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

fn reap(remover: &Remover, left: &[TrashEntry]) {
    for entry in left {
        remover.reap(entry, &mut || true).unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn giving_back_beside_a_forced_removal() {
    let _scenario = fail::FailScenario::setup();
    let (assessed, gone) = (noted("git.removal.before_rename"), noted("git.removal.hidden"));
    let world = World::of(TempRepo::with_files(12_000));
    let remover = Remover::new(world.git.clone());
    let [mut plain, mut visible, mut looked, mut sealed, mut whole] = [const { Vec::new() }; 5];
    for round in 0..ROUNDS {
        let name = format!("round-{round}");
        let path = make_fresh(&world, &name, &world.head());
        let started = Instant::now();
        world.repo.git(&["worktree", "remove", "--force", path.to_str().unwrap()]);
        plain.push(started.elapsed());
        let identity = world.add(&name);
        let started = Instant::now();
        let left = remover.give_back(&world.target(&name, &identity), None).unwrap().trash;
        looked.push(started.elapsed());
        reap(&remover, &left);
        whole.push(started.elapsed());
        let moment = |moment: &Mutex<Option<Instant>>| moment.lock().unwrap().take().unwrap();
        visible.push(moment(&gone) - moment(&assessed));
        let name = format!("{name}-sealed");
        let identity = world.add(&name);
        let request = SealRequest::new(world.repo.path(), &identity.path, &name, 1_800_000_000);
        let seal = world.git.seal_for_removal(&request).unwrap();
        let started = Instant::now();
        let left = remover.give_back(&world.target(&name, &identity), Some(&seal)).unwrap().trash;
        sealed.push(started.elapsed());
        reap(&remover, &left);
    }
    let reference = "12000 files, ÷ `git worktree remove --force`";
    report(&format!("given back: path and registration, {reference}"), 0.02, visible, plain.clone());
    report(&format!("given back: with all looks, {reference}"), 1.0, looked, plain.clone());
    report(&format!("given back: with all looks, sealed, {reference}"), 1.0, sealed, plain.clone());
    report(&format!("given back: with all looks and unlinking, {reference}"), 2.0, whole, plain);
}
