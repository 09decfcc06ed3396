//! Storage and the quarantine, as they go over the wire.

use freehold_api::storage as api;
use freehold_engine::storage::quarantine::QuarantineView;
use freehold_engine::storage::{RepositoryStorage, StorageReport, Sum, TaskStorage, UnownedPlace};

pub(crate) fn storage(report: StorageReport) -> api::Storage {
    api::Storage {
        root: report.root,
        free_bytes: report.free_bytes,
        is_measuring: report.is_measuring,
        tasks: report.tasks.into_iter().map(task).collect(),
        repositories: report.repositories.into_iter().map(repository).collect(),
        idle: room(&report.idle),
        quarantine: room(&report.quarantine),
        unowned: room(&report.unowned),
    }
}

fn room(sum: &Sum) -> api::Room {
    api::Room {
        count: sum.count,
        unmeasured: sum.unmeasured,
        size_bytes: sum.room.size_bytes,
        file_count: sum.room.file_count,
        at_least: sum.measured_at.is_some() && !sum.room.is_complete,
        measured_at: sum.measured_at.map(Into::into),
    }
}

fn task(task: TaskStorage) -> api::TaskStorage {
    let worktrees = task.worktrees.into_iter().map(|(repository_id, path, measure)| api::WorktreeStorage {
        repository_id: repository_id.into(),
        path,
        size_bytes: measure.map(|measure| measure.room.size_bytes),
    });
    api::TaskStorage {
        worktrees: worktrees.collect(),
        task_id: task.task_id.into(),
        title: task.title,
        state: task.state,
        workspace_path: task.workspace_path,
        hostname: task.hostname,
        is_persons: task.is_persons,
        workspace: room(&task.workspace),
        seal_bytes: task.seal_bytes,
        seal_count: task.seal_count,
        script_runs: task.script_runs,
        script_output: task.script_output,
    }
}

fn repository(repository: RepositoryStorage) -> api::RepositoryStorage {
    api::RepositoryStorage {
        id: repository.id.into(),
        name: repository.name,
        path: repository.path,
        worktrees: room(&repository.worktrees),
        seal_bytes: repository.seal_bytes,
        seal_count: repository.seal_count,
    }
}

pub(crate) fn unowned_place(place: UnownedPlace) -> api::UnownedPlace {
    let measure = place.measure;
    api::UnownedPlace {
        path: place.path,
        kind: place.kind.to_string(),
        reason: place.reason.to_string(),
        detail: place.detail,
        is_owner_unknown: !place.reason.is_recorded(),
        task_id: place.task_id.map(Into::into),
        repository_id: place.repository_id.map(Into::into),
        repository_path: place.repository_path,
        branch: place.branch,
        since: place.since.map(Into::into),
        size_bytes: measure.as_ref().map(|measure| measure.room.size_bytes),
        at_least: measure.as_ref().is_some_and(|measure| !measure.room.is_complete),
        measured_at: measure.map(|measure| measure.measured_at.into()),
        refusal: place.refusal,
    }
}

pub(crate) fn quarantine_entry(view: QuarantineView) -> api::QuarantineEntry {
    let entry = view.entry;
    api::QuarantineEntry {
        id: entry.id.into(),
        state: entry.state.to_string(),
        kind: entry.kind.to_string(),
        original_path: entry.original_path,
        held_path: entry.held_path,
        restore_path: entry.restore_path,
        hostname: view.hostname,
        repository_id: entry.repository_id.map(Into::into),
        repository_path: entry.repository_path,
        reason: entry.reason.to_string(),
        detail: entry.detail,
        requested_by: entry.requested_by,
        size_bytes: entry.size_bytes,
        job_id: entry.job_id.into(),
        error_message: entry.error_message,
        created_at: entry.created_at.into(),
        held_at: entry.held_at.map(Into::into),
        expires_at: view.expires_at.map(Into::into),
    }
}
