//! `freehold task`: a task from its creation to its end.

mod close;
pub(super) mod diff;
mod preparation;
pub(super) mod reopen;
mod reset;
mod start;

use freehold_api::client::Client;
use freehold_api::task::{NewTask, TaskCard, TaskDetail};

use crate::arguments::{self, TaskCommand};
use crate::connection::Connection;
use crate::conversation::Follower;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, Tone, one_line, short, table};

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: TaskCommand, output: Output) -> Result<(), Failure> {
    match command {
        TaskCommand::New(arguments) => create(connection, &arguments, output),
        TaskCommand::List(arguments) => {
            let query = arguments.query.as_deref();
            let tasks = lookup::all_tasks(&connection.client, arguments.archived, query)?;
            output.answer(&tasks, || listed(&tasks))
        }
        TaskCommand::Show { task } => {
            let detail = connection.client.task(&lookup::task(&connection.client, &task)?)?;
            output.answer(&detail, || shown(&detail, output))
        }
        TaskCommand::Start(arguments) => start(connection, &arguments, output),
        TaskCommand::Setup { task } => {
            let detail = connection.client.repeat_setup(&lookup::task(&connection.client, &task)?)?;
            let detail = preparation::until_set_up(connection, detail)?;
            output.answer(&detail, || shown(&detail, output))
        }
        TaskCommand::Diff(arguments) => diff::run(connection, &arguments, output),
        TaskCommand::Archive(arguments) => close::run(connection, close::Action::Archive, &arguments, output),
        TaskCommand::Unarchive(arguments) => {
            let task_id = lookup::task(&connection.client, &arguments.task)?;
            reopen::run(connection, &task_id, &arguments, output)
        }
        TaskCommand::Reset(arguments) => reset::run(connection, &arguments, output),
        TaskCommand::Transfer { task, to } => reset::transfer(connection, &task, &to, output),
        TaskCommand::Delete(arguments) => close::run(connection, close::Action::Delete, &arguments, output),
    }
}

fn create(connection: &Connection, arguments: &arguments::NewTask, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let request = request(client, arguments)?;
    let waits = request.start && (arguments.wait || connection.is_embedded());
    let follower = waits.then(|| Follower::begin(connection, output)).transpose()?;
    let detail = client.create_task(&request)?;
    output.note(&format!("Task {} is stored: {}", short(&detail.task.id), detail.task.title));
    finish(connection, detail, follower, output)
}

fn request(client: &Client, arguments: &arguments::NewTask) -> Result<NewTask, Failure> {
    let prompt = arguments.prompt().unwrap_or_default();
    if prompt.trim().is_empty() && arguments.title.is_none() {
        let message = "a task needs a prompt or a title";
        return Err(Failure::new(Exit::Usage, "empty_prompt", message)
            .hint("for example: freehold task new 'Fix the typo in the README'"));
    }
    let parent = arguments.parent.as_deref().map(|text| lookup::task(client, text)).transpose()?;
    let agent = arguments.agent.as_deref().map(|text| lookup::agent(client, text)).transpose()?;
    Ok(NewTask {
        title: arguments.title.clone(),
        prompt: prompt.to_owned(),
        workspace_kind: start::workspace_kind(&arguments.start),
        repositories: start::repositories(client, arguments)?,
        agent_profile_id: agent.map(|agent| agent.id),
        borrow_from: parent.clone().filter(|_| arguments.borrow),
        parent_id: parent,
        automation: arguments.automation.clone(),
        expires_in_ms: arguments.quick.then_some(arguments.expires),
        start: !arguments.no_start,
        ..NewTask::default()
    })
}

fn start(connection: &Connection, arguments: &arguments::StartTask, output: Output) -> Result<(), Failure> {
    let task_id = lookup::task(&connection.client, &arguments.task)?;
    let waits = arguments.wait || connection.is_embedded();
    let follower = waits.then(|| Follower::begin(connection, output)).transpose()?;
    let detail = connection.client.start_task(&task_id)?;
    finish(connection, detail, follower, output)
}

/// Waits for the end of the turn when there is somebody who follows, and answers with the task as it is then.
fn finish(
    connection: &Connection,
    detail: TaskDetail,
    follower: Option<Follower<'_>>,
    output: Output,
) -> Result<(), Failure> {
    let detail = match follower {
        Some(mut follower) => {
            let session = follower.until_session(&detail.task.id)?;
            follower.until_turn_ends(&session)?;
            connection.client.task(&detail.task.id)?
        }
        None => detail,
    };
    output.answer(&detail, || next_steps(&detail))
}

fn next_steps(detail: &TaskDetail) -> String {
    let id = short(&detail.task.id);
    match &detail.environment {
        Some(environment) => format!(
            "\nWorkspace  {}\nChanges    freehold task diff {id}\nGo on      freehold session send {} PROMPT",
            environment.workspace_path,
            detail.sessions.first().map_or("SESSION", |session| short(&session.id)),
        ),
        None if detail.task.state == "TODO" => format!("Start      freehold task start {id} --wait"),
        None => format!("Its workspace is being made. See    freehold task show {id}"),
    }
}

fn listed(tasks: &[TaskCard]) -> String {
    let row = |task: &TaskCard| {
        let session = task.session_state.clone().unwrap_or_else(|| "-".to_owned());
        let state = match &task.cleanup_state {
            Some(cleanup) => format!("{} (cleanup {cleanup})", task.state),
            None => task.state.clone(),
        };
        let repositories = task.repositories.join(", ");
        vec![short(&task.id).to_owned(), state, session, repositories, one_line(&task.title, 60)]
    };
    let rows = tasks.iter().map(row).collect();
    table(
        &["id", "state", "session", "repository", "title"],
        rows,
        "No task here. Create one: freehold task new PROMPT",
    )
}

fn shown(detail: &TaskDetail, output: Output) -> String {
    let task = &detail.task;
    let mut text = format!("{}\n\n", output.paint(Tone::Strong, &task.title));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{name:<10} {value}\n"));
        }
    };
    line("id", &task.id);
    line("state", &task.state);
    line("part of", task.parent_id.as_deref().unwrap_or_default());
    line("expires", task.expires_at.as_deref().unwrap_or_default());
    line("failed", &detail.error_message);
    line("archived", task.archived_at.as_deref().unwrap_or_default());
    line("deleted", task.deleted_at.as_deref().unwrap_or_default());
    line("prompt", &one_line(&detail.prompt, 200));
    if let Some(environment) = &detail.environment {
        let kind = start::kind_text(&environment.kind);
        line("workspace", &format!("{} ({}{kind})", environment.workspace_path, environment.status));
        if environment.owner_id != task.id {
            line("owner", &environment.owner_id);
        }
        for repo in &environment.repositories {
            line(&repo.repository_name, &start::branch_text(repo));
            line("warning", &repo.warning);
            preparation::lines(repo, &mut line);
        }
        preparation::environment_lines(environment, &mut line);
    }
    for part in &detail.sub_tasks {
        line("sub-task", &format!("{}  {}", short(&part.id), one_line(&part.title, 60)));
    }
    for session in &detail.sessions {
        let primary = if session.is_primary { ", primary" } else { "" };
        line(
            "session",
            &format!("{}  {}, {}{primary}", short(&session.id), session.state, session.agent_name),
        );
    }
    for job in &detail.cleanup_jobs {
        line("cleanup", &format!("{}  {}, {}", short(&job.id), job.trigger, job.state));
    }
    text
}
