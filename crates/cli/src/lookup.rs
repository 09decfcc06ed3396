//! Finds what a person means: by id, by the beginning of an id, or by name.

use freehold_api::agent::AgentProfile;
use freehold_api::cleanup::{CleanupJob, CleanupQuery};
use freehold_api::client::Client;
use freehold_api::repository::Repository;
use freehold_api::session::Session;
use freehold_api::task::{TaskCard, TaskQuery};
use freehold_api::trash::TrashQuery;
use freehold_api::workspace::{Step, Workflow, Workspace};

use crate::failure::{Exit, Failure};
use crate::output::{one_line, short};

/// The most tasks that the server gives at once.
const PAGE: u32 = 200;

/// Lists all open tasks, or all archived ones, in board order.
pub(crate) fn all_tasks(
    client: &Client,
    archived: bool,
    query: Option<&str>,
) -> Result<Vec<TaskCard>, Failure> {
    let mut tasks = Vec::new();
    let mut cursor = None;
    loop {
        let page = client.tasks(&TaskQuery {
            archived: Some(archived),
            query: query.map(str::to_owned),
            cursor,
            limit: Some(PAGE),
            ..TaskQuery::default()
        })?;
        tasks.extend(page.items);
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(tasks),
        }
    }
}

/// Finds the id of a task, open, archived or being deleted.
pub(crate) fn task(client: &Client, text: &str) -> Result<String, Failure> {
    if is_whole(text) {
        return Ok(text.to_owned());
    }
    let mut known: Vec<(String, String)> = Vec::new();
    for archived in [false, true] {
        let tasks = all_tasks(client, archived, None)?;
        known.extend(tasks.into_iter().map(|task| (task.id, task.title)));
    }
    let jobs = client.cleanup_jobs(&CleanupQuery::default())?;
    known.extend(jobs.into_iter().map(|job| (job.task_id, job.task_title)));
    choose("task", text, known)
}

/// Finds the id of a task in the trash.
pub(crate) fn trashed_task(client: &Client, text: &str) -> Result<String, Failure> {
    let trash = client.trash(&TrashQuery::default())?;
    choose(
        "task in the trash",
        text,
        trash.into_iter().map(|entry| (entry.task.id, entry.task.title)).collect(),
    )
}

/// Finds the id of something in quarantine.
pub(crate) fn quarantine_entry(client: &Client, text: &str) -> Result<String, Failure> {
    let entries = client.quarantine()?;
    let known = entries.into_iter().map(|entry| (entry.id, entry.original_path)).collect();
    choose("entry of the quarantine", text, known)
}

/// Finds the id of a task in the trash, or else of any other.
pub(crate) fn closed_task(client: &Client, text: &str) -> Result<String, Failure> {
    match trashed_task(client, text) {
        Err(failure) if failure.exit == Exit::NotFound => task(client, text),
        found => found,
    }
}

/// Finds the id of a session of any task.
pub(crate) fn session(client: &Client, text: &str) -> Result<String, Failure> {
    if is_whole(text) {
        return Ok(text.to_owned());
    }
    let mut known = Vec::new();
    for archived in [false, true] {
        for task in all_tasks(client, archived, None)?.iter().filter(|task| task.session_state.is_some()) {
            let sessions = client.task(&task.id)?.sessions;
            known.extend(sessions.into_iter().map(|Session { id, name, .. }| (id, name)));
        }
    }
    choose("session", text, known)
}

/// Finds a cleanup job by its own id, or by its task's: then the one that is not finished, or else the newest.
pub(crate) fn cleanup_job(client: &Client, text: &str) -> Result<CleanupJob, Failure> {
    let jobs = client.cleanup_jobs(&CleanupQuery::default())?;
    let ids = jobs.iter().map(|job| (job.id.clone(), job.task_title.clone())).collect();
    let found = match choose("cleanup job", text, ids) {
        Err(failure) if failure.exit == Exit::NotFound => {
            let tasks = jobs.iter().map(|job| (job.task_id.clone(), job.task_title.clone())).collect();
            let task_id = choose("cleanup job", text, tasks)?;
            let of_task = || jobs.iter().filter(|job| job.task_id == task_id);
            of_task().find(|job| job.completed_at.is_none()).or_else(|| of_task().next())
        }
        found => {
            let id = found?;
            jobs.iter().find(|job| job.id == id)
        }
    };
    found.cloned().ok_or_else(|| not_found("cleanup job", text))
}

/// Finds a workspace by its name or id.
pub(crate) fn workspace(client: &Client, text: &str) -> Result<Workspace, Failure> {
    let all = client.workspaces()?;
    named("workspace", text, all, |it| (&it.id, &it.name))
}

/// Finds a board of any workspace by its name or id.
pub(crate) fn board(client: &Client, text: &str) -> Result<Workflow, Failure> {
    let all = client.workspaces()?.into_iter().flat_map(|workspace| workspace.workflows);
    named("board", text, all.collect(), |it| (&it.id, &it.name))
}

/// Finds a column of any board by its name or id.
pub(crate) fn column(client: &Client, text: &str) -> Result<Step, Failure> {
    let boards = client.workspaces()?.into_iter().flat_map(|workspace| workspace.workflows);
    named("column", text, boards.flat_map(|board| board.steps).collect(), |it| (&it.id, &it.name))
}

