//! The only module of this crate that starts programs: Git for repositories made for show and for looking at
//! the truth, a server of its own for the demo, the browser.
//!
//! Agents are not among them; they belong to the agent crate. Nothing goes through a shell.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Exit, Failure};

/// Prepares a program without input.
#[expect(
    clippy::disallowed_methods,
    reason = "these programs are no agents: they end with the command or belong to the person"
)]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

/// Prepares Git in a directory. It takes no lock for looking and obeys no variable that leads it elsewhere.
pub(crate) fn git(directory: &Path) -> Command {
    let mut command = program("git");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_setting = name.starts_with("GIT_CONFIG_GLOBAL") || name.starts_with("GIT_CONFIG_NOSYSTEM");
        if name.starts_with("GIT_") && !is_setting {
            command.env_remove(name);
        }
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").arg("-C").arg(directory);
    command
}

/// Runs a program to its end and gives what it wrote; fails with its last words.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| could_not_start(&name, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("`{name} {words}` ended with {}: {}", output.status, said.trim());
    Err(Failure::new(Exit::Failure, "program_failed", message).subject(name))
}

/// Says why a program could not be started.
pub(crate) fn could_not_start(name: &str, error: &std::io::Error) -> Failure {
    let message = format!("the program {name} could not be started: {error}");
    Failure::new(Exit::Failure, "program_missing", message).subject(name)
}

/// Opens an address in the person's browser; false where there is no display to open it on.
pub(crate) fn open_browser(url: &str) -> bool {
    let has_display = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let name = match std::env::consts::OS {
        "macos" => "open",
        _ if has_display("DISPLAY") || has_display("WAYLAND_DISPLAY") => "xdg-open",
        _ => return false,
    };
    let started = program(name).arg(url).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut opener) = started else { return false };
    // Reaped by a thread of its own, since some openers stay as long as the browser does.
    std::thread::spawn(move || opener.wait());
    true
}
