//! A program that runs to its end, with how long it took and how much memory it had at most.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::program::describe;

/// How often the kernel is asked; only what a program takes within the last of these moments stays unseen.
const INTERVAL: Duration = Duration::from_millis(2);

/// What a run took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// From the start of the program to its end.
    pub(super) time: Duration,
    /// The most memory that was resident at one time.
    pub(super) peak_kib: u64,
}

/// Runs a program to its end; fails with what it said when it does not succeed.
pub(super) fn run(command: &mut Command) -> Result<Measured, Failure> {
    let line = describe(command);
    let failed = |error: std::io::Error| Failure::new(format!("could not run `{line}`: {error}"));
    let folder =
        tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary folder: {error}")))?;
    let said = folder.path().join("said");
    let output = std::fs::File::create(&said).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let started = Instant::now();
    let mut child =
        command.stdout(Stdio::from(output)).stderr(Stdio::from(errors)).spawn().map_err(failed)?;
    let status_of = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let status = loop {
        let status = std::fs::read_to_string(&status_of).unwrap_or_default();
        peak_kib = peak_kib.max(kib_of(&status, "VmHWM:").unwrap_or_default());
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        std::thread::sleep(INTERVAL);
    };
    let time = started.elapsed();
    if status.success() {
        return Ok(Measured { time, peak_kib });
    }
    let said = std::fs::read_to_string(&said).unwrap_or_default();
    Err(Failure::new(format!("`{line}` ended with {status}:\n{}", said.trim_end())))
}

/// A line of `/proc/<pid>/status` that tells a size.
pub(super) fn kib_of(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::program;

    #[test]
    fn memory_is_read_from_the_kernels_words() {
        let status = "Name:\tfreehold\nVmHWM:\t   30720 kB\nVmRSS:\t   20480 kB\nThreads:\t9\n";
        assert_eq!(kib_of(status, "VmRSS:"), Some(20_480));
        assert_eq!(kib_of(status, "VmHWM:"), Some(30_720));
        assert_eq!(kib_of("Name:\tfreehold\n", "VmRSS:"), None);
    }

    #[test]
    fn a_run_is_timed_and_its_memory_is_seen() {
        let measured = run(program("sleep").arg("0.05")).unwrap();
        assert!(measured.time >= Duration::from_millis(50), "{measured:?}");
        assert!(measured.peak_kib > 0, "{measured:?}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let failure = run(program("git").args(["no-such-command"])).unwrap_err();
        assert!(failure.to_string().contains("is not a git command"), "{failure}");
    }
}
