//! The program behind `cargo run -p xtask -- <command>`: house rules, generators and benchmarks.
//!
//! Exit code 0: everything holds. 1: something does not, and the output names it. 2: the command is unknown.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program speaks to a terminal")]

use std::process::ExitCode;

use xtask::{Failure, bench, codegen, docs, tidy, tree::Tree};

const USAGE: &str = "\
usage: cargo run -p xtask -- <command>

  tidy                    checks the house rules on every tracked file
  docs [--commands]       checks front matter, links and anchors; with --commands also that every
                          `freehold` command in the documents exists in the binary
  codegen [--check]       writes docs/openapi.json from the binary; with --check only compares
  bench [--help]          measures a release build and writes docs/benchmarks.md
  bench upgrade [--help]  measures the upgrade of a large legacy database
  bench worktrees         measures giving back, the pool, seals and restorations beside Git's own commands

The binary is the one named by FREEHOLD_BIN, or else is built.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => run_tidy(),
        ["docs"] => run_docs(false),
        ["docs", "--commands"] => run_docs(true),
        ["codegen"] => codegen::write().map(|path| println!("wrote {path}")),
        ["codegen", "--check"] => codegen::check().map(|path| println!("{path} is up to date")),
        ["bench", options @ ..] => bench::run(options),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_tidy() -> Result<(), Failure> {
    let report = tidy::check(&Tree::of_this_repository()?)?;
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    report.into_result("tidy")?;
    println!("tidy: every rule holds");
    Ok(())
}

fn run_docs(with_commands: bool) -> Result<(), Failure> {
    let tree = Tree::of_this_repository()?;
    docs::check(&tree).into_result("docs")?;
    if with_commands {
        docs::commands::check(&tree)?.into_result("docs")?;
    }
    println!("docs: every rule holds");
    Ok(())
}
