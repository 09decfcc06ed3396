//! The idle pool, giving back, sealing and restoring, each beside what Git does on the same files.
//!
//! What a person waits for is measured through a server. What Git's own commands are compared with is measured
//! by tests of the git crate, which print one line each: only they may name the right to remove.

use super::report::{self, Row, Section};
use super::server::Server;
use super::{Bench, Options, carry_out, sample, workspace};
use crate::Failure;
use crate::program::{output_of, program};

/// Measures, prints the table and writes its section of the page.
pub(super) fn run(arguments: &[&str]) -> Result<(), Failure> {
    carry_out(arguments, measure, |bench, table| {
        report::write_section(Section::Worktrees, table, &how(bench.options))
    })
}

#[expect(clippy::print_stderr, reason = "a measurement takes minutes and says how far it is")]
fn measure(bench: &Bench) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    eprintln!("measuring against Git");
    for part in ["pool_speed", "removal_speed", "seal_speed"] {
        rows.extend(rows_of(&output_of(program("cargo").args(MEASURE).args([part, "--"]).args(SHOW))?)?);
    }
    eprintln!("making a repository of {} files", bench.options.files);
    let repository = sample::make_repository(&bench.folder.path().join("repository"), bench.options.files)?;
    let server = Server::start(bench, 1)?;
    let repository_id = server.add_repository(&repository)?;
    eprintln!("making workspaces from the pool");
    rows.push(workspace::from_the_pool(bench, &server, &repository, &repository_id)?);
    drop(server);
    eprintln!("making workspaces while others go");
    let server = Server::start(bench, 0)?;
    rows.push(workspace::while_others_go(bench, &server, &repository_id)?);
    Ok(rows)
}

const MEASURE: [&str; 9] = [
    "test",
    "--quiet",
    "--release",
    "--package",
    "freehold-git",
    "--features",
    "failpoints",
    "--test",
    "git",
];
const SHOW: [&str; 3] = ["--ignored", "--nocapture", "--test-threads=1"];

/// Reads the lines that the measurements print among others.
fn rows_of(printed: &[u8]) -> Result<Vec<Row>, Failure> {
    let printed = String::from_utf8_lossy(printed);
    // The name of a test may stand before it on its line.
    let lines = printed.lines().filter_map(|line| line.split_once("measured\t").map(|(_, line)| line));
    let rows: Vec<Row> = lines.map(row).collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Err(Failure::new(format!("nothing was measured:\n{printed}")));
    }
    Ok(rows)
}

fn row(line: &str) -> Result<Row, Failure> {
    let unread = || Failure::new(format!("a measurement cannot be read: {line}"));
    let [what, target, ours, reference] =
        <[&str; 4]>::try_from(line.split('\t').collect::<Vec<_>>()).map_err(|_| unread())?;
    let number = |text: &str| text.parse::<f64>().map_err(|_| unread());
    let (target, ours, reference) = (number(target)?, number(ours)?, number(reference)?);
    let note = format!("{:.1} ms ÷ {:.1} ms", ours / 1_000.0, reference / 1_000.0);
    Ok(Row::at_most(what, ours / reference, target, "").noted(note))
}

fn how(options: Options) -> Vec<String> {
    vec![
        "- *Taken*: from the call of the Git layer to the finished worktree at its place and on its branch, with \
         every file compared with the evidence; the median of 7, in turns with `git worktree add -b`."
            .to_owned(),
        format!(
            "- *From request to answer*: from `POST /tasks/{{id}}/start` to the first answer that shows the \
             environment as ready; the median of {} runs. It includes the questions about branch and start commit, \
             the transactions and the demo agent that starts behind it.",
            options.runs
        ),
        "- *Path and registration*: the part of a removal that a person can see, after the look before it: the path \
         is free, and Git lists the worktree no longer. *With all looks* is the whole call, with everything that is \
         compared before and after; unlinking the trash follows in the background."
            .to_owned(),
        "- *Restore on an idle worktree*: as Freehold restores where the pool has one; `git stash pop` has a complete \
         worktree too, and writes only the 400 files that differ."
            .to_owned(),
        "- *While others go*: the workspaces of six tasks are given back at the same time, sealed and unlinked, \
         without a pool; the one compared with was made before, on the same repository, when nothing was going."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::rows_of;

    #[test]
    fn measurements_are_found_among_the_words_of_a_test() {
        let printed = b"running 1 test\ntest a ... measured\tone \xc3\xb7 two\t0.5\t100\t400\nok\n";
        let table = super::report::table(&rows_of(printed).unwrap());
        assert!(table.ends_with("| one ÷ two | ≤ 0.50 | 0.25 (0.1 ms ÷ 0.4 ms) | 0.50 | yes |\n"), "{table}");
        assert!(rows_of(b"running 0 tests\n").is_err());
        assert!(rows_of(b"measured\tone\n").is_err());
    }
}
