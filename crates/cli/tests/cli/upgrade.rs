//! Databases that people bring along: `freehold upgrade`, `freehold import`, and a server that starts on one.

use std::fs::File;
use std::path::{Path, PathBuf};

use freehold_testkit::legacy::{LegacyDatabase, Revision, dump};
use serde_json::{Value, json};

use crate::scene::{Answer, Scene};

/// A Kandev home with a database in it.
struct Kandev {
    scene: Scene,
    home: PathBuf,
}

impl Kandev {
    /// Makes the home and its database; `fill` adds rows.
    fn new(fill: impl FnOnce(&mut LegacyDatabase)) -> Self {
        let scene = Scene::new();
        let home = scene.repo.home().join("kandev");
        std::fs::create_dir_all(home.join("data")).unwrap();
        let kandev = Self { scene, home };
        let mut database = LegacyDatabase::create(&kandev.url(), Revision::Release085);
        fill(&mut database);
        kandev
    }

    /// One with a task whose worktree two rows agree on.
    fn everyday() -> Self {
        Self::new(|database| {
            database
                .repository("repo-1")
                .task("task-1")
                .flat_environment("environment-1", "task-1", "worktree-1")
                .session("session-1", "task-1", "COMPLETED")
                .with("task_environment_id", "environment-1")
                .session_worktree("session-1", "worktree-1")
                .message("session-1", "Well done 👍")
                .cleanup_job("job-1", "task-1", "session_delete")
                .cleanup_job("job-2", "task-1", "archive");
        })
    }

    /// One in which two tasks claim a worktree with equal right.
    fn contested() -> Self {
        Self::new(|database| {
            database
                .repository("repo-1")
                .task("task-1")
                .flat_environment("environment-1", "task-1", "worktree-1")
                .task("task-2")
                .flat_environment("environment-2", "task-2", "worktree-1");
        })
    }

    fn database(&self) -> PathBuf {
        self.home.join("data").join("kandev.db")
    }

    fn url(&self) -> String {
        format!("sqlite://{}", self.database().display())
    }

    /// Runs a command on the database in its place.
    fn run(&self, words: &[&str]) -> Answer {
        self.scene.run(&[words, &["--db", &self.url()]].concat())
    }
}

/// The names of the files in a folder, and what they hold.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn an_older_database_is_upgraded_once_and_a_second_time_nothing_happens() {
    let kandev = Kandev::everyday();
    let done = kandev.run(&["upgrade"]).json();
    assert_eq!(done["found"], "legacy");
    let plan = &done["upgrade"]["plan"];
    let numbers =
        ["tasks", "sessions", "worktrees_owned", "jobs_removed", "jobs_kept"].map(|name| plan[name].clone());
    assert_eq!(numbers, [json!(1), json!(1), json!(1), json!(1), json!(1)]);
    let snapshot = done["upgrade"]["snapshot"].as_str().unwrap();
    assert!(Path::new(snapshot).starts_with(kandev.home.join("data").join("backups")), "{snapshot}");
    let rows = dump(&kandev.url());
    let again = kandev.run(&["upgrade"]).json();
    assert_eq!((&again["found"], &again["upgrade"]), (&json!("final"), &Value::Null));
    assert_eq!(dump(&kandev.url()), rows);

    let tasks = kandev.run(&["task", "list"]).json();
    assert_eq!((&tasks[0]["id"], tasks.as_array().unwrap().len()), (&json!("task-1"), 1), "{tasks}");
}

#[test]
fn a_plan_shows_everything_and_changes_nothing() {
    let kandev = Kandev::contested();
    let (before, on_disk) = (dump(&kandev.url()), files(&kandev.home.join("data")));
    let shown = kandev.scene.read(&["upgrade", "--plan", "--db", &kandev.url()]);
    assert_eq!(shown.code, 4, "{shown:?}");
    for word in ["(task-1)", "(task-2)", "worktree worktree-1", "--resolve owner:worktree-1=environment-1"] {
        assert!(shown.out.contains(word), "{word}: {}", shown.out);
    }
    let plan = kandev.scene.run(&["upgrade", "--plan", "--db", &kandev.url()]);
    let plan: Value = serde_json::from_str(&plan.out).unwrap();
    assert_eq!(plan["conflicts"][0]["id"], "owner:worktree-1");
    assert_eq!(plan["conflicts"][0]["claims"].as_array().unwrap().len(), 2);
    assert_eq!((dump(&kandev.url()), files(&kandev.home.join("data"))), (before, on_disk));
}

