//! The life of a task through the interface and its typed client, on both engines.

use std::path::{Path, PathBuf};

use freehold_api::agent::AddAgentProfile;
use freehold_api::cleanup::{CleanupDecision, CleanupJob, CleanupQuery, CloseOptions, CloseQuery};
use freehold_api::client::ClientError;
use freehold_api::repository::AddRepository;
use freehold_api::session::{MessageQuery, NewSession, Permission, PermissionAnswer, Prompt};
use freehold_api::task::{DiffQuery, TaskQuery, UpdateTask};
use freehold_api::trash::{ReopenTask, SealedDiffQuery, TaskFromSeal, TrashQuery};

use crate::door::{Door, new_task, on_both_engines};

/// The status and code of a refusal.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (u16, String) {
    match result {
        Err(ClientError::Refused { status, body }) => (status, body.code),
        other => panic!("not refused: {other:?}"),
    }
}

fn decide(word: &str) -> CleanupDecision {
    CleanupDecision { decision: word.to_owned(), phrase: None }
}

const CONSENT: CloseOptions = CloseOptions { seal: Some(true), sub_tasks: None, borrowers: None };
const NO_CONSENT: CloseOptions = CloseOptions { seal: None, sub_tasks: None, borrowers: None };

fn prompt(text: &str) -> Prompt {
    Prompt { text: text.to_owned() }
}

