//! The story, act by act.

mod closing;

use std::path::PathBuf;

use freehold_api::cleanup::CleanupQuery;
use freehold_api::client::Client;
use freehold_api::repository::AddRepository;
use freehold_api::session::{MessageQuery, NewSession, Session};
use freehold_api::task::{NewTask, NewTaskRepository, TaskDetail};

use super::fingerprint::Fingerprint;
use super::report::Report;
use super::scene::Scene;
use super::server::DemoServer;
use super::wait::{require, wait_for};
use super::workspace::{Witness, Workspace};
use crate::conversation::is_working;
use crate::failure::{Exit, Failure};
use crate::program::{git, output_of};

/// The file that the demo agent adds.
const ADDED: &str = "freehold-demo.md";
/// The file that a person leaves in the workspace, unknown to Git.
const MARKER: &str = "marker-of-the-demo.txt";
const MARKER_TEXT: &str = "Left here by a person, and known to nobody else.\n";
/// How many messages of a session are read; the demo agent says fewer.
const MESSAGES: u32 = 200;

/// The task as the story goes on with it.
struct Act {
    task_id: String,
    workspace: Workspace,
    marker: PathBuf,
}

/// Plays the story from its beginning to its end.
pub(crate) fn play(scene: &Scene, report: &mut Report) -> Result<(), Failure> {
    report.step("a repository is ready", || scene.make_checkout())?;
    let files = scene.count_files()?;
    let before = report.step(format!("its main checkout of {files} files is written down"), || {
        Fingerprint::take(&scene.checkout(), None)
    })?;
    let server = report.step("a server starts", || DemoServer::start(scene))?;
    let act = work(scene, &server.client, report)?;
    let witness = visit(&server.client, &act, report)?;
    let server = crash(scene, server, &act, &witness, report)?;
    closing::seal(&server.client, &act, report)?;
    closing::close(&server.client, &act, report)?;
    report.step(format!("the main checkout is unchanged, {} files byte for byte", before.len()), || {
        let after = Fingerprint::take(&scene.checkout(), Some(&act.workspace.branch))?;
        match before.first_difference(&after) {
            Some(difference) => require(false, || format!("it differs: {difference}")),
            None => Ok(()),
        }
    })?;
    report.step("the server ends when it is asked to", || {
        require(server.stop()?, || "it ended with a complaint".to_owned())
    })
}

/// A task is created, gets its workspace, and an agent works in it.
fn work(scene: &Scene, client: &Client, report: &mut Report) -> Result<Act, Failure> {
    let task_id =
        report.step("a task is stored, and its workspace asked for", || create_task(scene, client))?;
    let workspace = report.step("the workspace is a registered worktree on a branch of its own", || {
        let environment = wait_for("the workspace", || {
            let detail = client.task(&task_id)?;
            failed(&detail)?;
            Ok(detail.environment.filter(|environment| environment.status == "ready"))
        })?;
        let repo = environment.repositories.into_iter().next();
        let repo =
            repo.ok_or_else(|| Failure::new(Exit::Failure, "not_verified", "the workspace is empty"))?;
        let workspace = Workspace {
            checkout: scene.checkout(),
            path: PathBuf::from(repo.worktree_path),
            branch: repo.worktree_branch,
            base_commit: repo.base_commit,
        };
        verify_base(&workspace)?;
        Ok(workspace)
    })?;
    report.step("the agent edits two files and adds one", || {
        let session = wait_for("the first session", || {
            let detail = client.task(&task_id)?;
            failed(&detail)?;
            Ok(detail.sessions.into_iter().next())
        })?;
        turn_ended(client, &session.id)?;
        verify_agents_files(&workspace)
    })?;
    report.step("the changes show exactly these three files", || {
        verify_changes(client, &task_id, &workspace)
    })?;
    let marker = workspace.path.join(MARKER);
    Ok(Act { task_id, workspace, marker })
}

fn create_task(scene: &Scene, client: &Client) -> Result<String, Failure> {
    let path = scene.checkout().display().to_string();
    let name = scene.folder().file_name().map(|name| name.to_string_lossy().into_owned());
    let added = client.add_repository(&AddRepository { path, name, workspace_id: None })?;
    let prompt = "Improve the documentation a little";
    let repository = NewTaskRepository { repository_id: added.repository.id, ..NewTaskRepository::default() };
    let task = client.create_task(&NewTask {
        prompt: prompt.to_owned(),
        repositories: vec![repository],
        start: true,
        ..NewTask::default()
    })?;
    let stored = client.task(&task.task.id)?;
    require(stored.prompt == prompt, || format!("the prompt is stored as {:?}", stored.prompt))?;
    Ok(stored.task.id)
}

fn verify_base(workspace: &Workspace) -> Result<(), Failure> {
    workspace.verify_made()?;
    let head = output_of(git(&workspace.checkout).args(["rev-parse", "HEAD"]))?;
    require(head.trim() == workspace.base_commit, || {
        format!("the worktree was made at {}, not at {}", workspace.base_commit, head.trim())
    })
}

