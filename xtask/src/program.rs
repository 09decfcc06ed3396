//! Programs that the commands start: git, cargo, the freehold binary and, in benchmarks, wrk.
//!
//! The only module of this crate that starts programs. Nothing goes through a shell.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Failure;
use crate::tree::repository_root;

/// Prepares a program to be started in the repository's root, without input.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate starts programs")]
    let mut command = Command::new(name);
    command.current_dir(repository_root()).stdin(Stdio::null());
    command
}

/// Runs a program to its end and gives what it wrote to standard output; fails with its error output.
pub fn output_of(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let line = describe(command);
    let output =
        command.output().map_err(|error| Failure::new(format!("could not start `{line}`: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("`{line}` ended with {}:\n{}", output.status, errors.trim_end())))
}

/// The line a person would type to run the same.
pub fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Finds the freehold binary: the one named by `FREEHOLD_BIN`, or else builds it in `profile`.
pub fn freehold_binary(profile: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os("FREEHOLD_BIN") {
        let path = repository_root().join(path);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(Failure::new(format!("FREEHOLD_BIN names {}, which is no file", path.display())))
        };
    }
    let arguments = ["build", "--quiet", "--package", "freehold-cli", "--profile", profile];
    let built =
        output_of(program("cargo").args(arguments).arg("--message-format=json").stderr(Stdio::inherit()))?;
    let messages = String::from_utf8_lossy(&built);
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "freehold")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| Failure::new("cargo built freehold-cli without naming the binary `freehold`"))
}
