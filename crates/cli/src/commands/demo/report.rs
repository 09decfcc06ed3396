//! The steps of the story as they are verified: a line each for people, a list for programs.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Output, Tone};

const SPINNER_TICK: Duration = Duration::from_millis(100);

/// The steps so far.
pub(crate) struct Report {
    output: Output,
    steps: Vec<Step>,
    begun: Instant,
}

/// A step that was verified, or that was not.
#[derive(Debug, Serialize)]
struct Step {
    step: String,
    verified: bool,
    milliseconds: u64,
}

#[derive(Debug, Serialize)]
struct Verified<'a> {
    verified: bool,
    milliseconds: u64,
    folder: Option<&'a Path>,
    steps: &'a [Step],
}

impl Report {
    /// Begins an empty report.
    pub(crate) fn new(output: Output) -> Self {
        Self { output, steps: Vec::new(), begun: Instant::now() }
    }

    /// Does a step and says how it went.
    pub(crate) fn step<T>(
        &mut self,
        name: impl Into<String>,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let name = name.into();
        let spinner = self.spinner(&name);
        let begun = Instant::now();
        let result = work();
        let milliseconds = milliseconds(begun);
        spinner.finish_and_clear();
        let verified = result.is_ok();
        if !self.output.is_json() {
            let mark = if verified {
                self.output.paint(Tone::Good, "✓")
            } else {
                self.output.paint(Tone::Bad, "✗")
            };
            let time = self.output.paint(Tone::Quiet, &format!("{milliseconds} ms"));
            self.output.line(&format!("{mark} {name}  {time}"));
        }
        self.steps.push(Step { step: name, verified, milliseconds });
        result
    }

    /// The name of the step that was done last.
    pub(crate) fn last_step(&self) -> &str {
        self.steps.last().map_or("the beginning", |step| &step.step)
    }

    /// Gives the answer of a story that was verified to its end.
    pub(crate) fn answer(&self, folder: Option<&Path>, output: Output) -> Result<(), Failure> {
        let milliseconds = milliseconds(self.begun);
        let verified = Verified { verified: true, milliseconds, folder, steps: &self.steps };
        output.answer(&verified, || {
            let kept = folder.map(|folder| format!("\nKept: {}", folder.display())).unwrap_or_default();
            let count = self.steps.len();
            format!("\nAll {count} steps were verified on disk in {milliseconds} ms.{kept}")
        })
    }

    /// Shows what is being done; on a terminal only.
    fn spinner(&self, name: &str) -> ProgressBar {
        if self.output.is_json() {
            return ProgressBar::hidden();
        }
        let spinner = ProgressBar::new_spinner().with_message(name.to_owned());
        spinner.enable_steady_tick(SPINNER_TICK);
        spinner
    }
}

fn milliseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
