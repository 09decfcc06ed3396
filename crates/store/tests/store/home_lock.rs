//! The lock on a home folder.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use freehold_store::{HomeLock, HomeLocked};

const HOME: &str = "FREEHOLD_TEST_LOCK_HOME";

/// Not a test by itself: the process that the next test starts.
#[test]
fn holds_a_home_folder_for_another_process() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let _lock = HomeLock::acquire(&PathBuf::from(home)).unwrap();
    println!("\nlocked");
    std::io::stdin().lines().for_each(drop);
}

#[test]
fn a_second_server_is_refused_and_told_who_holds_the_home() {
    let home = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the lock is between processes, so the test needs another")]
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder.args(["--exact", "home_lock::holds_a_home_folder_for_another_process", "--nocapture"]);
    holder.env(HOME, home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut output = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(output.any(|line| line.unwrap() == "locked"));

    let refused = HomeLock::acquire(home.path()).unwrap_err();
    let expected = format!(
        "another Freehold server (process {}) uses {}; stop it first, or choose another home folder",
        holder.id(),
        home.path().display()
    );
    assert_eq!(refused.to_string(), expected);
    assert!(matches!(refused, HomeLocked::Held { .. }));

    holder.kill().unwrap();
    holder.wait().unwrap();
    HomeLock::acquire(home.path()).expect("the system released the lock of the killed process");
}

#[test]
fn a_lock_is_released_when_dropped() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("not/yet/there");
    let lock = HomeLock::acquire(&folder).unwrap();
    assert!(HomeLock::acquire(&folder).is_err());
    drop(lock);
    assert!(HomeLock::acquire(&folder).is_ok());
}
