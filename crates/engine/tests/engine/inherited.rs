//! Rows that another program wrote before an upgrade: they are shown, worked with where Git proves what they
//! say, and never a reason to remove anything else.

mod cleanup;
mod conversation;
mod start;
mod upgraded;
mod workspace;

use std::path::{Path, PathBuf};

use freehold_domain::id::{RepositoryId, TaskId};
use freehold_engine::Engine;
use freehold_engine::task::NewTask;
use freehold_testkit::legacy::{LegacyDatabase, rows};

use crate::harness::{World, add_repository, new_task};

/// When every row here was written.
const WHEN: &str = "2026-01-02 03:04:05";

/// Runs SQL past the store, with foreign keys off.
fn sql(world: &World, statements: &str) {
    LegacyDatabase::open(&world.url, 0).sql(statements);
}

/// Stores a row whose times are all the same; values are texts.
fn insert(world: &World, table: &str, columns: &[(&str, &str)]) {
    LegacyDatabase::open(&world.url, 0).insert(table, columns);
}

fn read(world: &World, query: &str) -> Vec<String> {
    rows(&world.url, query)
}

/// Stores a task that has no workspace and was not started.
async fn quiet_task(engine: &Engine, repository: &RepositoryId, title: &str) -> TaskId {
    let request = NewTask { start: false, ..new_task(repository, title, "Improve it") };
    engine.create_task(request).await.unwrap()
}

/// A started engine with a repository and a quiet task.
async fn scene(world: &World) -> (Engine, RepositoryId, TaskId) {
    let engine = world.start().await;
    let repository = add_repository(&engine, world).await;
    let task = quiet_task(&engine, &repository, "inherited").await;
    (engine, repository, task)
}

/// A worktree made by plain Git outside of the folder of the workspaces, on a branch of its own.
fn foreign_worktree(world: &World, name: &str) -> PathBuf {
    let path = world.repo.home().join("elsewhere").join(name).join("repo");
    let branch = format!("feature/{name}");
    world.repo.git(&["worktree", "add", "-q", "-b", &branch, &path.display().to_string()]);
    path
}

/// How another program recorded a workspace.
struct Recorded<'r> {
    executor: &'r str,
    status: &'r str,
    repo_status: &'r str,
    path: &'r Path,
}

impl<'r> Recorded<'r> {
    fn at(path: &'r Path) -> Self {
        Self { executor: "worktree", status: "stopped", repo_status: "active", path }
    }

    /// Stores the environment and its one repository as rows of a task; ids are made from the name.
    fn store(&self, world: &World, name: &str, task: &TaskId, repository: &str) {
        let path = self.path.display().to_string();
        let (environment, repo) = (format!("env-{name}"), format!("repo-{name}"));
        insert(
            world,
            "task_environments",
            &[
                ("id", &environment),
                ("task_id", task.as_str()),
                ("executor_type", self.executor),
                ("status", self.status),
                ("workspace_path", &path),
                ("task_dir_name", name),
                ("created_at", WHEN),
                ("updated_at", WHEN),
            ],
        );
        insert(
            world,
            "task_environment_repos",
            &[
                ("id", &repo),
                ("task_environment_id", &environment),
                ("repository_id", repository),
                ("worktree_id", &format!("wt-{name}")),
                ("worktree_path", &path),
                ("worktree_branch", &format!("feature/{name}")),
                ("status", self.repo_status),
                ("created_at", WHEN),
                ("updated_at", WHEN),
            ],
        );
    }
}
