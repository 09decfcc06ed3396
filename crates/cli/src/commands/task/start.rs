//! Where a new task starts, from options to a request, and where one started, in words.

use freehold_api::client::Client;
use freehold_api::task::{EnvironmentRepo, NewTaskRepository};

use crate::arguments::{NewTask, StartPoint};
use crate::failure::Failure;
use crate::lookup;

/// The kind of workspace that was asked for; none asks for the usual one.
pub(super) fn workspace_kind(start: &StartPoint) -> Option<String> {
    let kind = match start {
        StartPoint { in_place: true, .. } => "in_place",
        StartPoint { adopt: Some(_), .. } => "adopted",
        StartPoint { scratch: true, .. } => "scratch",
        _ => return None,
    };
    Some(kind.to_owned())
}

/// The repositories of a new task, each with its start point.
pub(super) fn repositories(client: &Client, arguments: &NewTask) -> Result<Vec<NewTaskRepository>, Failure> {
    let start = &arguments.start;
    let takes_those_of_the_parent =
        arguments.parent.is_some() && arguments.repositories.is_empty() && !says_where(start);
    if start.scratch || takes_those_of_the_parent {
        return Ok(Vec::new());
    }
    let repositories = if arguments.repositories.is_empty() {
        vec![lookup::only_repository(client)?]
    } else {
        let named = arguments.repositories.iter();
        named.map(|text| lookup::repository(client, text)).collect::<Result<Vec<_>, _>>()?
    };
    let adopt_path = match &start.adopt {
        Some(path) => {
            let absolute = std::path::absolute(path).map_err(|error| Failure::file("find", path, &error))?;
            Some(absolute.display().to_string())
        }
        None => None,
    };
    let used = |repository: freehold_api::repository::Repository| NewTaskRepository {
        repository_id: repository.id,
        base_branch: start.from.clone(),
        new_branch: start.branch.clone(),
        checkout_branch: start.checkout.clone(),
        fetch_ref: start.pull.map(|number| format!("pull/{number}/head")).or_else(|| start.fetch.clone()),
        remote: start.remote.clone(),
        refresh: start.refresh,
        adopt_path: adopt_path.clone(),
    };
    Ok(repositories.into_iter().map(used).collect())
}

/// Whether a start point was named, so that it needs a repository.
const fn says_where(start: &StartPoint) -> bool {
    let is_kind = start.in_place || start.adopt.is_some();
    let is_fetched = start.pull.is_some() || start.fetch.is_some();
    is_kind || is_fetched || start.from.is_some() || start.branch.is_some() || start.checkout.is_some()
}

/// What a person should know about a workspace that is not the usual kind.
pub(super) fn kind_text(kind: &str) -> &'static str {
    match kind {
        "in_place" => ", the main checkout itself; never removed",
        "adopted" => ", a worktree of yours; never removed",
        "scratch" => ", a folder without a repository",
        _ => "",
    }
}

/// The branch of a workspace and where it started.
pub(super) fn branch_text(repo: &EnvironmentRepo) -> String {
    let base = short_commit(&repo.base_commit);
    if repo.worktree_branch.is_empty() {
        return format!("no branch, at {base}");
    }
    if repo.worktree_branch == repo.base_branch {
        return format!("branch {} as it was at {base}", repo.worktree_branch);
    }
    format!("branch {} from {} at {base}", repo.worktree_branch, repo.base_branch)
}

/// The beginning of an object id.
fn short_commit(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
