//! From the domain's shapes to the wire's.

pub(crate) mod preparation;
pub(crate) mod storage;

use freehold_api as api;
use freehold_domain::agent::AgentProfile;
use freehold_domain::cleanup::{CleanupJob, CleanupTrigger, ResourceSnapshot, Stake};
use freehold_domain::environment::{EnvironmentRepo, WorkspaceKind};
use freehold_domain::event::{Event, EventBody, MessageBody};
use freehold_domain::message::Message;
use freehold_domain::repository::Repository;
use freehold_domain::seal::{SealKind, WorkspaceSeal};
use freehold_engine::cleanup::{CloseReport, TaskRef, discard_phrase};
use freehold_engine::environment::EnvironmentView;
use freehold_engine::error::Offer;
use freehold_engine::git::{Branch, ChangeKind, FileChange, FileDiff};
use freehold_engine::review::RepositoryChanges;
use freehold_engine::session::{MessageList, SessionDeleted, SessionView};
use freehold_engine::task::{TaskSummary, TaskView};
use freehold_engine::trash::{SealedChanges, TrashEntry};
use freehold_engine::workspace::{WorkspaceReport, WorkspaceView};

pub(crate) fn workspace(view: WorkspaceView) -> api::workspace::Workspace {
    let step = |step: freehold_domain::workflow::Step| api::workspace::Step {
        id: step.id.into(),
        name: step.name,
        position: step.position,
        is_start: step.is_start,
        auto_archive_after_ms: step.auto_archive.map(|rule| rule.after_ms),
        auto_archive_seals: step.auto_archive.is_some_and(|rule| rule.seals),
    };
    let workflows = view.workflows.into_iter().map(|(workflow, steps)| api::workspace::Workflow {
        id: workflow.id.into(),
        name: workflow.name,
        steps: steps.into_iter().map(step).collect(),
    });
    api::workspace::Workspace {
        id: view.workspace.id.into(),
        name: view.workspace.name,
        workflows: workflows.collect(),
    }
}

pub(crate) fn repository(repository: Repository) -> api::repository::Repository {
    api::repository::Repository {
        id: repository.id.into(),
        workspace_id: repository.workspace_id.into(),
        name: repository.name,
        local_path: repository.local_path,
        default_branch: repository.default_branch,
        branch_prefix: repository.branch_prefix,
        created_at: repository.created_at.into(),
    }
}

pub(crate) fn branch(default_branch: &str, branch: Branch) -> api::repository::Branch {
    api::repository::Branch {
        is_default: branch.name == default_branch,
        name: branch.name,
        is_remote: branch.is_remote,
        commit: branch.commit.to_string(),
    }
}

pub(crate) fn agent_profile(profile: AgentProfile) -> api::agent::AgentProfile {
    api::agent::AgentProfile {
        id: profile.id.into(),
        kind: profile.agent_id,
        name: profile.name,
        command: profile.command,
        args: profile.args,
        env_names: profile.env.into_keys().collect(),
    }
}

pub(crate) fn offer(offer: Offer) -> api::error::Offer {
    api::error::Offer {
        base_branch: offer.base_branch,
        new_branch: offer.new_branch,
        adopt_path: offer.adopt_path,
        in_place: offer.in_place,
        task_id: offer.task_id.map(Into::into),
    }
}

pub(crate) fn task_card(summary: TaskSummary) -> api::task::TaskCard {
    let task = summary.task;
    api::task::TaskCard {
        id: task.id.into(),
        parent_id: task.parent_id.map(Into::into),
        is_quick: task.is_quick,
        automation: task.automation,
        expires_at: task.expires_at.map(Into::into),
        workspace_id: task.workspace_id.into(),
        workflow_id: task.workflow_id.into(),
        step_id: task.step_id.into(),
        title: task.title,
        state: task.state.to_string(),
        position: task.position,
        repositories: summary.repository_names,
        session_state: summary.session_state.map(|state| state.to_string()),
        environment_status: summary.environment_status.map(|status| status.to_string()),
        cleanup_state: summary.open_job_state.map(|state| state.to_string()),
        archived_at: task.archived_at.map(Into::into),
        deleted_at: task.deleted_at.map(Into::into),
        created_at: task.created_at.into(),
        updated_at: task.updated_at.into(),
    }
}

