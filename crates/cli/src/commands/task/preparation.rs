//! What a task's workspace got besides tracked files, in lines.

use std::time::Duration;

use freehold_api::preparation::Setup;
use freehold_api::task::{Environment, EnvironmentRepo, TaskDetail};

use crate::connection::Connection;
use crate::failure::Failure;

/// How often a running script is looked at.
const PAUSE: Duration = Duration::from_millis(200);
/// How many skipped files are shown.
const SKIPPED_SHOWN: usize = 5;
/// How many lines of a script that did not succeed are shown.
const OUTPUT_SHOWN: usize = 10;

/// Adds what one worktree got.
pub(super) fn lines(repo: &EnvironmentRepo, line: &mut impl FnMut(&str, &str)) {
    let Some(preparation) = &repo.preparation else { return };
    if preparation.copied_files > 0 {
        let (files, bytes) = (preparation.copied_files, preparation.copied_bytes);
        line("copied", &format!("{files} ignored files, {bytes} bytes"));
    }
    if !preparation.links.is_empty() {
        line("linked", &preparation.links.join(", "));
    }
    for skipped in preparation.skipped.iter().take(SKIPPED_SHOWN) {
        line("skipped", &format!("{}: {}", skipped.path, skipped.reason));
    }
    let more = preparation.skipped_total.saturating_sub(SKIPPED_SHOWN as u64);
    if more > 0 {
        line("skipped", &format!("and {more} more"));
    }
    for note in &preparation.notes {
        line("note", note);
    }
}

/// Adds ports and runs of scripts.
pub(super) fn environment_lines(environment: &Environment, line: &mut impl FnMut(&str, &str)) {
    if let Some(ports) = &environment.ports {
        line("ports", &format!("{}-{}", ports.first, ports.last));
    }
    for setup in &environment.setups {
        let code = setup.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
        let when = setup.finished_at.as_deref().or(setup.started_at.as_deref()).unwrap_or(&setup.created_at);
        line(&setup.kind, &format!("{}{code}, {when}", setup.state));
        if !matches!(setup.state.as_str(), "succeeded" | "pending") {
            let last: Vec<&str> = setup.output.trim_end().lines().rev().take(OUTPUT_SHOWN).collect();
            last.into_iter().rev().for_each(|text| line("", &format!("| {text}")));
        }
    }
}

/// Waits until no script of the task runs.
pub(super) fn until_set_up(connection: &Connection, mut detail: TaskDetail) -> Result<TaskDetail, Failure> {
    let runs = |setup: &Setup| matches!(setup.state.as_str(), "pending" | "running");
    while detail.environment.as_ref().is_some_and(|environment| environment.setups.iter().any(runs)) {
        std::thread::sleep(PAUSE);
        detail = connection.client.task(&detail.task.id)?;
    }
    Ok(detail)
}
