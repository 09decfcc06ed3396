//! A list of many tasks: how long a page takes and how large it is.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::report::Row;
use super::{Server, median};
use crate::Failure;
use crate::program::{output_of, program};

const FIRST_PAGE: &str = "/tasks?limit=100";

/// Threads that store tasks.
const WRITERS: usize = 4;

/// Stores tasks over the interface, as a client would.
pub(super) fn fill(server: &Server, repository_id: &str, tasks: usize) -> Result<(), Failure> {
    let store = |writer: usize| {
        let mut numbers = (0..tasks).skip(writer).step_by(WRITERS);
        numbers.try_for_each(|number| {
            server.add_task(&format!("Task number {number} of many"), repository_id).map(drop)
        })
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || store(writer))).collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().unwrap_or_else(|_| Err(Failure::new("a writer panicked"))))
    })
}

/// Walks through the whole list page by page.
pub(super) fn page(server: &Server) -> Result<Vec<Row>, Failure> {
    let mut times = Vec::new();
    let mut next = Some(FIRST_PAGE.to_owned());
    while let Some(path) = next {
        let (page, time) = timed(server, &path)?;
        times.push(time);
        next = page["next_cursor"].as_str().map(|cursor| format!("{FIRST_PAGE}&cursor={}", escaped(cursor)));
    }
    let size = server.get_bytes(FIRST_PAGE)?.len();
    let what = format!("page of 100 from a list of {} pages", times.len());
    let mut rows = vec![
        Row::at_most(&format!("{what}, p50"), median(times).as_secs_f64() * 1e3, 10.0, "ms"),
        Row::at_most(&format!("{what}, size"), size as f64 / 1e3, 50.0, "kB"),
    ];
    rows.extend(throughput(server)?);
    Ok(rows)
}

fn timed(server: &Server, path: &str) -> Result<(Value, Duration), Failure> {
    let started = Instant::now();
    let page = server.get(path)?;
    Ok((page, started.elapsed()))
}

/// Requests per second by `wrk`; nothing where it is not installed.
fn throughput(server: &Server) -> Result<Option<Row>, Failure> {
    if program("wrk").arg("--version").output().is_err() {
        return Ok(None);
    }
    let token = format!("Authorization: Bearer {}", server.token());
    let mut wrk = program("wrk");
    let output = output_of(wrk.args(["-t1", "-c8", "-d5s", "-H", &token]).arg(server.url(FIRST_PAGE)))?;
    let output = String::from_utf8_lossy(&output);
    let per_second =
        output.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:")?.trim().parse().ok());
    let per_second =
        per_second.ok_or_else(|| Failure::new(format!("wrk said nothing of requests:\n{output}")))?;
    Ok(Some(Row::measured("pages per second, 8 connections (wrk)", per_second, "/s")))
}

fn escaped(cursor: &str) -> String {
    cursor.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
