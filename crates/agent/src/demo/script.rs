//! The script: what the demo agent does, as a JSON file or as a value.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The variable that may name the script's file.
pub const SCRIPT_VARIABLE: &str = "FREEHOLD_DEMO_SCRIPT";

/// What can go wrong with the demo agent.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The script cannot be read.
    #[error("The script {} cannot be read: {source}", path.display())]
    ReadScript {
        /// Its file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The script is not what a script must be.
    #[error("The script {} is not a demo script: {source}", path.display())]
    ParseScript {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// The connection to the client broke.
    #[error("The connection to the client failed: {message}")]
    Serve {
        /// What the protocol says.
        message: String,
    },
}

/// What the demo agent does from its start to its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DemoScript {
    /// What it does when it is started.
    pub on_start: OnStart,
    /// Its turns. A prompt takes the first turn not yet played whose `match` it contains; the last turn without
    /// a `match` is played again and again.
    pub turns: Vec<DemoTurn>,
}

/// How the demo agent begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStart {
    /// Serves.
    #[default]
    Ok,
    /// Ends at once with exit code 3 and a line on standard error.
    Exit,
    /// Writes a line that is no JSON, then serves.
    Garbage,
    /// Never answers.
    Hang,
    /// Asks for a login instead of opening a session.
    LoginRequired,
}

/// What the demo agent does with one prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemoTurn {
    /// A part of the prompt; absent for any prompt.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// What it does, in order.
    pub steps: Vec<DemoStep>,
}

/// One thing the demo agent does. Paths are relative to the directory of its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum DemoStep {
    /// Says a text, in pieces if wished.
    Say {
        /// The text.
        say: String,
        /// The pause between pieces, in milliseconds.
        #[serde(default)]
        chunk_ms: u64,
        /// The number of pieces.
        #[serde(default = "one")]
        chunks: usize,
    },
    /// Thinks a text.
    Think {
        /// The text.
        think: String,
    },
    /// Tells its plan.
    Plan {
        /// The entries.
        plan: Vec<String>,
        /// How many of them, from the first, are completed.
        #[serde(default)]
        done: usize,
    },
    /// Edits one file that exists.
    Edit {
        /// Which, and how.
        edit: FileEdit,
    },
    /// Appends a line to the first text files of the directory, in the order of their names.
    EditExisting {
        /// How many.
        edit_existing: usize,
    },
    /// Makes a file.
    Create {
        /// Which, and with what.
        create: NewFile,
    },
    /// Reads a file and says what it holds, or that it is missing.
    Read {
        /// Which.
        read: FileName,
    },
    /// Says the name of every file of the directory.
    List {
        /// Whether to.
        list: bool,
    },
    /// Asks for permission.
    Permission {
        /// For what, and what then.
        permission: PermissionStep,
    },
    /// Waits.
    Wait {
        /// How long, in milliseconds.
        wait_ms: u64,
    },
    /// Waits until the turn is cancelled.
    Hang {
        /// Whether to.
        hang: bool,
    },
    /// Ends the turn with an error.
    Fail {
        /// Its words.
        fail: String,
    },
    /// Ends the process in the middle of the turn.
    Exit {
        /// The exit code.
        exit: i32,
    },
    /// Writes a line that is no JSON.
    Garbage {
        /// Whether to.
        garbage: bool,
    },
    /// Says very much very fast.
    Flood {
        /// How much.
        flood: Flood,
    },
    /// Starts a child that ignores SIGTERM and outlives the agent if it is let.
    SpawnStubbornChild {
        /// How.
        spawn_stubborn_child: StubbornChild,
    },
    /// Says the value of one of its environment variables, or that it has none.
    SayVariable {
        /// Its name.
        say_variable: String,
    },
    /// Writes a line on standard error.
    Warn {
        /// The line.
        warn: String,
    },
}

fn one() -> usize {
    1
}

/// A change to one file; the file is made when it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEdit {
    /// The file.
    pub path: PathBuf,
    /// Text to put at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
    /// A text in it and the one to put in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<(String, String)>,
    /// Its whole new text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A file with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewFile {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub content: String,
}

/// The name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileName {
    /// The file.
    pub path: PathBuf,
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionStep {
    /// What it asks for.
    pub title: String,
    /// The kinds of answers offered, which are also their ids; `allow_once` and `reject_once` when empty.
    #[serde(default)]
    pub options: Vec<String>,
    /// What it does when allowed.
    #[serde(default)]
    pub then: Vec<DemoStep>,
    /// What it does when refused. When the question is cancelled, the turn ends.
    #[serde(default)]
    pub otherwise: Vec<DemoStep>,
}

/// Very much text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// The number of pieces.
    pub chunks: usize,
    /// The length of each, in bytes.
    pub bytes: usize,
}

/// A child that does not want to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StubbornChild {
    /// Whether it leaves the agent's process group and session.
    #[serde(default)]
    pub setsid: bool,
    /// Whether it wipes its environment, and so the mark of its execution.
    #[serde(default)]
    pub wipe_environment: bool,
    /// The file it writes its number to.
    #[serde(default = "child_pid_file")]
    pub pid_file: PathBuf,
}

fn child_pid_file() -> PathBuf {
    PathBuf::from("stubborn-child.pid")
}

/// Reads a script from a file.
pub fn load_demo_script(path: &Path) -> Result<DemoScript, DemoError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| DemoError::ReadScript { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| DemoError::ParseScript { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_known_by_its_name_and_a_wrong_word_is_refused() {
        let read = |text: &str| serde_json::from_str::<DemoStep>(text);
        let said = DemoStep::Say { say: "hi".to_owned(), chunk_ms: 0, chunks: 1 };
        assert_eq!(read(r#"{"say":"hi"}"#).unwrap(), said);
        assert_eq!(read(r#"{"exit":3}"#).unwrap(), DemoStep::Exit { exit: 3 });
        for wrong in [r#"{"say":"hi","chunk":2}"#, r#"{"shout":"hi"}"#, r#"{"say":"hi","exit":3}"#, "{}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<DemoScript>(r#"{"on_begin":"ok"}"#).is_err());
    }

    #[test]
    fn a_script_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.json");
        let missing = load_demo_script(&path).unwrap_err();
        assert!(missing.to_string().contains("script.json cannot be read"), "{missing}");
        std::fs::write(&path, "{").unwrap();
        let broken = load_demo_script(&path).unwrap_err();
        assert!(broken.to_string().contains("script.json is not a demo script"), "{broken}");
    }
}