pub(crate) fn task_detail(view: TaskView) -> api::task::TaskDetail {
    let task = &view.summary.task;
    api::task::TaskDetail {
        prompt: view.prompt,
        error_message: task.error_message.clone(),
        agent_profile_id: task.agent_profile_id.clone().map(Into::into),
        task: task_card(view.summary),
        environment: view.environment.map(environment),
        sessions: view.sessions.into_iter().map(session).collect(),
        cleanup_jobs: view.cleanup_jobs.into_iter().map(cleanup_job).collect(),
        sub_tasks: view.sub_tasks.into_iter().map(task_ref).collect(),
    }
}

pub(crate) fn task_ref(task: TaskRef) -> api::task::TaskRef {
    api::task::TaskRef { id: task.id.into(), title: task.title }
}

fn environment(view: EnvironmentView) -> api::task::Environment {
    api::task::Environment {
        id: view.environment.id.into(),
        kind: view.environment.executor_type,
        owner_id: view.environment.task_id.into(),
        status: view.environment.status.to_string(),
        workspace_path: view.environment.workspace_path,
        repositories: view
            .repos
            .into_iter()
            .zip(view.preparations)
            .map(|(repo, preparation)| environment_repo(repo, preparation.map(preparation::preparation)))
            .collect(),
        setups: view.setups.into_iter().map(preparation::setup).collect(),
        ports: view.ports.map(|ports| preparation::port_block(&ports)),
    }
}

fn environment_repo(
    (repo, repository_name): (EnvironmentRepo, String),
    preparation: Option<api::preparation::Preparation>,
) -> api::task::EnvironmentRepo {
    let branch_made = repo.origin.as_ref().is_some_and(|origin| origin.branch_made);
    let (base_branch, base_commit, warning) = repo
        .origin
        .map(|origin| (origin.base_branch, origin.base_commit, origin.warning))
        .unwrap_or_default();
    api::task::EnvironmentRepo {
        id: repo.id.into(),
        repository_id: repo.repository_id.into(),
        repository_name,
        worktree_path: repo.worktree_path,
        worktree_branch: repo.worktree_branch,
        base_branch,
        base_commit,
        branch_made,
        warning,
        preparation,
        status: repo.status.to_string(),
    }
}

pub(crate) fn changes(changes: RepositoryChanges) -> api::task::RepositoryChanges {
    api::task::RepositoryChanges {
        repository_id: changes.repository_id.into(),
        repository_name: changes.repository_name,
        branch: changes.branch,
        base_commit: changes.base_commit,
        inferred_base: changes.inferred_base,
        files: changes.files.into_iter().map(file_change).collect(),
        error_message: changes.error_message,
    }
}

fn file_change(change: FileChange) -> api::task::FileChange {
    let kind = match change.kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Renamed => "renamed",
        ChangeKind::TypeChanged => "type_changed",
    };
    api::task::FileChange {
        path: change.path,
        old_path: change.old_path,
        kind: kind.to_owned(),
        additions: change.additions,
        deletions: change.deletions,
        untracked: change.untracked,
    }
}

pub(crate) fn file_diff(diff: FileDiff) -> api::task::FileDiff {
    api::task::FileDiff {
        path: diff.path,
        old_path: diff.old_path,
        patch: diff.patch,
        binary: diff.binary,
        too_large: diff.too_large,
    }
}

pub(crate) fn session(view: SessionView) -> api::session::Session {
    let session = view.session;
    api::session::Session {
        id: session.id.into(),
        task_id: session.task_id.into(),
        name: session.name,
        state: session.state.to_string(),
        error_message: session.error_message,
        is_primary: session.is_primary,
        agent_profile_id: session.agent_profile_id.map(Into::into),
        agent_name: view.agent_name,
        started_at: session.started_at.into(),
        updated_at: session.updated_at.into(),
    }
}

