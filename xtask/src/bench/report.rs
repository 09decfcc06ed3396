//! The table of measurements, and the page that holds it.

use std::fmt::Write as _;

use super::Bench;
use crate::Failure;
use crate::program::{output_of, program};
use crate::tree::repository_root;

const PAGE: &str = "docs/benchmarks.md";

/// A section that a command of its own measures; whatever else is written leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Worktrees,
    Upgrade,
}

impl Section {
    /// In the order of the page.
    const ALL: [Self; 2] = [Self::Worktrees, Self::Upgrade];

    const fn heading(self) -> &'static str {
        match self {
            Self::Worktrees => "## Worktrees beside Git's own commands",
            Self::Upgrade => "## Upgrading a legacy database",
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Worktrees => "bench worktrees",
            Self::Upgrade => "bench upgrade",
        }
    }
}

/// One measurement.
#[derive(Debug)]
pub(super) struct Row {
    what: String,
    value: f64,
    at_most: Option<f64>,
    unit: &'static str,
    note: String,
}

impl Row {
    /// A measurement with a target that it should not exceed.
    pub(super) fn at_most(what: &str, value: f64, target: f64, unit: &'static str) -> Self {
        Self { what: what.to_owned(), value, at_most: Some(target), unit, note: String::new() }
    }

    /// A measurement without a target.
    pub(super) fn measured(what: &str, value: f64, unit: &'static str) -> Self {
        Self { what: what.to_owned(), value, at_most: None, unit, note: String::new() }
    }

    /// The same measurement with what it was made of.
    pub(super) fn noted(self, note: String) -> Self {
        Self { note, ..self }
    }

    fn markdown(&self) -> String {
        let number = |value: f64| match value {
            value if value >= 100.0 => format!("{value:.0}"),
            value if value >= 10.0 => format!("{value:.1}"),
            value => format!("{value:.2}"),
        };
        let with_unit = |value: f64| format!("{} {}", number(value), self.unit).trim_end().to_owned();
        let (target, ratio, holds) = match self.at_most {
            Some(target) if self.value <= target => {
                (format!("≤ {}", with_unit(target)), self.value / target, "yes")
            }
            Some(target) => (format!("≤ {}", with_unit(target)), self.value / target, "no"),
            None => ("none".to_owned(), f64::NAN, ""),
        };
        let ratio = if ratio.is_nan() { String::new() } else { format!("{ratio:.2}") };
        let note = if self.note.is_empty() { String::new() } else { format!(" ({})", self.note) };
        format!("| {} | {} | {}{note} | {ratio} | {holds} |", self.what, target, with_unit(self.value))
    }
}

/// The table in Markdown.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table =
        "| what | target | measured | measured ÷ target | holds |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(table, "{}", row.markdown());
    }
    table
}

/// Writes the page but for the section of the upgrade; gives its path.
pub(super) fn write(bench: &Bench, table: &str) -> Result<&'static str, Failure> {
    let page = format!(
        "# Benchmarks\n\n\
         Measured by `make bench` with a release build on {machine}. Times depend on the machine. \
         The ratio to the plain `git worktree add` of the same repository depends above all on the disk: parallel \
         checkout gains most where writing is slow, and least where everything stays in memory. Read it with the \
         extremes beside it.\n\n\
         {table}\n\
         ## How it is measured\n\n\
         - *Workspace ready*: from `POST /tasks/{{id}}/start` to the first answer that shows the environment as \
         ready, with the demo agent starting behind it; the median of {runs} runs, in turns \
         with as many of a plain `git worktree add -b` of the same repository.\n\
         - *Page of a list*: {tasks} tasks, stored over the HTTP interface; the list is walked from the first page \
         to the last. The size is that of the first page as a browser gets it.\n\
         - *Events*: {events} changes, each committed with one event by one of four writers; the clock stops when \
         every client has seen every event, once and in order.\n\
         - *Start to healthy*: from the start of the program to the first answer of `/health`, on the database \
         that the run has filled; the median of {runs} starts. *Idle memory* is read after the last of them.\n\n\
         ## Where *workspace ready* misses its target\n\n\
         With every file in memory a plain `git worktree add` of 12,000 files takes about 0.21 s on two cores, and \
         parallel checkout takes as long (0.21 s): the time is the kernel's, and there is nothing left to overlap. \
         What Freehold adds is then seen: about eight questions to Git of 3 to 8 ms each (the start commit, the \
         branches, HEAD) and four transactions, 30 to 60 ms together, for a ratio around 0.96. Where writing is \
         slow, as on a busy or ordinary disk, the ratio is around 0.5 to 0.7.\n\n\
         Smaller runs: `cargo run --release -p xtask -- bench --help`.\n",
        machine = machine()?,
        runs = bench.options.runs,
        tasks = bench.options.tasks,
        events = bench.options.events,
    );
    let written = std::fs::read_to_string(repository_root().join(PAGE)).unwrap_or_default();
    write_page(&joined(&page, Section::ALL.map(|section| section_of(&written, section))))
}

