//! Help texts, completions and the document of the interface.

use crate::scene::{ended, plain};

/// Every command that a person may ask about.
const COMMANDS: &[&str] = &[
    "",
    "serve",
    "repo add",
    "repo set",
    "repo trust",
    "task new",
    "task diff",
    "task archive",
    "session start",
    "session send",
    "agent add",
    "cleanup",
    "storage",
    "storage quarantine",
    "demo",
    "doctor",
    "upgrade",
    "import kandev",
];

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let answer = ended(&mut plain(&words));
        assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{command}");
        let name = format!("help {command}").trim().replace(' ', "-");
        insta::assert_snapshot!(name, answer.out);
    }
}

#[test]
fn a_wrong_command_line_is_refused_as_text_and_as_json() {
    let text = ended(&mut plain(&["task", "fly"]));
    assert_eq!((text.code, text.out.as_str()), (2, ""));
    assert!(text.err.contains("unrecognized subcommand 'fly'"), "{}", text.err);
    let error = ended(&mut plain(&["task", "fly", "--json"])).error(2);
    assert_eq!(error["code"], "usage");
    assert!(error["message"].as_str().unwrap().starts_with("unrecognized subcommand 'fly'"), "{error}");
}

#[test]
fn a_wrong_log_filter_and_a_wrong_database_are_named() {
    let filter = ended(&mut plain(&["doctor", "--json", "--log", "a=b=c"])).error(2);
    assert_eq!(filter["code"], "invalid_log_filter");
    let database = ended(&mut plain(&["repo", "list", "--json", "--database", "mysql://h/d"])).error(2);
    assert_eq!(database["code"], "invalid_database");
}

#[test]
fn completions_know_every_shell_and_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = ended(&mut plain(&["completions", shell]));
        assert_eq!(answer.code, 0, "{}", answer.err);
        for word in ["archive", "discard", "doctor"] {
            assert!(answer.out.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn the_document_of_the_interface_is_printed() {
    let answer = ended(&mut plain(&["openapi"]));
    let document: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert!(document["paths"]["/api/v1/tasks/{id}/archive"]["post"].is_object());
}