pub(crate) fn session_deleted(deleted: SessionDeleted) -> api::session::SessionDeleted {
    api::session::SessionDeleted {
        session_id: deleted.session_id.into(),
        primary_session_id: deleted.primary_session_id.map(Into::into),
        workspace_path: deleted.workspace_path,
    }
}

pub(crate) fn message_page(list: MessageList) -> api::session::MessagePage {
    let message = |message: Message| body_of(MessageBody::from(&message));
    api::session::MessagePage {
        items: list.items.into_iter().map(message).collect(),
        has_older: list.has_older,
        last_event: list.last_event,
    }
}

fn body_of(message: MessageBody) -> api::session::Message {
    api::session::Message {
        id: message.id.into(),
        turn_id: message.turn_id.into(),
        ordinal: message.ordinal,
        author: message.author.to_string(),
        kind: message.kind.to_string(),
        content: message.content,
        metadata: message.metadata,
        created_at: message.created_at.into(),
        updated_at: message.updated_at.into(),
    }
}

pub(crate) fn cleanup_job(job: CleanupJob) -> api::cleanup::CleanupJob {
    let resources = job.resources();
    let worktrees = resources.map_or(&[][..], |resources| &resources.worktrees);
    let is_folder = |it: &&ResourceSnapshot| {
        let is_quarantined = it.quarantine_id.is_some() && it.worktrees.is_empty();
        is_quarantined || it.executor_type == WorkspaceKind::Scratch.as_str()
    };
    let scratch = resources.filter(is_folder);
    let scratch = scratch.map(|resources| resources.workspace_path.clone());
    let worktree_paths = worktrees.iter().map(|worktree| worktree.path.clone()).chain(scratch).collect();
    let kept_path = resources.map(|resources| resources.kept_path.clone()).unwrap_or_default();
    api::cleanup::CleanupJob {
        is_foreign: resources.is_none(),
        worktree_paths,
        kept_path,
        operation: job.operation_id.rsplit(':').next().unwrap_or_default().to_owned(),
        id: job.id.into(),
        task_id: job.task_id.into(),
        task_title: job.task_title,
        trigger: job.trigger.to_string(),
        state: job.state.to_string(),
        attempts: job.attempts,
        next_attempt_at: job.next_attempt_at.map(Into::into),
        last_error: job.last_error,
        discard_phrase: (!job.stakes.is_empty()
            && job.trigger != CleanupTrigger::Quarantine
            && job.stakes.iter().all(|stake| stake.kind.is_discardable()))
        .then(|| discard_phrase(&job.stakes)),
        stakes: job.stakes.into_iter().map(stake).collect(),
        created_at: job.created_at.into(),
        updated_at: job.updated_at.into(),
        completed_at: job.completed_at.map(Into::into),
    }
}

pub(crate) fn stake(stake: Stake) -> api::cleanup::Stake {
    api::cleanup::Stake {
        kind: stake.kind.to_string(),
        worktree_path: stake.worktree_path,
        items: stake.items,
        total: stake.total,
        detail: stake.detail,
    }
}

pub(crate) fn close_report(report: CloseReport) -> api::cleanup::CloseReport {
    api::cleanup::CloseReport {
        live_sessions: report.live_sessions,
        workspace_path: report.workspace_path,
        keeps_workspace: report.keeps_workspace,
        branches_kept: report.branches_kept,
        disk_bytes: report.disk_bytes,
        sealed: report.sealed.into_iter().map(stake).collect(),
        stakes: report.stakes.into_iter().map(stake).collect(),
        found_elsewhere: report.found_elsewhere,
        restorable_until: report.restorable_until.map(Into::into),
        sub_tasks: report.sub_tasks.into_iter().map(task_ref).collect(),
        borrowers: report.borrowers.into_iter().map(task_ref).collect(),
        heir_id: report.heir.map(Into::into),
    }
}

