//! How a command fails: an exit code for scripts, and the same four texts that the server sends for people.

use freehold_api::error::ErrorBody;
use serde_json::{Value, json};

/// The exit codes of every command. They are documented in `freehold --help` and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command failed for a reason without a code of its own.
    Failure = 1,
    /// The command line or a value in it cannot be used.
    Usage = 2,
    /// Something that was named does not exist.
    NotFound = 3,
    /// A person must decide; nothing was removed.
    NeedsDecision = 4,
    /// The request is right, but not now: closed, busy or being cleaned up.
    Conflict = 5,
    /// The server or the database cannot be reached.
    Unreachable = 6,
}

impl Exit {
    /// The number given to the system.
    #[must_use]
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}

/// A command that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What the process ends with.
    pub(crate) exit: Exit,
    /// What happened, to what, and what to do next.
    pub(crate) body: Box<ErrorBody>,
}

impl Failure {
    /// Makes a failure from a stable word and a sentence.
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        let body = ErrorBody {
            code: code.to_owned(),
            message: message.into(),
            hint: String::new(),
            subject: String::new(),
            disk_bytes: None,
            stakes: Vec::new(),
            offer: None,
            tasks: Vec::new(),
        };
        Self { exit, body: Box::new(body) }
    }

    /// Adds what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = hint.into();
        self
    }

    /// Names what the failure is about.
    #[must_use]
    pub(crate) fn subject(mut self, subject: impl Into<String>) -> Self {
        self.body.subject = subject.into();
        self
    }

    /// A file or folder that could not be read or written.
    pub(crate) fn file(operation: &str, path: &std::path::Path, source: &std::io::Error) -> Self {
        let path = path.display().to_string();
        Self::new(Exit::Failure, "file_system", format!("cannot {operation} {path}: {source}")).subject(path)
    }

    /// The failure as the one JSON document that `--json` puts on standard error.
    #[must_use]
    pub(crate) fn to_json(&self) -> Value {
        json!({ "error": self.body })
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.body.message)
    }
}

impl std::error::Error for Failure {}

impl From<freehold_api::client::ClientError> for Failure {
    fn from(error: freehold_api::client::ClientError) -> Self {
        use freehold_api::client::ClientError;
        let message = error.to_string();
        match error {
            ClientError::Refused { status, body } => {
                let exit = match status {
                    409 if body.code == "at_stake" => Exit::NeedsDecision,
                    400 | 413 | 415 | 422 => Exit::Usage,
                    404 => Exit::NotFound,
                    409 => Exit::Conflict,
                    _ => Exit::Failure,
                };
                Self { exit, body }
            }
            ClientError::Unreachable { address, .. } => {
                Self::new(Exit::Unreachable, "server_unreachable", message)
                    .hint("start it with: freehold serve")
                    .subject(address)
            }
            ClientError::Unreadable { address, .. } => Self::new(Exit::Failure, "unreadable_answer", message)
                .hint("is the server of the same version as this command?")
                .subject(address),
        }
    }
}

impl From<freehold_store::HomeLocked> for Failure {
    fn from(error: freehold_store::HomeLocked) -> Self {
        use freehold_store::HomeLocked;
        let failure = |exit, code, home: &std::path::Path| {
            Self::new(exit, code, error.to_string()).subject(home.display().to_string())
        };
        match &error {
            HomeLocked::Held { home, .. } => failure(Exit::Conflict, "home_in_use", home)
                .hint("every other command speaks to the server that runs; `freehold --home DIR` uses another folder"),
            HomeLocked::Io { home, .. } => failure(Exit::Failure, "home_not_usable", home),
        }
    }
}

impl From<freehold_store::StoreError> for Failure {
    fn from(error: freehold_store::StoreError) -> Self {
        use freehold_store::StoreError;
        let (exit, code, hint) = match &error {
            StoreError::InvalidUrl { .. } => (Exit::Usage, "invalid_database", ""),
            StoreError::Open { .. } => (
                Exit::Unreachable,
                "database_unreachable",
                "check that the database server runs and that the URL, user and password are right",
            ),
            StoreError::NotFreehold { .. } | StoreError::UnknownSchema { .. } => {
                (Exit::Failure, "database_not_usable", "name another database with --database")
            }
            StoreError::UpgradeNeeded { .. } => (
                Exit::NeedsDecision,
                "upgrade_needed",
                "upgrade it with: freehold upgrade (with --plan to look first), or start: freehold serve",
            ),
            StoreError::UpgradeConflicts { .. } => (
                Exit::NeedsDecision,
                "upgrade_conflicts",
                "answer with: freehold upgrade --resolve CONFLICT=CHOICE …; until then nothing changes",
            ),
            StoreError::Resolution(_) => (Exit::Usage, "invalid_resolution", ""),
            StoreError::InUse { .. } => (Exit::Conflict, "database_in_use", ""),
            StoreError::Snapshot { .. } => {
                (Exit::Failure, "no_snapshot", "make room on the disk, or make the folder writable")
            }
            _ => (Exit::Failure, "database", ""),
        };
        let message = match &error {
            StoreError::UpgradeNeeded { plan, .. } => format!("{error}\n\n{plan}"),
            _ => error.to_string(),
        };
        Self::new(exit, code, message).hint(hint)
    }
}

impl From<freehold_git::GitError> for Failure {
    fn from(error: freehold_git::GitError) -> Self {
        Self::new(Exit::Failure, "git", error.to_string())
    }
}

impl From<freehold_engine::EngineError> for Failure {
    fn from(error: freehold_engine::EngineError) -> Self {
        use freehold_engine::ErrorKind;
        let exit = match error.kind() {
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::Invalid => Exit::Usage,
            ErrorKind::Conflict => Exit::Conflict,
            ErrorKind::Unavailable | ErrorKind::Internal => Exit::Failure,
        };
        Self::new(exit, error.code(), error.to_string()).hint(error.hint()).subject(error.subject())
    }
}
