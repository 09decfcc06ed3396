//! Session code cannot obtain the right to remove: the compiler refuses it.
//!
//! The engine's own sources are compiled again with lines added to the module of sessions, beside the libraries that
//! this test was built with. Unchanged lines compile, so it is the added ones that are refused, each for its reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names that a session could want, each in a private module.
const NAMES: [&str; 4] = [
    "use crate::cleanup::permit::RemovalPermit as _;",
    "use crate::cleanup::permit::FolderPermit as _;",
    "use crate::cleanup::permit::PurgePermit as _;",
    "use crate::cleanup::permit::ClaimedJob as _;",
];

/// Steps of a claimed job that a session could want to take.
const STEPS: &str = "
async fn steps_of_a_job(engine: &Engine) {
    drop(engine.attempt());
    drop(engine.remove());
    drop(engine.seal_all());
    drop(engine.seal_folder());
    drop(engine.remove_folder());
    drop(engine.purge());
}
";

/// The same shape with what sessions may do.
const CONTROL: &str = "
use crate::cleanup::CloseAction as _;
#[allow(dead_code)]
async fn steps_of_a_session(engine: &Engine, task: TaskId) {
    drop(engine.stop_sessions_of(&task));
}
";

#[test]
fn session_code_cannot_name_a_permit_nor_take_a_step_that_needs_one() {
    let libraries = libraries();
    assert_eq!(refusals(&libraries, CONTROL), [], "the control compiles");

    let names = refusals(&libraries, &NAMES.join("\n"));
    let private: Vec<&str> = names.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(private, ["E0603"; NAMES.len()], "{names:?}");
    assert!(names.iter().all(|(_, message)| message.contains("`permit` is private")), "{names:?}");

    let steps = refusals(&libraries, STEPS);
    let private: Vec<&str> = steps.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(private, ["E0624"; 6], "{steps:?}");
}

/// The code and message of every error that the compiler finds with lines added to the module of sessions.
#[expect(clippy::disallowed_methods, reason = "the compiler is what the test is about")]
fn refusals(libraries: &BTreeMap<String, PathBuf>, lines: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    copy(&sources, folder.path());
    let session = folder.path().join("session.rs");
    let code = std::fs::read_to_string(&session).unwrap();
    std::fs::write(&session, format!("{code}\n{lines}\n")).unwrap();
    let mut command = Command::new("rustc");
    command.arg(folder.path().join("lib.rs")).current_dir(folder.path());
    command.args(["--edition=2024", "--crate-type=lib", "--crate-name=freehold_engine", "--emit=metadata"]);
    command.args(["--cap-lints=allow", "--error-format=json", "--cfg=feature=\"failpoints\""]);
    for (name, library) in libraries {
        command.arg("--extern").arg(format!("{name}={}", library.display()));
    }
    let deps = libraries.values().next().unwrap().parent().unwrap();
    command.arg("-L").arg(format!("dependency={}", deps.display()));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let errors = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let errors = errors.filter(|message| message["level"] == "error" && !message["spans"][0].is_null());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let refusals: Vec<_> =
        errors.map(|error| (text(&error["code"]["code"]), text(&error["message"]))).collect();
    assert_eq!(output.status.success(), refusals.is_empty(), "{said}");
    refusals
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The names of the libraries that the engine depends on directly, as its manifest says.
fn dependencies() -> Vec<String> {
    let manifest = include_str!("../../Cargo.toml");
    let section = manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap();
    let names = section.lines().skip(1).filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

/// The libraries that the newest engine beside this test was built with. A library names those it needs by the ends
/// of their file names, which tell several builds of one apart.
fn libraries() -> BTreeMap<String, PathBuf> {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let built: Vec<PathBuf> =
        built.filter(|path| path.extension().is_some_and(|end| end == "rlib")).collect();
    let is_of = |path: &&PathBuf, name: &str| name_and_end(path).is_some_and(|(it, _)| it == name);
    let changed = |path: &&PathBuf| path.metadata().unwrap().modified().unwrap();
    let engine = built.iter().filter(|path| is_of(path, "freehold_engine")).max_by_key(changed).unwrap();
    let engine = std::fs::read(engine).unwrap();
    let needs = |path: &&PathBuf| {
        let end = name_and_end(path).unwrap().1;
        engine.windows(end.len()).any(|bytes| bytes == end.as_bytes())
    };
    let found = dependencies().into_iter().map(|name| {
        let library = built.iter().find(|path| is_of(path, &name) && needs(path));
        let library = library.unwrap_or_else(|| panic!("no library of {name} fits the engine"));
        (name, library.clone())
    });
    found.collect()
}

/// `lib<name>-<end>.rlib`, taken apart.
fn name_and_end(path: &Path) -> Option<(&str, &str)> {
    path.file_stem()?.to_str()?.strip_prefix("lib")?.rsplit_once('-')
}
