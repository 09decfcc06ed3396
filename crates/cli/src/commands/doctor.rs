//! `freehold doctor`: looks at everything that Freehold needs and says what to do about what is missing.
//!
//! It changes nothing in repositories and workspaces and starts no agent. A database that is empty gets its
//! tables, as at the first start.

mod disk;
mod machine;
mod recorded;

use serde::Serialize;

use crate::compose::Setup;
use crate::connection::runtime;
use crate::failure::{Exit, Failure};
use crate::output::{Output, Tone};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// What was found about one thing.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    message: String,
    /// What to do; empty when it is fine.
    remedy: String,
}

impl Finding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, message: message.into(), remedy: String::new() }
    }

    fn warn(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, message: message.into(), remedy: remedy.into() }
    }

    fn fail(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Fail, message: message.into(), remedy: remedy.into() }
    }
}

/// What was found in all.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Finding>,
}

/// Carries out the command.
pub(crate) fn run(setup: &Setup, output: Output) -> Result<(), Failure> {
    let mut checks = vec![
        machine::git(),
        disk::home(&setup.home),
        disk::place(&setup.home),
        disk::server(setup),
        disk::space(&setup.home),
        machine::control_groups(),
    ];
    checks.extend(runtime()?.block_on(recorded::check(setup)));
    let failed = checks.iter().filter(|finding| finding.level == Level::Fail).count();
    let report = Report { ok: failed == 0, checks };
    output.answer(&report, || shown(&report, output))?;
    if failed == 0 {
        return Ok(());
    }
    let noun = if failed == 1 { "check" } else { "checks" };
    Err(Failure::new(Exit::Failure, "doctor_failed", format!("{failed} {noun} failed")))
}

fn shown(report: &Report, output: Output) -> String {
    let line = |finding: &Finding| {
        let (word, tone) = match finding.level {
            Level::Ok => ("ok  ", Tone::Good),
            Level::Warn => ("warn", Tone::Warning),
            Level::Fail => ("fail", Tone::Bad),
        };
        let remedy = match finding.remedy.as_str() {
            "" => String::new(),
            remedy => format!("\n                     {remedy}"),
        };
        format!("{}  {:<14} {}{remedy}", output.paint(tone, word), finding.check, finding.message)
    };
    report.checks.iter().map(line).collect::<Vec<_>>().join("\n")
}
