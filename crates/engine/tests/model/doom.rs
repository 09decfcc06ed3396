//! Where a server dies: at a failpoint, as the thread that comes there goes no further.
//!
//! A crash test of one scene lets a process abort at a failpoint; histories keep everything in one process, so here a
//! thread that meets its server's failpoint stands still until the server is torn down, and is then unwound. Nothing
//! behind the failpoint happens, and what the server's other threads still do meanwhile they could have done before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};

/// Failpoints on the way to a workspace.
pub(crate) const CREATING: &[&str] = &[
    "engine.task.stored",
    "engine.creation.planned",
    "engine.creation.materialising",
    "git.worktree.before_add",
    "git.worktree.after_branch",
    "git.worktree.after_add",
    "engine.creation.added",
    "engine.creation.persisted",
    "engine.preparation.planted",
    "engine.preparation.stored",
    "engine.launch.ready",
    "engine.session.stored",
    "engine.pool.taken",
    "engine.pool.moved",
    "git.pool.after_branch",
    "git.pool.after_note",
    "git.pool.after_checkout",
    "git.pool.after_link",
    "git.pool.after_rename",
    "git.pool.after_head",
    "git.pool.before_end",
    "engine.pool.reserved",
    "git.pool.before_add",
    "git.pool.after_add",
    "engine.pool.made",
];

/// Failpoints on the way of a workspace that is given back, or goes over to another task.
pub(crate) const CLOSING: &[&str] = &[
    "engine.close.reserved",
    "engine.close.snapshot",
    "engine.close.activated",
    "engine.cleanup.stopped",
    "git.seal.after_objects",
    "git.seal.before_second_look",
    "git.seal.before_ref",
    "git.seal.after_ref",
    "engine.cleanup.seal",
    "engine.cleanup.sealed",
    "git.removal.before_rename",
    "git.removal.moved",
    "git.removal.hidden",
    "git.removal.after_rename",
    "git.removal.after_registration",
    "git.removal.after_branch",
    "engine.cleanup.removed",
    "engine.cleanup.in_trash",
    "engine.cleanup.verified",
    "engine.reaper.found",
    "engine.reaper.step",
    "engine.reaper.unlinked",
    "engine.reuse.reserved",
    "git.reuse.after_add",
    "git.reuse.after_clearing",
    "git.reuse.after_moving",
    "engine.reuse.made",
    "engine.transfer.stored",
    "engine.reset.given_back",
    "engine.purge.reserved",
    "engine.purge.seal",
];

/// Failpoints on the way back.
pub(crate) const REOPENING: &[&str] = &[
    "engine.reopen.planned",
    "git.restore.before_add",
    "git.restore.after_staging",
    "git.restore.after_add",
    "engine.pool.ground_taken",
    "git.restore.after_ground",
    "git.restore.after_files",
    "git.restore.after_branch",
    "git.restore.after_record",
    "git.restore.before_rename",
    "git.restore.after_rename",
    "engine.reopen.restored",
    "engine.reopen.opened",
];

thread_local! {
    /// The doom of the server to which this thread belongs.
    static OF_THIS_THREAD: RefCell<Option<Arc<Doom>>> = const { RefCell::new(None) };
}

/// Where one server dies, and whether it came there.
#[derive(Default)]
pub(crate) struct Doom {
    state: Mutex<State>,
    changed: Condvar,
}

/// Where a server dies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    /// At this failpoint; at any, where none is named.
    pub(crate) failpoint: Option<&'static str>,
    /// How many times it comes there before.
    pub(crate) passes: usize,
}

#[derive(Default)]
struct State {
    at: Option<Spot>,
    is_met: bool,
    is_dead: bool,
}

impl Doom {
    /// Makes one for a server, and lets every failpoint ask for it.
    pub(crate) fn new(at: Option<Spot>) -> Arc<Self> {
        static ASKED: Once = Once::new();
        ASKED.call_once(|| {
            for name in [CREATING, CLOSING, REOPENING].into_iter().flatten() {
                fail::cfg_callback(*name, move || meet(name)).unwrap();
            }
        });
        let state = State { at, ..State::default() };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Makes this thread one of the server's.
    pub(crate) fn hangs_over_this_thread(self: &Arc<Self>) {
        OF_THIS_THREAD.with_borrow_mut(|doom| *doom = Some(Arc::clone(self)));
    }

    /// Lets the server die there; none lets it live.
    pub(crate) fn set(&self, at: Option<Spot>) {
        self.lock().at = at;
    }

    /// Whether a thread stands at the failpoint.
    pub(crate) fn is_met(&self) -> bool {
        self.lock().is_met
    }

    /// Lets the thread at the failpoint go, as the server is dead.
    fn die(&self) {
        self.lock().is_dead = true;
        self.changed.notify_all();
    }

    /// Something that tells of the death of the server when it is dropped.
    pub(crate) fn witness(self: &Arc<Self>) -> Witness {
        Witness(Arc::clone(self))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, name: &'static str) {
        let mut state = self.lock();
        let State { at: Some(place), is_met: false, .. } = &mut *state else { return };
        if place.failpoint.is_some_and(|at| at != name) {
            return;
        }
        if place.passes > 0 {
            place.passes -= 1;
            return;
        }
        state.is_met = true;
        count(name);
        while !state.is_dead {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        resume_unwind(Box::new("the server died"));
    }
}

/// How many times servers died at each failpoint so far, in this process.
static MET: Mutex<BTreeMap<&str, u32>> = Mutex::new(BTreeMap::new());

fn count(name: &'static str) {
    *MET.lock().unwrap().entry(name).or_default() += 1;
}

/// Says how many times servers died at each failpoint so far.
pub(crate) fn tally() -> String {
    let met = MET.lock().unwrap();
    let lines = met.iter().map(|(name, times)| format!("  {times:5} at {name}\n"));
    format!("servers died\n{}", lines.collect::<String>())
}

/// Held by a future of the server, which is dropped when its runtime ends.
pub(crate) struct Witness(Arc<Doom>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.die();
    }
}

fn meet(name: &'static str) {
    let doom = OF_THIS_THREAD.with_borrow(Clone::clone);
    if let Some(doom) = doom {
        doom.pass(name);
    }
}

/// Failpoints of operations that no history plays, and of places where only a whole process can die, such as a
/// transaction; each must be named by a crash test of its own.
#[test]
fn every_failpoint_of_the_engine_and_of_git_is_one_at_which_servers_die() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crash_tests: String =
        texts(&[crates.join("engine/tests/engine"), crates.join("git/tests/git")]).concat();
    let mut missing = Vec::new();
    for text in texts(&[crates.join("engine/src"), crates.join("git/src")]) {
        for rest in text.split("failpoint!(\"").skip(1) {
            let name = rest.split('"').next().unwrap();
            let is_in_histories = [CREATING, CLOSING, REOPENING].iter().any(|list| list.contains(&name));
            if !is_in_histories && !crash_tests.contains(&format!("\"{name}\"")) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "no history and no crash test ends a server at {missing:?}");
}

/// The sources below some folders.
fn texts(folders: &[std::path::PathBuf]) -> Vec<String> {
    let (mut open, mut texts) = (folders.to_vec(), Vec::new());
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                texts.push(std::fs::read_to_string(&entry).unwrap());
            }
        }
    }
    texts
}
