//! `freehold upgrade`: makes an older database Freehold's own, or shows what that would do.

use freehold_store::upgrade::{self, Initialised, Resolutions, Upgraded};
use freehold_store::{HomeLock, StoreError};

use crate::arguments::UpgradeOptions;
use crate::compose::Setup;
use crate::failure::{Exit, Failure};
use crate::initialise::initialise;
use crate::output::{Output, Tone};

/// Carries out the command.
pub(crate) fn run(setup: &Setup, options: &UpgradeOptions, output: Output) -> Result<(), Failure> {
    let resolutions = Resolutions::parse(&options.resolutions).map_err(StoreError::from)?;
    if options.plan {
        let plan = upgrade::plan(&setup.database, &resolutions)?;
        output.answer(&plan, || plan.to_string())?;
        return match plan.conflicts.len() {
            0 => Ok(()),
            count => Err(Failure::new(
                Exit::NeedsDecision,
                "upgrade_conflicts",
                format!(
                    "{count} {} for you to answer",
                    if count == 1 { "question is" } else { "questions are" }
                ),
            )
            .hint("answer with: freehold upgrade --resolve CONFLICT=CHOICE …")),
        };
    }
    let _lock = match setup.is_database_named {
        true => None,
        false => {
            let lock = HomeLock::acquire(setup.home.root())?;
            setup.home.create()?;
            Some(lock)
        }
    };
    let done = initialise(&setup.database, true, resolutions, output)?;
    output.answer(&done, || told(setup, &done, output))
}

fn told(setup: &Setup, done: &Initialised, output: Output) -> String {
    let Some(upgraded) = &done.upgrade else {
        return format!("{} is a Freehold database; there was nothing to upgrade.", setup.database);
    };
    format!(
        "{}\n\n{}",
        output.paint(Tone::Good, &format!("{} is upgraded.", setup.database)),
        report(upgraded)
    )
}

/// What came along, in sentences.
pub(crate) fn report(upgraded: &Upgraded) -> String {
    let plan = upgraded.plan.to_string();
    let mut lines: Vec<String> = plan.lines().skip(1).map(str::to_owned).collect();
    if !upgraded.notes.is_empty() {
        lines.push("\nMended so that it can be read:".to_owned());
        lines.extend(upgraded.notes.iter().map(|note| format!("  {note}")));
    }
    if !upgraded.unused.is_empty() {
        let tables: Vec<String> =
            upgraded.unused.iter().map(|(table, rows)| format!("{table} ({rows})")).collect();
        lines.push("\nKept as it is, and not used by Freehold:".to_owned());
        lines.push(format!("  {}", tables.join(", ")));
    }
    if let Some(path) = &upgraded.snapshot {
        lines.push(format!("\nThe database as it was: {}", path.display()));
    }
    lines.join("\n")
}