fn verify_agents_files(workspace: &Workspace) -> Result<(), Failure> {
    let status = workspace.status()?;
    let modified = status.values().filter(|letters| *letters == " M").count();
    let added = status.get(ADDED).is_some_and(|letters| letters == "??");
    require(modified == 2 && added && status.len() == 3, || format!("`git status` says {status:?}"))
}

fn verify_changes(client: &Client, task_id: &str, workspace: &Workspace) -> Result<(), Failure> {
    let changes = client.changes(task_id)?;
    let shown = changes.iter().flat_map(|repository| &repository.files).map(|file| {
        let letters = if file.untracked { "??" } else { " M" };
        let fits = file.kind == if file.untracked { "added" } else { "modified" };
        (file.path.clone(), if fits { letters.to_owned() } else { file.kind.clone() })
    });
    let (shown, status) = (shown.collect(), workspace.status()?);
    require(status == shown, || format!("shown are {shown:?}, `git status` says {status:?}"))
}

/// A person leaves a file; the only session is deleted; a new one finds the file.
fn visit(client: &Client, act: &Act, report: &mut Report) -> Result<Witness, Failure> {
    let witness = report.step("a person leaves a file that Git does not track", || {
        std::fs::write(&act.marker, MARKER_TEXT)
            .map_err(|source| Failure::file("write", &act.marker, &source))?;
        act.workspace.witness(&act.marker)
    })?;
    report.step("the only session is deleted", || {
        let detail = client.task(&act.task_id)?;
        let [session] = detail.sessions.as_slice() else {
            return require(false, || format!("there are {} sessions", detail.sessions.len()));
        };
        client.delete_session(&session.id)?;
        require(client.task(&act.task_id)?.sessions.is_empty(), || "the session is still there".to_owned())
    })?;
    report.step(
        "directory, registration, branch and files are as before, and there is no cleanup job",
        || {
            verify_witness(act, &witness)?;
            verify_no_job(client, act)
        },
    )?;
    report.step("a new session sees the person's file", || {
        let request =
            NewSession { agent_profile_id: None, prompt: Some("List the files you see".to_owned()) };
        let session = client.create_session(&act.task_id, &request)?;
        turn_ended(client, &session.id)?;
        let query = MessageQuery { before: None, limit: Some(MESSAGES) };
        let messages = client.messages(&session.id, &query)?.items;
        let agent_said = |message: &&freehold_api::session::Message| message.author == "agent";
        let is_seen = messages.iter().filter(agent_said).any(|message| message.content.contains(MARKER));
        require(is_seen, || format!("the agent does not name {MARKER}"))
    })?;
    Ok(witness)
}

/// The server is killed and started again.
fn crash(
    scene: &Scene,
    server: DemoServer,
    act: &Act,
    witness: &Witness,
    report: &mut Report,
) -> Result<DemoServer, Failure> {
    report.step("the server is killed with SIGKILL while an agent waits", || {
        let is_visible = !cfg!(target_os = "linux") || !act.workspace.processes().is_empty();
        require(is_visible, || "no agent works in the workspace".to_owned())?;
        server.kill()
    })?;
    let server = report.step("it starts again", || DemoServer::start(scene))?;
    report.step("task, conversation and workspace are as before, and no agent is left over", || {
        let detail = server.client.task(&act.task_id)?;
        let states: Vec<&str> = detail.sessions.iter().map(|session| session.state.as_str()).collect();
        require(states == ["INTERRUPTED"], || format!("the sessions are {states:?}"))?;
        wait_for("the end of the agent that the killed server left", || {
            Ok(act.workspace.processes().is_empty().then_some(()))
        })?;
        verify_witness(act, witness)?;
        verify_no_job(&server.client, act)
    })?;
    Ok(server)
}

fn verify_witness(act: &Act, witness: &Witness) -> Result<(), Failure> {
    let now = act.workspace.witness(&act.marker)?;
    require(now == *witness, || format!("it was {witness:?} and is {now:?}"))
}

fn verify_no_job(client: &Client, act: &Act) -> Result<(), Failure> {
    let query = CleanupQuery { task_id: Some(act.task_id.clone()), state: None };
    let jobs = client.cleanup_jobs(&query)?;
    require(jobs.is_empty(), || format!("there are cleanup jobs: {jobs:?}"))
}

/// Waits until a session's turn has ended well.
fn turn_ended(client: &Client, session_id: &str) -> Result<Session, Failure> {
    let session = wait_for("the end of the turn", || {
        let session = client.session(session_id)?;
        Ok((!is_working(&session.state)).then_some(session))
    })?;
    require(session.state == "IDLE", || {
        format!("the session is {}: {}", session.state, session.error_message)
    })?;
    Ok(session)
}

fn failed(detail: &TaskDetail) -> Result<(), Failure> {
    require(detail.task.state != "FAILED", || format!("the task failed: {}", detail.error_message))
}
