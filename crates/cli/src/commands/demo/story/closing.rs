//! The last acts: the task is sealed, given back and brought back.

use freehold_api::cleanup::{CleanupJob, CloseOptions};
use freehold_api::client::{Client, ClientError};
use freehold_api::trash::{ReopenTask, TrashQuery};

use super::{ADDED, Act, MARKER, verify_no_job};
use crate::commands::demo::report::Report;
use crate::commands::demo::wait::{require, wait_for};
use crate::commands::demo::workspace::Workspace;
use crate::failure::Failure;
use crate::program::{git, output_of};

/// The task is archived with work that exists nowhere else, and comes back byte for byte.
pub(super) fn seal(client: &Client, act: &Act, report: &mut Report) -> Result<(), Failure> {
    let workspace = &act.workspace;
    let before = workspace.content()?;
    report.step(
        "without consent, a task with work that exists nowhere else is not closed",
        || match client.archive_task(&act.task_id, &CloseOptions::default()) {
            Err(ClientError::Refused { status: 409, body }) if body.code == "at_stake" => {
                require(body.stakes.len() == 2, || format!("at stake is {:?}", body.stakes))?;
                verify_no_job(client, act)
            }
            other => require(false, || format!("the answer is {other:?}")),
        },
    )?;
    report.step("it is sealed and archived; directory and registration are gone", || {
        archive(client, act)?;
        verify_gone(workspace)
    })?;
    report.step("it is unarchived: every file, the index and the branch are back, byte for byte", || {
        client.reopen_task(&act.task_id, &ReopenTask::default())?;
        let now = workspace.content()?;
        require(now == before, || "something differs".to_owned())
    })
}

/// The work is committed and the task archived, deleted, and brought back from the trash.
pub(super) fn close(client: &Client, act: &Act, report: &mut Report) -> Result<(), Failure> {
    let workspace = &act.workspace;
    let commit = report.step("a person commits everything in the workspace", || workspace.commit_all())?;
    let before = workspace.content()?;
    report.step("the task is archived; directory and registration are gone", || {
        archive(client, act)?;
        verify_gone(workspace)
    })?;
    report.step("the branch is kept, with everything that was committed", || {
        let kept = workspace.branch_commit()?;
        require(kept == commit, || format!("the branch is at {kept}, not at {commit}"))?;
        for path in [MARKER, ADDED] {
            output_of(git(&workspace.checkout).args(["cat-file", "-e", &format!("{commit}:{path}")]))?;
        }
        Ok(())
    })?;
    report.step("the task is deleted, and comes back from the trash", || {
        let job = client
            .delete_task(&act.task_id, &CloseOptions { seal: Some(true), ..CloseOptions::default() })?;
        ended(client, &job)?;
        let trash = client.trash(&TrashQuery::default())?;
        require(trash.len() == 1, || format!("in the trash are {} tasks", trash.len()))?;
        client.reopen_task(&act.task_id, &ReopenTask::default())?;
        let now = workspace.content()?;
        require(now == before, || "something differs".to_owned())
    })?;
    report.step("the task is archived at last", || {
        archive(client, act)?;
        let archived = client.task(&act.task_id)?.task.archived_at.is_some();
        require(archived, || "the task is not archived".to_owned())
    })
}

fn archive(client: &Client, act: &Act) -> Result<(), Failure> {
    let job =
        client.archive_task(&act.task_id, &CloseOptions { seal: Some(true), ..CloseOptions::default() })?;
    ended(client, &job)
}

/// Waits until a cleanup job has ended well.
fn ended(client: &Client, job: &CleanupJob) -> Result<(), Failure> {
    let ended = wait_for("the end of the cleanup", || {
        let job = client.cleanup_job(&job.id)?;
        let goes_on = matches!(job.state.as_str(), "prepared" | "pending" | "running" | "retry_wait");
        Ok((!goes_on).then_some(job))
    })?;
    require(ended.state == "succeeded", || {
        format!("it is {}: {} {:?}", ended.state, ended.last_error, ended.stakes)
    })
}

fn verify_gone(workspace: &Workspace) -> Result<(), Failure> {
    require(workspace.path.symlink_metadata().is_err(), || {
        format!("{} is still there", workspace.path.display())
    })?;
    let registration = workspace.registration()?;
    require(registration.is_none(), || format!("it is still registered: {registration:?}"))
}