/// Finds the one thing that has the name, or else whose id begins with the text.
fn named<T>(
    noun: &str,
    text: &str,
    all: Vec<T>,
    of: impl Fn(&T) -> (&String, &String),
) -> Result<T, Failure> {
    let with_name: Vec<usize> = (0..all.len()).filter(|at| of(&all[*at]).1 == text).collect();
    if with_name.len() > 1 {
        let ids = with_name.iter().map(|at| short(of(&all[*at]).0)).collect::<Vec<_>>().join(", ");
        let message = format!("{} {noun}s have the name {text:?}", with_name.len());
        return Err(Failure::new(Exit::Usage, "ambiguous_name", message)
            .hint(format!("name its id: {ids}"))
            .subject(text));
    }
    let id = match with_name.first() {
        Some(at) => of(&all[*at]).0.clone(),
        None => choose(noun, text, all.iter().map(|it| (of(it).0.clone(), of(it).1.clone())).collect())?,
    };
    all.into_iter().find(|it| *of(it).0 == id).ok_or_else(|| not_found(noun, text))
}

/// Finds an agent by its name or id.
pub(crate) fn agent(client: &Client, text: &str) -> Result<AgentProfile, Failure> {
    let agents = client.agents()?;
    let named = agents.iter().find(|agent| agent.name == text || agent.id == text);
    if let Some(agent) = named {
        return Ok(agent.clone());
    }
    let known = agents.iter().map(|agent| (agent.id.clone(), agent.name.clone())).collect();
    let id = choose("agent", text, known).map_err(|failure| {
        failure.hint("`freehold agent list` shows the agents, `freehold agent add` adds one")
    })?;
    agents.into_iter().find(|agent| agent.id == id).ok_or_else(|| not_found("agent", text))
}

/// Finds a registered repository by its name, id or path.
pub(crate) fn repository(client: &Client, text: &str) -> Result<Repository, Failure> {
    let repositories = client.repositories()?;
    let path = std::fs::canonicalize(text).ok();
    let is_meant = |repository: &&Repository| {
        let local = std::path::Path::new(&repository.local_path);
        repository.name == text
            || repository.id == text
            || path.as_deref().is_some_and(|path| path == local || path.starts_with(local))
    };
    let mut meant: Vec<&Repository> = repositories.iter().filter(is_meant).collect();
    // A repository inside another is nearer.
    meant.sort_by_key(|repository| std::cmp::Reverse(repository.local_path.len()));
    if let Some(repository) = meant.first() {
        return Ok((*repository).clone());
    }
    let known =
        repositories.iter().map(|repository| (repository.id.clone(), repository.name.clone())).collect();
    let id =
        choose("repository", text, known).map_err(|failure| unregistered(failure, text, path.is_some()))?;
    repositories
        .into_iter()
        .find(|repository| repository.id == id)
        .ok_or_else(|| not_found("repository", text))
}

/// Finds the repository of a person who has only one.
pub(crate) fn only_repository(client: &Client) -> Result<Repository, Failure> {
    let mut repositories = client.repositories()?;
    match (repositories.pop(), repositories.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(Failure::new(Exit::Usage, "no_repository", "no repository is registered")
            .hint("register one first: freehold repo add PATH")),
        (Some(last), false) => {
            let names = repositories.iter().chain([&last]).map(|repository| repository.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            Err(Failure::new(Exit::Usage, "which_repository", "several repositories are registered")
                .hint(format!("choose with --repo: {names}")))
        }
    }
}

fn unregistered(failure: Failure, text: &str, is_path: bool) -> Failure {
    if failure.exit != Exit::NotFound {
        return failure;
    }
    if is_path {
        let message = format!("{text} is not in a registered repository");
        return Failure::new(Exit::NotFound, "not_registered", message)
            .hint(format!("register it first: freehold repo add {text}"))
            .subject(text);
    }
    failure.hint("`freehold repo list` shows the repositories, `freehold repo add PATH` registers one")
}

/// A whole id needs no list; whether it exists is the server's to say.
fn is_whole(text: &str) -> bool {
    text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4
}

/// Finds the one id that is, or begins with, the text.
fn choose(noun: &str, text: &str, mut known: Vec<(String, String)>) -> Result<String, Failure> {
    known.sort();
    known.dedup_by(|a, b| a.0 == b.0);
    if let Some((id, _)) = known.iter().find(|(id, _)| id == text) {
        return Ok(id.clone());
    }
    let meant: Vec<&(String, String)> =
        known.iter().filter(|(id, _)| !text.is_empty() && id.starts_with(text)).collect();
    match meant.as_slice() {
        [] => Err(not_found(noun, text)),
        [(id, _)] => Ok(id.clone()),
        several => {
            let shown =
                several.iter().take(5).map(|(id, name)| format!("{} ({})", short(id), one_line(name, 40)));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let message = format!("{} {noun}s have an id that begins with {text:?}", several.len());
            Err(Failure::new(Exit::Usage, "ambiguous_id", message)
                .hint(format!("write more of it: {shown}"))
                .subject(text))
        }
    }
}

fn not_found(noun: &str, text: &str) -> Failure {
    Failure::new(Exit::NotFound, "not_found", format!("there is no {noun} {text}")).subject(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<(String, String)> {
        ["3f2a11", "3f2b22", "77"].map(|id| (id.to_owned(), format!("title of {id}"))).to_vec()
    }

    #[test]
    fn the_beginning_of_one_id_is_enough() {
        assert_eq!(choose("task", "3f2a", known()).unwrap(), "3f2a11");
        assert_eq!(choose("task", "77", known()).unwrap(), "77");
    }

    #[test]
    fn the_beginning_of_two_ids_and_of_none_are_told_apart() {
        let two = choose("task", "3f", known()).unwrap_err();
        assert_eq!((two.exit, two.body.code.as_str()), (Exit::Usage, "ambiguous_id"));
        assert!(two.body.hint.contains("3f2a11 (title of 3f2a11), 3f2b22"), "{}", two.body.hint);
        for none in ["9", ""] {
            assert_eq!(choose("task", none, known()).unwrap_err().exit, Exit::NotFound, "{none:?}");
        }
    }
}
