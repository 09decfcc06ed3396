//! Deleting a session gives nothing back: no job is made, no Git is started, no file and no ref changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use freehold_domain::id::{SessionId, TaskId};
use freehold_domain::session::SessionState;
use freehold_engine::Engine;
use freehold_engine::session::NewSession;
use freehold_git::Git;

use crate::harness::{
    World, add_repository, files_of, new_task, on_both_engines, start_engine_on, wait_for_session,
    wait_until_idle, worktree_of,
};

/// Counts the Git programs that an engine starts, by what Git itself records of each.
struct Spy {
    record: PathBuf,
}

impl Spy {
    async fn start(world: &World) -> (Self, Engine) {
        let record = world.home.join("git-record");
        let git = Git::open(&world.home.join("scratch")).unwrap().with_env("GIT_TRACE2_EVENT", &record);
        (Self { record }, start_engine_on(&world.home, &world.url, git, |_| {}).await)
    }

    fn started(&self) -> usize {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"event\":\"start\"")).count()
    }
}

/// What must not change: every file of the workspace and of the repository, all of Git's own included.
fn everything(world: &World, worktree: &Path) -> [BTreeMap<PathBuf, (u32, Vec<u8>)>; 2] {
    [files_of(worktree), files_of(world.repo.path())]
}

async fn delete_watched(world: &World, spy: &Spy, engine: &Engine, task: &TaskId, session: SessionId) {
    let worktree = worktree_of(&engine.task(task.clone()).await.unwrap());
    let (before, started) = (everything(world, &worktree), spy.started());

    let deleted = engine.delete_session(session).await.unwrap();

    assert_eq!(deleted.workspace_path, worktree.display().to_string());
    assert_eq!(spy.started(), started, "no Git is started");
    assert_eq!(engine.cleanup_jobs(None, None).await.unwrap(), [], "no job is made");
    assert!(everything(world, &worktree) == before, "no file changes");
}

#[test]
fn deleting_the_only_session_makes_no_job_starts_no_git_and_changes_no_file() {
    on_both_engines(async |world: &World| {
        let (spy, engine) = Spy::start(world).await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "only", "Improve it")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        assert!(spy.started() > 0, "what Git does is recorded at all");
        delete_watched(world, &spy, &engine, &id, view.sessions[0].session.id.clone()).await;
        engine.shutdown().await;
    });
}

#[test]
fn deleting_one_of_two_sessions_in_one_workspace_makes_no_job_starts_no_git_and_changes_no_file() {
    on_both_engines(async |world: &World| {
        let (spy, engine) = Spy::start(world).await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "shared", "Improve it")).await.unwrap();
        let first = wait_until_idle(&engine, &id).await.sessions[0].session.id.clone();
        let second = engine.create_session(id.clone(), NewSession::default()).await.unwrap().session.id;
        wait_for_session(&engine, &second, SessionState::Idle).await;
        delete_watched(world, &spy, &engine, &id, first).await;
        assert_eq!(engine.session(second).await.unwrap().session.state, SessionState::Idle);
        engine.shutdown().await;
    });
}
