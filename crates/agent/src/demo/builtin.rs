//! The script a newcomer meets: it thinks, plans, reads, edits two files, adds one, and tells about it.
//!
//! Words in the prompt change it: `permission` makes it ask first, `slow` makes it talk slowly, and `list` or
//! `see` make it tell the files it sees instead of changing any.

use std::path::{Path, PathBuf};

use super::files;
use super::script::{DemoStep, FileEdit, FileName, PermissionStep};

/// The file it adds.
const ADDED: &str = "freehold-demo.md";

/// What it plans.
const PLAN: [&str; 3] =
    ["Read a file to know where I am", "Edit two files", "Add a file that tells what I did"];

/// Chooses what to do for a prompt in a directory.
pub(super) fn steps(prompt: &str, folder: &Path) -> Vec<DemoStep> {
    let words: Vec<String> =
        prompt.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase).collect();
    let has = |word: &str| words.iter().any(|candidate| candidate == word);
    if has("list") || has("see") {
        return vec![
            DemoStep::Think { think: "I look at the files of this workspace.".to_owned() },
            DemoStep::List { list: true },
        ];
    }
    let mut steps = opening(folder);
    if has("permission") {
        let permission = PermissionStep {
            title: format!("Edit two files and write {ADDED}"),
            options: Vec::new(),
            then: changes(prompt, has("slow")),
            otherwise: vec![say("All right, I changed nothing.", false)],
        };
        steps.push(DemoStep::Permission { permission });
    } else {
        steps.extend(changes(prompt, has("slow")));
    }
    steps
}

fn opening(folder: &Path) -> Vec<DemoStep> {
    let mut steps = vec![
        DemoStep::Think {
            think: "I first look around, then make a small change that is easy to see.".to_owned(),
        },
        plan(0),
    ];
    if let Some(path) = files::text_files(folder, 1).into_iter().next() {
        steps.push(DemoStep::Read { read: FileName { path } });
    }
    steps.push(plan(1));
    steps
}

/// Tells the plan again, with its first `done` entries completed.
fn plan(done: usize) -> DemoStep {
    DemoStep::Plan { plan: PLAN.map(str::to_owned).to_vec(), done }
}

fn changes(prompt: &str, is_slow: bool) -> Vec<DemoStep> {
    let asked = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let edit = FileEdit {
        path: PathBuf::from(ADDED),
        append: Some(format!("The demo agent was asked: {asked}\n")),
        ..FileEdit::default()
    };
    let closing = format!(
        "Done. I edited two files and wrote `{ADDED}`. I am the **demo agent** and follow a script; add a real \
         agent in the settings, and it will work in a workspace just like this one."
    );
    vec![
        say("I begin with two files that are here already.\n\n", is_slow),
        DemoStep::EditExisting { edit_existing: 2 },
        plan(2),
        DemoStep::Edit { edit },
        plan(3),
        say(&closing, is_slow),
    ]
}

fn say(text: &str, is_slow: bool) -> DemoStep {
    let (chunks, chunk_ms) = if is_slow { (40, 150) } else { (8, 15) };
    DemoStep::Say { say: text.to_owned(), chunks, chunk_ms }
}
