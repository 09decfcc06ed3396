//! Starting, resting and the size of the binary.

use std::path::Path;
use std::time::Duration;

use super::child::kib_of;
use super::report::Row;
use super::{Bench, Server, median};
use crate::Failure;

/// How long a server rests before its memory is read.
const REST: Duration = Duration::from_secs(5);

/// The size of the release binary.
pub(super) fn binary_size(binary: &Path) -> Result<Row, Failure> {
    let metadata = std::fs::metadata(binary);
    let bytes = metadata.map_err(|error| Failure::new(format!("{}: {error}", binary.display())))?.len();
    Ok(Row::at_most("size of the binary", bytes as f64 / 1_048_576.0, 40.0, "MiB"))
}

/// From the start of the program to the first healthy answer, on the database that the run has filled.
pub(super) fn start_to_healthy(bench: &Bench, server: &mut Server) -> Result<Row, Failure> {
    let times = (0..bench.options.runs).map(|_| server.restart(&bench.binary));
    let middle = median(times.collect::<Result<_, _>>()?);
    Ok(Row::at_most("start to healthy, on an existing database", middle.as_secs_f64() * 1e3, 100.0, "ms"))
}

/// Resident memory of a server that was just started and rests.
pub(super) fn idle_memory(server: &Server) -> Result<Row, Failure> {
    std::thread::sleep(REST);
    let path = format!("/proc/{}/status", server.pid());
    let status = std::fs::read_to_string(&path)
        .map_err(|error| Failure::new(format!("could not read {path}: {error}")))?;
    let kib = kib_of(&status, "VmRSS:").ok_or_else(|| Failure::new(format!("{path} does not tell VmRSS")))?;
    Ok(Row::at_most("idle resident memory", kib as f64 / 1024.0, 30.0, "MiB"))
}