#[test]
fn a_conflict_stops_everything_until_a_person_answers() {
    let kandev = Kandev::contested();
    let before = dump(&kandev.url());
    let refused = kandev.run(&["upgrade"]).error(4);
    assert_eq!(refused["code"], "upgrade_conflicts");
    for wrong in ["owner:worktree-1", "owner:other=environment-1", "owner:worktree-1=environment-9"] {
        let refused = kandev.run(&["upgrade", "--resolve", wrong]).error(2);
        assert_eq!(refused["code"], "invalid_resolution", "{refused}");
    }
    assert!(!kandev.home.join("data").join("backups").exists());
    assert_eq!(dump(&kandev.url()), before);

    let done = kandev.run(&["upgrade", "--resolve", "owner:worktree-1=environment-2"]).json();
    assert_eq!(done["upgrade"]["plan"]["worktrees_owned"], 1);
    let decided =
        freehold_testkit::legacy::rows(&kandev.url(), "SELECT conflict, choice FROM upgrade_decisions");
    assert!(format!("{decided:?}").contains("environment-2"), "{decided:?}");
}

#[test]
fn a_server_upgrades_by_itself_unless_it_is_told_not_to() {
    let kandev = Kandev::everyday();
    let before = dump(&kandev.url());
    let refused = kandev.run(&["serve", "--no-upgrade", "--no-open", "--port", "0"]).error(4);
    assert_eq!(refused["code"], "upgrade_needed");
    assert!(refused["message"].as_str().unwrap().contains("worktrees"), "{refused}");
    let refused = kandev.run(&["task", "list"]).error(4);
    assert_eq!(refused["code"], "upgrade_needed", "a command that only reads upgrades nothing");
    let examined = kandev.run(&["doctor"]);
    assert!(examined.out.contains("it must be upgraded first"), "{examined:?}");
    assert_eq!(dump(&kandev.url()), before);

    let server = kandev.scene.serve(&["--db", &kandev.url()]);
    let jobs = kandev.scene.run(&["cleanup", "list"]).json();
    assert_eq!(jobs.as_array().unwrap().len(), 1, "{jobs}");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(kandev.run(&["upgrade"]).json()["found"], "final");
}