/// Writes one section and leaves the rest of the page as it is; gives its path.
pub(super) fn write_section(section: Section, table: &str, how: &[String]) -> Result<&'static str, Failure> {
    let text = format!(
        "{}\n\nMeasured by `cargo run --release -p xtask -- {}` with a release build on {}.\n\n{table}\n{}\n",
        section.heading(),
        section.command(),
        machine()?,
        how.join("\n"),
    );
    let written = std::fs::read_to_string(repository_root().join(PAGE))
        .map_err(|error| Failure::new(format!("could not read {PAGE}: {error}")))?;
    let sections =
        Section::ALL.map(|other| if other == section { text.as_str() } else { section_of(&written, other) });
    write_page(&joined(before_sections(&written), sections))
}

fn write_page(page: &str) -> Result<&'static str, Failure> {
    std::fs::write(repository_root().join(PAGE), page)
        .map_err(|error| Failure::new(format!("could not write {PAGE}: {error}")))?;
    Ok(PAGE)
}

/// The page before the first section that has a command of its own.
fn before_sections(page: &str) -> &str {
    let end = Section::ALL.iter().filter_map(|section| page.find(section.heading())).min();
    &page[..end.unwrap_or(page.len())]
}

/// A section with its heading; empty where the page has none.
fn section_of(page: &str, section: Section) -> &str {
    let Some(start) = page.find(section.heading()) else { return "" };
    let rest = &page[start..];
    let after = |other: &Section| rest.find(other.heading()).filter(|at| *at > 0);
    let end = Section::ALL.iter().filter_map(after).min();
    rest[..end.unwrap_or(rest.len())].trim_end()
}

fn joined(page: &str, sections: [&str; 2]) -> String {
    let parts = std::iter::once(page).chain(sections).map(str::trim).filter(|part| !part.is_empty());
    format!("{}\n", parts.collect::<Vec<_>>().join("\n\n"))
}

/// The shape of this machine, without its name.
fn machine() -> Result<String, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: Option<u64> = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    let memory = kib.map_or("unknown".to_owned(), |kib| format!("{} GiB", kib.div_ceil(1_048_576)));
    let git = output_of(program("git").arg("version"))?;
    let git = String::from_utf8_lossy(&git).trim().replacen("git version", "Git", 1);
    Ok(format!("{} with {cores} cores and {memory} of memory, {git}", std::env::consts::OS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_with_a_command_of_their_own_stay_when_the_others_are_written() {
        let [worktrees, upgrade] = Section::ALL.map(|section| format!("{}\n\nslow", section.heading()));
        let page = joined("# Page\n\ntext\n", [&worktrees, &upgrade]);
        assert_eq!(page, format!("# Page\n\ntext\n\n{worktrees}\n\n{upgrade}\n"));
        assert_eq!(before_sections(&page), "# Page\n\ntext\n\n");
        assert_eq!(Section::ALL.map(|section| section_of(&page, section)), [&worktrees, &upgrade]);
        let old = joined("# Page\n", ["", &upgrade]);
        assert_eq!(Section::ALL.map(|section| section_of(&old, section)), ["", &upgrade]);
        assert_eq!(joined("# New\n", ["", ""]), "# New\n");
        assert_eq!(before_sections("# Page\n"), "# Page\n");
    }

    #[test]
    fn a_row_shows_its_target_its_ratio_and_whether_it_holds() {
        let good = Row::at_most("start", 50.0, 100.0, "ms").noted("of 5".to_owned());
        assert_eq!(good.markdown(), "| start | ≤ 100 ms | 50.0 ms (of 5) | 0.50 | yes |");
        let bad = Row::at_most("ratio", 1.8, 0.9, "");
        assert_eq!(bad.markdown(), "| ratio | ≤ 0.90 | 1.80 | 2.00 | no |");
        let open = Row::measured("frames", 1234.5, "/s");
        assert_eq!(open.markdown(), "| frames | none | 1234 /s |  |  |");
    }
}
