//! What the database says, compared with the disk: agents, workspaces and their registrations.
//!
//! The database is read directly, so that no server has to run for it, and no agent starts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use freehold_domain::agent::AgentProfile;
use freehold_domain::environment::{EnvironmentRepo, EnvironmentRepoStatus};
use freehold_store::environment::UnownedWorktree;
use freehold_store::task::TaskFilter;
use freehold_store::{self as store, DatabaseUrl, Store, StoreError, StoreOptions, Tx};

use super::{Finding, machine};
use crate::compose::Setup;
use crate::home::Home;

const DATABASE: &str = "database";
/// How many tasks are read at once.
const PAGE: u32 = 200;

/// What the database says.
struct Recorded {
    agents: Vec<AgentProfile>,
    /// Each worktree that should be there, with the path of its repository.
    worktrees: Vec<(EnvironmentRepo, String)>,
    task_folders: BTreeSet<String>,
    unowned: Vec<UnownedWorktree>,
}

/// Looks at the database and at what it speaks of.
pub(super) async fn check(setup: &Setup) -> Vec<Finding> {
    if let DatabaseUrl::Sqlite(path) = &setup.database
        && !path.exists()
    {
        return vec![Finding::ok(DATABASE, format!("{}; made at the first start", setup.database))];
    }
    let url = setup.database.clone();
    let options = StoreOptions { readers: 1, postgres_writers: 1 };
    let opened = tokio::task::spawn_blocking(move || Store::open(&url, options)).await;
    let remedy = "check the URL, the user and the password, and that the database server runs";
    let store = match opened {
        Ok(Ok(store)) => store,
        Ok(Err(error @ StoreError::UpgradeNeeded { .. })) => {
            return vec![Finding::fail(
                DATABASE,
                error.to_string(),
                "freehold upgrade --plan shows what that does",
            )];
        }
        Ok(Err(error)) => return vec![Finding::fail(DATABASE, error.to_string(), remedy)],
        Err(_) => return vec![Finding::fail(DATABASE, "opening it stopped unexpectedly", remedy)],
    };
    let findings = match read(&store).await {
        Ok((statements, recorded)) => {
            let message = format!("{}, {statements} statements fit its tables", setup.database);
            let mut findings = vec![Finding::ok(DATABASE, message)];
            findings.push(agents(&recorded.agents));
            findings.push(workspaces(&recorded.worktrees));
            findings.push(registrations(machine::find_git().ok().as_ref(), recorded.worktrees));
            findings.push(folders(&setup.home, &recorded.task_folders));
            findings.extend(unowned(&recorded.unowned));
            findings
        }
        Err(error) => vec![Finding::fail(DATABASE, error.to_string(), remedy)],
    };
    // It fails only when closing panicked, and then there is nothing left to close.
    let _ = tokio::task::spawn_blocking(move || store.close()).await;
    findings
}

async fn read(store: &Store) -> Result<(usize, Recorded), StoreError> {
    let statements = store.verify_statements().await?;
    Ok((statements, store.read(recorded).await?))
}

fn recorded(tx: &mut Tx<'_>) -> Result<Recorded, StoreError> {
    let (mut worktrees, mut task_folders) = (Vec::new(), BTreeSet::new());
    for task_id in task_ids(tx)? {
        let Some(environment) = store::environment::find_by_task(tx, &task_id)? else { continue };
        for repo in store::environment::repos_of(tx, &environment.id)? {
            let is_owned = repo.worktree_id.is_some() && repo.status != EnvironmentRepoStatus::Deleted;
            if let Some(repository) = store::repository::find(tx, &repo.repository_id)?
                && is_owned
            {
                worktrees.push((repo, repository.local_path));
            }
        }
        task_folders.insert(environment.task_dir_name);
    }
    let unfinished = store::creation::list_unfinished(tx)?;
    task_folders.extend(unfinished.into_iter().map(|creation| creation.task_dir_name));
    let (agents, unowned) = (store::agent::list(tx)?, store::environment::unowned(tx)?);
    Ok(Recorded { agents, worktrees, task_folders, unowned })
}