fn wait_for_job(door: &Door, job: &CleanupJob, state: &str) -> CleanupJob {
    let begun = std::time::Instant::now();
    loop {
        let job = door.client().cleanup_job(&job.id).unwrap();
        if job.state == state {
            return job;
        }
        assert!(begun.elapsed() < crate::door::LIMIT, "not {state}: {job:#?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn the_server_tells_about_itself_its_boards_repositories_and_agents() {
    on_both_engines(|door| {
        let client = door.client();
        assert_eq!(client.health().unwrap().status, "ok");
        let server = client.server().unwrap();
        assert!(["sqlite", "postgresql"].contains(&server.database.as_str()));
        assert!(Path::new(&server.workspaces_root).starts_with(&server.home), "{server:?}");
        assert!(!server.git_version.is_empty());

        let workspaces = client.workspaces().unwrap();
        let steps = &workspaces[0].workflows[0].steps;
        assert_eq!(steps.iter().filter(|step| step.is_start).count(), 1);
        assert!(steps.is_sorted_by_key(|step| step.position));

        let path = door.repo.path().join("src").to_str().unwrap().to_owned();
        let request = AddRepository { path, name: Some("Sample".into()), workspace_id: None };
        let body = serde_json::to_string(&request).unwrap();
        assert_eq!(door.ask("POST", "/api/v1/repositories", &body).status, 201);
        assert_eq!(door.ask("POST", "/api/v1/repositories", &body).status, 200);
        let again = client.add_repository(&request).unwrap();
        assert!(again.already_registered && !again.note.is_empty(), "{again:?}");
        assert_eq!(client.repositories().unwrap(), std::slice::from_ref(&again.repository));
        let branches = client.branches(&again.repository.id).unwrap();
        assert_eq!(branches.len(), 1);
        assert_eq!(
            (branches[0].name.as_str(), branches[0].is_default, branches[0].is_remote),
            ("main", true, false)
        );
        assert_eq!(branches[0].commit, door.repo.git(&["rev-parse", "main"]));

        let env = [("KEY".to_owned(), "secret-value".to_owned())].into();
        let request =
            AddAgentProfile { name: "Mine".into(), command: "agent".into(), args: vec!["acp".into()], env };
        let added = client.add_agent(&request).unwrap();
        assert_eq!(
            (added.kind.as_str(), added.env_names.as_slice()),
            ("custom", ["KEY".to_owned()].as_slice())
        );
        assert!(client.agents().unwrap().contains(&added));
        assert!(!door.ask("GET", "/api/v1/agents", "").body.contains("secret-value"));
        assert_eq!(refusal(client.add_agent(&request)), (409, "agent_exists".into()));
    });
}

#[test]
fn tasks_are_listed_in_pages_changed_and_moved() {
    on_both_engines(|door| {
        let (client, repository) = (door.client(), door.add_repository());
        let ids: Vec<String> = ["One", "Two", "Three & more"]
            .iter()
            .map(|title| client.create_task(&new_task(&repository, title, "", false)).unwrap().task.id)
            .collect();
        let mut query = TaskQuery { limit: Some(2), ..TaskQuery::default() };
        let first = client.tasks(&query).unwrap();
        query.cursor = first.next_cursor.clone();
        let second = client.tasks(&query).unwrap();
        let listed: Vec<&String> = first.items.iter().chain(&second.items).map(|task| &task.id).collect();
        assert_eq!(listed, ids.iter().collect::<Vec<_>>());
        assert_eq!(second.next_cursor, None);
        let found =
            client.tasks(&TaskQuery { query: Some("three & MORE".into()), ..TaskQuery::default() }).unwrap();
        assert_eq!(found.items.len(), 1);

        let step = client.workspaces().unwrap()[0].workflows[0].steps[1].id.clone();
        let update =
            UpdateTask { title: Some("Renamed".into()), step_id: Some(step.clone()), after_task_id: None };
        let changed = client.update_task(&ids[0], &update).unwrap().task;
        assert_eq!((changed.title.as_str(), changed.step_id.as_str()), ("Renamed", step.as_str()));
        let first =
            UpdateTask { step_id: Some(step.clone()), after_task_id: Some(String::new()), title: None };
        client.update_task(&ids[1], &first).unwrap();
        let column = client.tasks(&TaskQuery { step_id: Some(step), ..TaskQuery::default() }).unwrap();
        let column: Vec<&String> = column.items.iter().map(|task| &task.id).collect();
        assert_eq!(column, [&ids[1], &ids[0]]);
    });
}

#[test]
fn a_task_runs_asks_is_reviewed_and_gives_its_workspace_back() {
    on_both_engines(|door| {
        let repository = door.add_repository();
        let client = door.client();
        let task =
            client.create_task(&new_task(&repository, "Say hello", "Say hello", false)).unwrap().task.id;
        assert_eq!(refusal(client.changes(&task)), (409, "no_workspace".into()));
        let started = client.start_task(&task).unwrap();
        assert_ne!(started.task.state, "TODO");
        let worked = door.wait_for_session(&task, "IDLE");
        let worktree = PathBuf::from(&worked.environment.unwrap().repositories[0].worktree_path);
        reviews(door, &task, &repository);
        converses(door, &task, &worked.sessions[0].id);
        opens_and_deletes_sessions(door, &task, &worked.sessions[0].id);
        assert!(worktree.join("freehold-demo.md").is_file(), "deleting a session touches no file");
        closes(door, &task, &worktree);
    });
}

fn reviews(door: &Door, task: &str, repository: &str) {
    let client = door.client();
    let changes = client.changes(task).unwrap();
    let paths: Vec<&str> = changes[0].files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths.len(), 3, "{changes:?}");
    assert!(paths.contains(&"freehold-demo.md"));
    let query = DiffQuery { repository_id: repository.to_owned(), path: "freehold-demo.md".into() };
    let diff = client.diff(task, &query).unwrap();
    assert!(diff.patch.contains("+The demo agent was asked: Say hello"), "{diff:?}");
    assert!(!diff.binary && !diff.too_large);
    for path in ["/etc/passwd".to_owned(), format!("{}etc/passwd", "../".repeat(20))] {
        let outside = client.diff(task, &DiffQuery { path, ..query.clone() }).unwrap();
        assert_eq!(outside.patch, "", "nothing outside of the worktree is told");
    }
}

fn converses(door: &Door, task: &str, session: &str) {
    let client = door.client();
    let page = client.messages(session, &MessageQuery::default()).unwrap();
    let ordinals: Vec<i64> = page.items.iter().map(|message| message.ordinal).collect();
    assert_eq!(ordinals, (1..=i64::try_from(ordinals.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!((page.items[0].author.as_str(), page.items[0].content.as_str()), ("user", "Say hello"));
    for kind in ["thinking", "agent_plan", "tool_call", "message"] {
        assert!(page.items.iter().any(|message| message.kind == kind), "{kind}");
    }
    let older = client.messages(session, &MessageQuery { before: Some(3), limit: Some(1) }).unwrap();
    assert_eq!((older.items[0].ordinal, older.has_older), (2, true));

    assert_eq!(refusal(client.cancel_turn(session)), (409, "no_turn".into()));
    assert_eq!(refusal(client.prompt(session, &prompt("  "))), (400, "empty_prompt".into()));
    client.prompt(session, &prompt("Ask for permission")).unwrap();
    door.wait_for_session(task, "WAITING_FOR_INPUT");
    assert_eq!(refusal(client.prompt(session, &prompt("More"))), (409, "session_busy".into()));
    let page = client.messages(session, &MessageQuery::default()).unwrap();
    let request = page.items.iter().find(|message| message.kind == "permission_request").unwrap();
    let permission: Permission = serde_json::from_value(request.metadata.clone()).unwrap();
    let reject = permission.options.iter().find(|option| option.kind == "reject_once").unwrap();
    let answer = PermissionAnswer { option_id: Some(reject.option_id.clone()) };
    client.answer_permission(session, &permission.request_id, &answer).unwrap();
    door.wait_for_session(task, "IDLE");
    let twice = client.answer_permission(session, &permission.request_id, &answer);
    assert_eq!(refusal(twice), (409, "permission_closed".into()));

    client.prompt(session, &prompt("Ask for permission once more")).unwrap();
    door.wait_for_session(task, "WAITING_FOR_INPUT");
    client.cancel_turn(session).unwrap();
    door.wait_for_session(task, "IDLE");
    assert_eq!(client.stop_session(session).unwrap().id, session);
    door.wait_for_session(task, "COMPLETED");
}

fn opens_and_deletes_sessions(door: &Door, task: &str, first: &str) {
    let client = door.client();
    let request = NewSession { agent_profile_id: None, prompt: Some("See the files".into()) };
    let second = client.create_session(task, &request).unwrap();
    door.wait_for_session(task, "IDLE");
    let deleted = client.delete_session(first).unwrap();
    assert_eq!((deleted.session_id.as_str(), deleted.primary_session_id.as_ref()), (first, Some(&second.id)));
    assert!(!deleted.workspace_path.is_empty());
    assert_eq!(refusal(client.session(first)), (404, "not_found".into()));
    assert!(client.session(&second.id).unwrap().is_primary);
    let unknown = NewSession { agent_profile_id: Some("nobody".into()), prompt: None };
    assert_eq!(refusal(client.create_session(task, &unknown)), (404, "not_found".into()));
}

fn closes(door: &Door, task: &str, worktree: &Path) {
    let client = door.client();
    let report = client.close_report(task, &CloseQuery { action: "archive".into() }).unwrap();
    assert_eq!((report.live_sessions, report.branches_kept.len()), (1, 1));
    assert!(!report.sealed.is_empty() && report.stakes.is_empty(), "{report:?}");
    for refused in [client.archive_task(task, &NO_CONSENT), client.delete_task(task, &NO_CONSENT)] {
        let Err(ClientError::Refused { status: 409, body }) = refused else { panic!("{refused:?}") };
        assert_eq!((body.code.as_str(), body.subject.as_str()), ("at_stake", task));
        assert_eq!(body.stakes, report.sealed);
        assert!(report.disk_bytes > 0 && body.disk_bytes == Some(report.disk_bytes), "{body:?}");
    }

    door.repo.git_in(worktree, &["init", "-q", "inner"]);
    let job = client.archive_task(task, &CONSENT).unwrap();
    let job = wait_for_job(door, &job, "needs_decision");
    assert!(worktree.is_dir() && !job.stakes.is_empty());
    assert_eq!(refusal(client.start_task(task)).0, 409);
    let query = CleanupQuery { task_id: Some(task.to_owned()), state: Some("needs_decision".into()) };
    assert_eq!(client.cleanup_jobs(&query).unwrap(), std::slice::from_ref(&job));
    assert_eq!(refusal(client.decide_cleanup_job(&job.id, &decide("burn"))), (400, "invalid_field".into()));
    let refused = client.decide_cleanup_job(&job.id, &decide("discard"));
    assert_eq!(refusal(refused), (409, "decision_refused".into()));
    assert_eq!(client.decide_cleanup_job(&job.id, &decide("keep")).unwrap().state, "cancelled");
    assert_eq!(client.task(task).unwrap().task.archived_at, None);
    assert_eq!(refusal(client.decide_cleanup_job(&job.id, &decide("keep"))), (409, "cleanup_step".into()));

    let job = client.archive_task(task, &CONSENT).unwrap();
    let job = wait_for_job(door, &job, "needs_decision");
    let phrase = job.discard_phrase.clone();
    let discard = CleanupDecision { phrase, ..decide("discard") };
    client.decide_cleanup_job(&job.id, &discard).unwrap();
    wait_for_job(door, &job, "succeeded");
    assert!(!worktree.exists());
    let archived = TaskQuery { archived: Some(true), ..TaskQuery::default() };
    assert_eq!(client.tasks(&archived).unwrap().items.len(), 1);
    is_measured(door);
    comes_back(door, task, worktree);
    let job = client.delete_task(task, &CONSENT).unwrap();
    wait_for_job(door, &job, "succeeded");
    assert_eq!(refusal(client.task(task)), (404, "not_found".into()));
    leaves_the_trash(door, task);
}

fn comes_back(door: &Door, task: &str, worktree: &Path) {
    let client = door.client();
    let seals = client.seals(task).unwrap();
    assert!(seals[0].files.iter().any(|file| file.path == "freehold-demo.md"), "{seals:?}");
    let worktree_id = &client.task(task).unwrap().environment.unwrap().repositories[0].id;
    assert_eq!(seals[0].seal.environment_repo_id.as_ref(), Some(worktree_id), "it comes back from this seal");
    let query = SealedDiffQuery { path: "freehold-demo.md".into() };
    let diff = client.sealed_diff(&seals[0].seal.id, &query).unwrap();
    assert!(diff.patch.contains("+The demo agent was asked: Say hello"), "{diff:?}");
    let odd = ReopenTask { place: Some("moon".into()), branch: None, sub_tasks: false };
    assert_eq!(refusal(client.reopen_task(task, &odd)), (400, "invalid_field".into()));
    std::fs::create_dir_all(worktree).unwrap();
    let same = ReopenTask::default();
    assert_eq!(refusal(client.reopen_task(task, &same)), (409, "path_taken".into()));
    std::fs::remove_dir(worktree).unwrap();
    let back = client.reopen_task(task, &same).unwrap();
    assert_eq!(back.task.archived_at, None);
    assert!(worktree.join("freehold-demo.md").is_file());
    assert_eq!(refusal(client.reopen_task(task, &same)), (409, "task_open".into()));
    becomes_a_task(door, &seals[0].seal.id);
}

fn becomes_a_task(door: &Door, seal: &str) {
    let client = door.client();
    let titled = |title: &str| TaskFromSeal { title: Some(title.to_owned()) };
    assert_eq!(refusal(client.task_from_seal(seal, &titled(" "))).0, 400);
    let made = client.task_from_seal(seal, &titled("Again")).unwrap();
    let place = made.environment.unwrap().workspace_path;
    assert!(Path::new(&place).join("freehold-demo.md").is_file());
    let report = client.workspace_close_report(&client.workspaces().unwrap()[0].id).unwrap();
    assert!(report.task_count >= 2 && report.disk_bytes > 0, "{report:?}");
    assert!(report.sealed.iter().any(|stake| stake.worktree_path == place), "{report:?}");
    let job = client.delete_task(&made.task.id, &CONSENT).unwrap();
    wait_for_job(door, &job, "succeeded");
    wait_for_job(door, &client.purge_task(&made.task.id).unwrap(), "succeeded");
}

/// What a monitoring program reads after a task was archived.
fn is_measured(door: &Door) {
    let refused = door.ask_with("GET", "/api/v1/metrics", &[&format!("Host: {}", door.address())], "");
    assert_eq!(refused.status, 401);
    let measured = door.ask("GET", "/api/v1/metrics", "");
    assert_eq!(measured.status, 200, "{}", measured.body);
    assert!(measured.head.contains("content-type: text/plain; version=0.0.4"), "{}", measured.head);
    let value = |name: &str| {
        let line = measured.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {}", measured.body)).parse::<f64>().unwrap()
    };
    let attempts = r#"freehold_cleanup_attempts_total{trigger="archive",outcome="succeeded"}"#;
    assert!(value(attempts) >= 1.0);
    assert!(value(r#"freehold_cleanup_attempt_seconds_count{trigger="archive"}"#) >= 1.0);
    assert!(value(r#"freehold_cleanup_jobs{state="needs_decision"}"#) >= 0.0);
    assert!(value("freehold_cleanup_oldest_open_job_seconds") >= 0.0);
}

fn leaves_the_trash(door: &Door, task: &str) {
    let client = door.client();
    let trash = client.trash(&TrashQuery::default()).unwrap();
    assert_eq!(trash.len(), 1);
    let trashed = client.trashed_task(task).unwrap();
    assert_eq!(trashed, trash[0]);
    assert!(trashed.expires_at > trashed.trashed_at && trashed.size_bytes > 0, "{trashed:?}");
    let job = client.purge_task(task).unwrap();
    wait_for_job(door, &job, "succeeded");
    assert_eq!(refusal(client.trashed_task(task)), (404, "not_found".into()));
    assert_eq!(refusal(client.purge_task(task)), (404, "not_found".into()));
}

#[test]
fn a_client_goes_on_after_any_number_of_refusals() {
    on_both_engines(|door| {
        let client = door.client();
        for _ in 0..200 {
            assert_eq!(refusal(client.cancel_turn("nowhere")), (404, "not_found".into()));
            assert_eq!(refusal(client.prompt("nowhere", &prompt("Go"))), (404, "not_found".into()));
        }
    });
}
