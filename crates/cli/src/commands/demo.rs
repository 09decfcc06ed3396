//! `freehold demo`: plays a task's whole life and believes nobody: every step is verified on disk and with Git.
//!
//! Terms: the *scene* is a temporary folder with a home folder, a main checkout and the log of a server of its
//! own. The *story* is told against that server through its HTTP interface, and each *step* compares what
//! the server says with what is there. The demo ends with success only if every step was verified.

mod fingerprint;
mod report;
mod scene;
mod server;
mod story;
mod wait;
mod workspace;

use crate::arguments::DemoOptions;
use crate::failure::{Exit, Failure};
use crate::output::{Output, Tone};
use report::Report;
use scene::Scene;

/// Carries out the command; a database other than a fresh one of its own is used only when it was named.
pub(crate) fn run(options: &DemoOptions, database: Option<&str>, output: Output) -> Result<(), Failure> {
    let scene = Scene::make(options, database)?;
    let mut report = Report::new(output);
    let result = story::play(&scene, &mut report);
    let keeps = options.keep || result.is_err();
    let folder = if keeps { Some(scene.keep()) } else { None };
    match result {
        Ok(()) => report.answer(folder.as_deref(), output),
        Err(failure) => {
            let hint = folder.map(|folder| format!("everything is kept to look at in {}", folder.display()));
            let message = format!("{}: {}", report.last_step(), failure.body.message);
            output.note(&output.paint(Tone::Bad, "The demo failed."));
            Err(Failure::new(Exit::Failure, "demo_failed", message).hint(hint.unwrap_or_default()))
        }
    }
}
