//! What workspaces get besides tracked files, as it goes over the wire.

use freehold_api::preparation as api;
use freehold_domain::preparation::{PortBlock, Preparation, RepositorySettings, Setup};
use freehold_engine::repository_settings::RepositoryView;

pub(crate) fn repository_detail(view: RepositoryView) -> api::RepositoryDetail {
    let scripts = view.scripts.into_iter().map(|script| api::RepositoryScript {
        path: script.path.to_owned(),
        sha256: script.hash,
        content: script.content,
        trusted: script.is_trusted,
    });
    api::RepositoryDetail {
        scripts: scripts.collect(),
        settings: settings(view.settings),
        repository: super::repository(view.repository),
    }
}

fn settings(settings: RepositorySettings) -> api::RepositorySettings {
    api::RepositorySettings {
        copy: settings.copy,
        links: settings.links,
        setup_script: settings.setup,
        teardown_script: settings.teardown,
        submodules: settings.submodules.to_string(),
    }
}

pub(crate) fn preparation(preparation: Preparation) -> api::Preparation {
    let links: Vec<String> = preparation.links().map(|planted| planted.path.clone()).collect();
    let skipped = preparation.skipped.into_iter();
    api::Preparation {
        copied_files: (preparation.planted.len() - links.len()) as u64,
        copied_bytes: preparation.copied_bytes,
        links,
        skipped: skipped.map(|file| api::SkippedFile { path: file.path, reason: file.reason }).collect(),
        skipped_total: preparation.skipped_total,
        notes: preparation.notes,
    }
}

pub(crate) fn setup(setup: Setup) -> api::Setup {
    api::Setup {
        id: setup.id.into(),
        environment_repo_id: setup.environment_repo_id.into(),
        kind: setup.kind.to_string(),
        state: setup.state.to_string(),
        exit_code: setup.exit_code,
        output: setup.output,
        created_at: setup.created_at.into(),
        started_at: setup.started_at.map(Into::into),
        finished_at: setup.finished_at.map(Into::into),
    }
}

pub(crate) fn port_block(ports: &PortBlock) -> api::PortBlock {
    api::PortBlock { first: ports.first, last: ports.last() }
}