#[test]
fn an_import_leaves_the_original_as_it_was() {
    let kandev = Kandev::everyday();
    let (before, on_disk) = (dump(&kandev.url()), files(&kandev.home.join("data")));
    let home = kandev.home.to_str().unwrap();
    let shown = kandev.scene.read(&["import", "kandev", "--home", home]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(
        shown.out.contains("Imported ") && shown.out.contains("What did not come along"),
        "{}",
        shown.out
    );
    assert_eq!((dump(&kandev.url()), files(&kandev.home.join("data"))), (before, on_disk));
    assert_eq!(kandev.scene.run(&["task", "list"]).json()[0]["id"], "task-1");

    let again = kandev.scene.run(&["import", "kandev", "--home", home]).error(5);
    assert_eq!(again["code"], "database_exists");
}

#[test]
fn an_import_waits_for_the_other_program_to_end() {
    let kandev = Kandev::everyday();
    let lock = File::create(kandev.home.join(".kandev-backend.lock")).unwrap();
    lock.lock().unwrap();
    let words = ["import", "kandev", "--home", kandev.home.to_str().unwrap()];
    let refused = kandev.scene.run(&words).error(5);
    assert_eq!(refused["code"], "database_in_use");
    assert!(refused["message"].as_str().unwrap().contains(".kandev-backend.lock"), "{refused}");
    assert_eq!(kandev.run(&["upgrade"]).error(5)["code"], "database_in_use");
    assert!(!kandev.scene.home().join("freehold.db").exists());
    drop(lock);
    kandev.scene.run(&words).json();
}

#[test]
fn an_import_from_nowhere_and_one_with_a_conflict_leave_nothing() {
    let kandev = Kandev::contested();
    let nowhere = kandev.scene.repo.home().join("nowhere");
    let refused = kandev.scene.run(&["import", "kandev", "--home", nowhere.to_str().unwrap()]).error(3);
    assert_eq!((&refused["code"], &refused["subject"]), (&json!("no_database"), &json!(nowhere)));
    let into = kandev.scene.repo.home().join("other");
    let words =
        ["import", "kandev", "--home", kandev.home.to_str().unwrap(), "--into", into.to_str().unwrap()];
    assert_eq!(kandev.scene.run(&words).error(4)["code"], "upgrade_conflicts");
    let unnamed = kandev.scene.run(&["import", "kandev"]).error(3);
    let usual = kandev.scene.repo.home().join(".kandev");
    assert_eq!(unnamed["subject"], json!(usual), "the home of Freehold is not taken for Kandev's");
    let left: Vec<String> = files(&into).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["freehold.lock"]);
    let answer = ["--resolve", "owner:worktree-1=environment-1"];
    let done = kandev.scene.run(&[&words[..], &answer].concat()).json();
    assert_eq!(done["upgrade"]["plan"]["worktrees_owned"], 1);
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_the_way_back_is_named() {
    let kandev = Kandev::everyday();
    let done = kandev.run(&["upgrade"]).json();
    let newer = "UPDATE freehold_meta SET value = CASE key WHEN 'schema_version' THEN '99' ELSE '7.1.0' END \
                 WHERE key IN ('schema_version', 'written_by')";
    LegacyDatabase::open(&kandev.url(), 0).sql(newer);
    let before = dump(&kandev.url());
    for words in [&["upgrade"][..], &["serve", "--no-open", "--port", "0"], &["task", "list"]] {
        let refused = kandev.run(words).error(1);
        let message = refused["message"].as_str().unwrap();
        let snapshot = done["upgrade"]["snapshot"].as_str().unwrap();
        for word in ["99", "7.1.0", env!("CARGO_PKG_VERSION"), snapshot] {
            assert!(message.contains(word), "{word}: {message}");
        }
    }
    assert_eq!(dump(&kandev.url()), before);
}

#[test]
fn an_answer_that_another_one_made_needless_is_no_mistake() {
    let kandev = Kandev::new(|database| {
        database
            .repository("repo-1")
            .task("task-1")
            .session("session-1", "task-1", "RUNNING")
            .session_worktree("session-1", "worktree-1")
            .session_worktree("session-1", "worktree-2")
            .task("task-2")
            .session("session-2", "task-2", "RUNNING")
            .session_worktree("session-2", "worktree-2")
            .session_worktree("gone", "worktree-1");
    });
    let shown = kandev.scene.run(&["upgrade", "--plan", "--db", &kandev.url()]);
    let plan: Value = serde_json::from_str(&shown.out).unwrap();
    let conflicts = plan["conflicts"].as_array().unwrap();
    let answers: Vec<String> = conflicts
        .iter()
        .map(|conflict| {
            let claims = conflict["claims"].as_array().unwrap();
            let claim = claims.iter().find(|claim| claim["task_id"] == "task-2").unwrap_or(&claims[0]);
            format!("{}={}", conflict["id"].as_str().unwrap(), claim["choice"].as_str().unwrap())
        })
        .collect();
    assert_eq!(answers.len(), 2, "{plan}");
    let words = ["upgrade", "--resolve", &answers[0], "--resolve", &answers[1]];
    assert_eq!(kandev.run(&words).json()["upgrade"]["plan"]["worktrees_owned"], 2);
}

#[test]
fn what_stands_in_the_way_of_an_upgrade_is_named() {
    let kandev = Kandev::everyday();
    LegacyDatabase::open(&kandev.url(), 0)
        .sql("CREATE VIEW mine AS SELECT worktree_id FROM task_environments");
    let before = dump(&kandev.url());
    let refused = kandev.run(&["upgrade"]).error(1);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("the view mine reads task_environments; drop it first"), "{message}");
    assert_eq!(dump(&kandev.url()), before);

    let letter = kandev.scene.repo.home().join("letter.txt");
    std::fs::write(&letter, "Dear reader, ".repeat(100)).unwrap();
    let refused = kandev.scene.run(&["upgrade", "--db", letter.to_str().unwrap()]).error(6);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("letter.txt") && message.contains("not a database"), "{message}");
}