pub(crate) fn workspace_close_report(report: WorkspaceReport) -> api::cleanup::WorkspaceCloseReport {
    api::cleanup::WorkspaceCloseReport {
        name: report.name,
        task_count: report.task_count,
        live_sessions: report.live_sessions,
        disk_bytes: report.disk_bytes,
        sealed: report.sealed.into_iter().map(stake).collect(),
        stakes: report.stakes.into_iter().map(stake).collect(),
        restorable_until: report.restorable_until.into(),
    }
}

pub(crate) fn trashed_task(entry: TrashEntry) -> api::trash::TrashedTask {
    api::trash::TrashedTask {
        trashed_at: entry.trashed_at.into(),
        expires_at: entry.expires_at.into(),
        size_bytes: entry.seals.iter().map(|seal| seal.size_bytes).sum(),
        seals: entry.seals.into_iter().map(seal).collect(),
        task: task_card(entry.summary),
    }
}

pub(crate) fn sealed_changes(changes: SealedChanges) -> api::trash::SealedChanges {
    api::trash::SealedChanges {
        seal: seal(changes.seal),
        files: changes.files.into_iter().map(file_change).collect(),
        error_message: changes.error_message,
    }
}

fn seal(seal: WorkspaceSeal) -> api::trash::Seal {
    let left_out = seal.left_out.into_iter().map(|left| api::trash::LeftOut {
        path: left.path,
        size_bytes: left.size_bytes,
        reason: left.reason,
    });
    api::trash::Seal {
        id: seal.id.into(),
        kind: seal.kind.to_string(),
        job_id: seal.job_id.into(),
        environment_repo_id: seal.environment_repo_id.map(Into::into),
        repository_id: match seal.kind {
            SealKind::Worktree => seal.repository_id.into(),
            SealKind::Folder => String::new(),
        },
        repository_path: seal.repository_path,
        worktree_path: seal.worktree_path,
        branch: seal.branch,
        file_count: seal.file_count,
        size_bytes: seal.size_bytes,
        left_out: left_out.collect(),
        created_at: seal.created_at.into(),
    }
}

pub(crate) fn event(event: Event) -> api::live::LiveEvent {
    api::live::LiveEvent { seq: event.seq, at: event.created_at.into(), event: event_body(event.body) }
}

fn event_body(body: EventBody) -> api::live::EventBody {
    use api::live::EventBody as Wire;
    match body {
        EventBody::RepositoryChanged { repository_id } => {
            Wire::RepositoryChanged { repository_id: repository_id.into() }
        }
        EventBody::TaskChanged { task_id } => Wire::TaskChanged { task_id: task_id.into() },
        EventBody::TaskDeleted { task_id } => Wire::TaskDeleted { task_id: task_id.into() },
        EventBody::SessionChanged { task_id, session_id } => {
            Wire::SessionChanged { task_id: task_id.into(), session_id: session_id.into() }
        }
        EventBody::SessionDeleted { task_id, session_id } => {
            Wire::SessionDeleted { task_id: task_id.into(), session_id: session_id.into() }
        }
        EventBody::MessageAdded { task_id, session_id, message } => Wire::MessageAdded {
            task_id: task_id.into(),
            session_id: session_id.into(),
            message: body_of(message),
        },
        EventBody::MessageAppended { task_id, session_id, message_id, offset, text } => {
            Wire::MessageAppended {
                task_id: task_id.into(),
                session_id: session_id.into(),
                message_id: message_id.into(),
                offset,
                text,
            }
        }
        EventBody::MessageReplaced { task_id, session_id, message } => Wire::MessageReplaced {
            task_id: task_id.into(),
            session_id: session_id.into(),
            message: body_of(message),
        },
        EventBody::SetupOutput { task_id, setup_id, text } => {
            Wire::SetupOutput { task_id: task_id.into(), setup_id: setup_id.into(), text }
        }
        EventBody::CleanupJobChanged { task_id, job_id } => {
            Wire::CleanupJobChanged { task_id: task_id.into(), job_id: job_id.into() }
        }
    }
}
