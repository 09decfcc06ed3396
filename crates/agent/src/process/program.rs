//! Finds the file of a program, so that a missing one is told apart from one that cannot run.
//!
//! Nothing is looked up relative to the agent's directory: a workspace must not be able to put itself in the
//! place of the agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::AgentCommand;
use crate::error::AgentError;

/// Finds the program of a command as an absolute path.
pub(super) fn find(command: &AgentCommand) -> Result<PathBuf, AgentError> {
    let program = &command.program;
    let name = program.display().to_string();
    if program.is_absolute() {
        return if program.exists() { require_executable(program, name) } else { Err(not_found(name)) };
    }
    if program.components().count() != 1 {
        let reason = "give an absolute path, or a name to look up in PATH".to_owned();
        return Err(AgentError::NotExecutable { program: name, reason });
    }
    let path = command.env.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
    let candidates: Vec<PathBuf> = std::env::split_paths(&path.unwrap_or_default())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .filter(|candidate| candidate.is_file())
        .collect();
    match candidates.iter().find(|candidate| is_executable(candidate)).or(candidates.first()) {
        Some(candidate) => require_executable(candidate, name),
        None => Err(not_found(name)),
    }
}

fn require_executable(path: &Path, name: String) -> Result<PathBuf, AgentError> {
    if is_executable(path) {
        return Ok(path.to_owned());
    }
    let reason = if path.is_dir() {
        "it is a directory".to_owned()
    } else {
        format!("{} is not marked as executable", path.display())
    };
    Err(AgentError::NotExecutable { program: name, reason })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn not_found(program: String) -> AgentError {
    AgentError::ProgramNotFound { program }
}