fn task_ids(tx: &mut Tx<'_>) -> Result<Vec<freehold_domain::id::TaskId>, StoreError> {
    let mut ids = Vec::new();
    for workspace in store::workspace::list(tx)? {
        for archived in [false, true] {
            let filter = TaskFilter { archived, ..TaskFilter::default() };
            let mut cursor = None;
            loop {
                let page = store::task::list_page(tx, &workspace.id, &filter, cursor.as_ref(), PAGE)?;
                ids.extend(page.items.into_iter().map(|item| item.task.id));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
    }
    Ok(ids)
}

fn agents(agents: &[AgentProfile]) -> Finding {
    const CHECK: &str = "agents";
    let is_missing =
        |agent: &&AgentProfile| !agent.command.is_empty() && !machine::is_program(&agent.command);
    let missing: Vec<String> =
        agents.iter().filter(is_missing).map(|agent| format!("{} ({})", agent.name, agent.command)).collect();
    if missing.is_empty() {
        let names = agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ");
        return Finding::ok(CHECK, format!("every program is there: {names}"));
    }
    let message = format!("the program is missing: {}", missing.join(", "));
    Finding::warn(CHECK, message, "install it, or put its folder into PATH before the server starts")
}

fn workspaces(worktrees: &[(EnvironmentRepo, String)]) -> Finding {
    const CHECK: &str = "workspaces";
    let is_missing = |path: &&str| !Path::new(path).is_dir();
    let paths = worktrees.iter().map(|(repo, _)| repo.worktree_path.as_str());
    let missing: Vec<&str> = paths.filter(is_missing).collect();
    if missing.is_empty() {
        return Finding::ok(CHECK, format!("all {} are on disk", worktrees.len()));
    }
    let message = format!("{} of {} are not on disk: {}", missing.len(), worktrees.len(), some(&missing));
    Finding::warn(
        CHECK,
        message,
        "bring the folder back, or archive its task; the branch is in the repository",
    )
}

fn registrations(git: Option<&freehold_git::Git>, worktrees: Vec<(EnvironmentRepo, String)>) -> Finding {
    const CHECK: &str = "worktrees";
    let Some(git) = git else {
        return Finding::warn(CHECK, "they cannot be looked at", "see the check of git");
    };
    let mut problems = Vec::new();
    let present = worktrees.into_iter().filter(|(repo, _)| Path::new(&repo.worktree_path).is_dir());
    for (repo, repository) in present {
        let path = PathBuf::from(&repo.worktree_path);
        let path = path.canonicalize().unwrap_or(path);
        match git.list_worktrees(Path::new(&repository)) {
            Ok(listed) if listed.iter().any(|worktree| worktree.path == path) => {}
            Ok(_) => problems.push(format!("{} is not registered in {repository}", path.display())),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if problems.is_empty() {
        return Finding::ok(CHECK, "every workspace is registered in its repository");
    }
    Finding::warn(CHECK, some(&problems), "look at `git worktree list` and `git worktree repair` there")
}

/// What an upgrade recorded without an owner; nothing to say where there is none.
fn unowned(worktrees: &[UnownedWorktree]) -> Option<Finding> {
    const CHECK: &str = "unowned";
    let present: Vec<&str> = worktrees
        .iter()
        .map(|worktree| worktree.path.as_str())
        .filter(|path| Path::new(path).is_dir())
        .collect();
    match (worktrees.len(), present.len()) {
        (0, _) => None,
        (all, 0) => Some(Finding::ok(
            CHECK,
            format!("{all} worktrees were recorded without an owner; none is on disk"),
        )),
        (all, here) => Some(Finding::warn(
            CHECK,
            format!("{all} worktrees were recorded without an owner; {here} are on disk: {}", some(&present)),
            "look what is in them; Freehold leaves alone what it does not own",
        )),
    }
}

/// The first few of many names.
fn some<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn folders(home: &Home, known: &BTreeSet<String>) -> Finding {
    const CHECK: &str = "folders";
    let root = home.workspaces();
    let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let unknown: Vec<String> = names.filter(|name| !known.contains(name)).collect();
    if unknown.is_empty() {
        return Finding::ok(CHECK, format!("every folder in {} belongs to a task", root.display()));
    }
    let message = format!("in {} no task of this database owns: {}", root.display(), some(&unknown));
    Finding::warn(CHECK, message, "look what is in them; Freehold leaves alone what it does not own")
}
