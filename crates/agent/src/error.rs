//! What can go wrong with an agent, each told so that a person knows which program and what to do.

use std::path::PathBuf;

use crate::process::ExitReport;

/// Names what failed and the program it failed with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AgentError {
    /// No such program, as a path or in `PATH`.
    #[error(
        "The agent program {program:?} was not found. Install it, or correct the command in its profile."
    )]
    ProgramNotFound {
        /// The program as it was named.
        program: String,
    },
    /// The program is a file that may not or cannot be run.
    #[error("The agent program {program:?} cannot be run: {reason}")]
    NotExecutable {
        /// The program as it was named.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// The directory to work in is not there.
    #[error("The agent program {program:?} was not started: its directory {} is missing.", cwd.display())]
    DirectoryMissing {
        /// The program as it was named.
        program: String,
        /// The directory it was to work in.
        cwd: PathBuf,
    },
    /// The system refused to start the program.
    #[error("The agent program {program:?} could not be started: {reason}")]
    Spawn {
        /// The program as it was named.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// The caller could not record the process, so it was ended again.
    #[error(
        "The agent program {program:?} was started and ended again, because it could not be recorded: {reason}"
    )]
    NotRecorded {
        /// The program as it was named.
        program: String,
        /// What the caller said.
        reason: String,
    },
    /// The program ended before it was ready.
    #[error("The agent program {program:?} ended before it was ready: {report}")]
    ExitedAtOnce {
        /// The program as it was named.
        program: String,
        /// How it ended.
        report: ExitReport,
    },
    /// The program ended while it was needed.
    #[error("The agent program {program:?} ended in the middle of its work: {report}")]
    Exited {
        /// The program as it was named.
        program: String,
        /// How it ended.
        report: ExitReport,
    },
    /// The program did not answer in time and was ended.
    #[error(
        "The agent program {program:?} did not answer {step:?} within {waited_ms} ms.{}",
        last_lines(stderr_tail)
    )]
    NoAnswer {
        /// The program as it was named.
        program: String,
        /// The protocol method that was not answered.
        step: String,
        /// How long it was waited for.
        waited_ms: u64,
        /// The last lines of its standard error.
        stderr_tail: String,
    },
    /// The program wrote something that is not ACP and was ended.
    #[error(
        "The agent program {program:?} does not speak ACP on its standard output; it wrote {excerpt:?}. Check the command and its arguments.{}",
        last_lines(stderr_tail)
    )]
    Garbage {
        /// The program as it was named.
        program: String,
        /// The beginning of what it wrote.
        excerpt: String,
        /// The last lines of its standard error.
        stderr_tail: String,
    },
    /// The program wrote a message longer than allowed and was ended.
    #[error("The agent program {program:?} sent a message longer than {limit} bytes and was ended.")]
    FrameTooLarge {
        /// The program as it was named.
        program: String,
        /// The longest message allowed, in bytes.
        limit: usize,
    },
    /// The program answered with an error.
    #[error("The agent program {program:?} refused {step:?}: {message}{}", last_lines(stderr_tail))]
    Protocol {
        /// The program as it was named.
        program: String,
        /// The protocol method it refused.
        step: String,
        /// Its words.
        message: String,
        /// The last lines of its standard error.
        stderr_tail: String,
    },
    /// The program wants a login first.
    #[error("The agent program {program:?} wants a login first. {}", login_hint(methods))]
    AuthenticationRequired {
        /// The program as it was named.
        program: String,
        /// The ways of logging in that it offers.
        methods: Vec<String>,
    },
    /// The process is gone already.
    #[error("The agent program {program:?} no longer runs: {report}")]
    NotRunning {
        /// The program as it was named.
        program: String,
        /// How it ended.
        report: ExitReport,
    },
    /// No such permission request waits for an answer.
    #[error("The permission request {request_id:?} is unknown or answered already.")]
    UnknownPermission {
        /// The id that was answered.
        request_id: String,
    },
    /// The option is none of those offered; the request still waits.
    #[error("The permission request {request_id:?} offers no option {option_id:?}.")]
    UnknownOption {
        /// The id that was answered.
        request_id: String,
        /// The option that was chosen.
        option_id: String,
    },
}

/// Words the end of standard error as a last sentence, if there is any.
pub(crate) fn last_lines(stderr_tail: &str) -> String {
    if stderr_tail.is_empty() { String::new() } else { format!(" Its last lines: {stderr_tail}") }
}

fn login_hint(methods: &[String]) -> String {
    if methods.is_empty() {
        "Log in with the program itself, then start again.".to_owned()
    } else {
        format!("It offers: {}. Log in with the program itself, then start again.", methods.join(", "))
    }
}
