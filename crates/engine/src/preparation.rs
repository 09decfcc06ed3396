//! Preparation: what a workspace gets after it is owned and before anything works in it.
//!
//! copies and links from the main checkout → notes about what is not as expected → ports → scripts to run. The
//! wish is stored together with ownership, and every part can be repeated, so that a crash on the way only means
//! that the next who needs the workspace goes on. Nothing here makes a workspace fail: what could not be done is
//! told in the report.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use freehold_domain::environment::{EnvironmentRepo, EnvironmentRepoStatus, TaskEnvironment};
use freehold_domain::event::EventBody;
use freehold_domain::id::{EnvironmentId, SetupId};
use freehold_domain::preparation::{
    PORT_RANGE, PORTS_PER_WORKSPACE, Planted, PortBlock, Preparation, RepositorySettings, SETUP_FILE, Setup,
    SetupKind, SetupState, Skipped, Submodules,
};
use freehold_domain::repository::Repository;
use freehold_git::{Git, GitError, PlantLimits, PlantRequest};
use freehold_store as store;

use crate::{Engine, EngineError};

/// What is needed to prepare one worktree.
struct Unprepared {
    repo: EnvironmentRepo,
    repository: Repository,
    settings: RepositorySettings,
}

impl Engine {
    /// Prepares what was not prepared yet; does nothing twice.
    pub(crate) async fn prepare_environment(&self, environment: &TaskEnvironment) -> Result<(), EngineError> {
        let unprepared = self.unprepared(environment).await?;
        if unprepared.is_empty() {
            return Ok(());
        }
        self.require_ports(&environment.id).await?;
        for Unprepared { repo, repository, settings } in unprepared {
            let has_script = has_script(&repo, &settings);
            let (source, worktree) =
                (PathBuf::from(repository.local_path), PathBuf::from(&repo.worktree_path));
            let work = move |git: &Git| Ok::<_, EngineError>(prepare(git, source, &worktree, &settings));
            let report = self.blocking("preparing a worktree", work).await?;
            crate::failpoint!("engine.preparation.planted");
            let (now, task_id) = (self.now(), environment.task_id.clone());
            let setup = has_script.then(|| self.pending_setup(&repo, SetupKind::Setup));
            let write = self.inner.store.write(move |tx| {
                if store::preparation::finish(tx, &repo.id, &report, now)? {
                    setup.map(|setup| store::setup::insert(tx, &setup)).transpose()?;
                    tx.emit(EventBody::TaskChanged { task_id }, now);
                }
                Ok::<_, EngineError>(())
            });
            write.await?;
            crate::failpoint!("engine.preparation.stored");
        }
        Ok(())
    }

    /// A run that is about to be stored.
    pub(crate) fn pending_setup(&self, repo: &EnvironmentRepo, kind: SetupKind) -> Setup {
        Setup {
            id: SetupId::generate(self.ids()),
            environment_repo_id: repo.id.clone(),
            node_id: self.inner.options.node_id.clone(),
            kind,
            state: SetupState::Pending,
            exit_code: None,
            output: String::new(),
            created_at: self.now(),
            started_at: None,
            finished_at: None,
        }
    }

    async fn unprepared(&self, environment: &TaskEnvironment) -> Result<Vec<Unprepared>, EngineError> {
        let id = environment.id.clone();
        let read = self.inner.store.read(move |tx| {
            let mut unprepared = Vec::new();
            for repo in store::environment::repos_of(tx, &id)? {
                let is_there = repo.origin.is_some() && repo.status == EnvironmentRepoStatus::Active;
                if !is_there || !store::preparation::is_pending(tx, &repo.id)? {
                    continue;
                }
                let repository = store::repository::require(tx, &repo.repository_id)?;
                let settings = store::repository_settings::read(tx, &repo.repository_id)?;
                unprepared.push(Unprepared { repo, repository, settings });
            }
            Ok::<_, EngineError>(unprepared)
        });
        read.await
    }

    /// Returns the ports of a workspace, reserving a block when it has none; none when no block is free.
    pub(crate) async fn require_ports(
        &self,
        environment: &EnvironmentId,
    ) -> Result<Option<PortBlock>, EngineError> {
        let mut from = PORT_RANGE.0;
        loop {
            let (id, node) = (environment.clone(), self.inner.options.node_id.clone());
            let read = self.inner.store.read(move |tx| {
                Ok::<_, EngineError>((store::port_block::find(tx, &id)?, store::port_block::list(tx, &node)?))
            });
            let (own, taken) = read.await?;
            if own.is_some() {
                return Ok(own);
            }
            let looked = self
                .blocking("looking for free ports", move |_| Ok::<_, EngineError>(free_block(&taken, from)));
            let Some(first) = looked.await? else {
                tracing::warn!(environment_id = %environment, "no block of ports is free");
                return Ok(None);
            };
            let block = PortBlock {
                node_id: self.inner.options.node_id.clone(),
                environment_id: environment.clone(),
                first,
                count: PORTS_PER_WORKSPACE,
            };
            let now = self.now();
            // Not reserved when another took the block meanwhile; what is taken is then read again.
            self.inner.store.write(move |tx| store::port_block::reserve(tx, &block, now)).await?;
            from = first;
        }
    }
}

/// The first block from a port on that nobody reserved and in which nothing listens.
fn free_block(taken: &[PortBlock], from: u16) -> Option<u16> {
    let blocks = (from..=PORT_RANGE.1 - (PORTS_PER_WORKSPACE - 1)).step_by(PORTS_PER_WORKSPACE.into());
    let is_free = |first: &u16| {
        let last = first + (PORTS_PER_WORKSPACE - 1);
        let is_reserved = taken.iter().any(|block| block.first <= last && *first <= block.last());
        !is_reserved && (*first..=last).all(is_quiet)
    };
    blocks.into_iter().find(is_free)
}

/// Whether nothing listens on a port of this machine, in either version of the protocol.
fn is_quiet(port: u16) -> bool {
    let listens = |address: SocketAddr| {
        TcpListener::bind(address).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
    };
    !listens((Ipv4Addr::LOCALHOST, port).into()) && !listens((Ipv6Addr::LOCALHOST, port).into())
}

/// Whether something is to be run in a new worktree: what a person set, or what the repository names.
pub(crate) fn has_script(repo: &EnvironmentRepo, settings: &RepositorySettings) -> bool {
    settings.script(SetupKind::Setup).is_some() || Path::new(&repo.worktree_path).join(SETUP_FILE).is_file()
}

/// Does all that happens in files; what fails is a note.
fn prepare(git: &Git, source: PathBuf, worktree: &Path, settings: &RepositorySettings) -> Preparation {
    let mut report = Preparation::default();
    let request = PlantRequest {
        source,
        worktree: worktree.to_owned(),
        patterns: settings.copy.clone(),
        links: settings.links.iter().map(PathBuf::from).collect(),
        limits: PlantLimits::default(),
    };
    match git.plant(&request) {
        Ok(planting) => record(&mut report, planting),
        Err(error) => report.notes.push(format!("Nothing was copied from the main checkout: {error}")),
    }
    let mut note = |told: Result<Vec<String>, GitError>| match told {
        Ok(notes) => report.notes.extend(notes),
        Err(error) => report.notes.push(format!("The worktree could not be looked at: {error}")),
    };
    if settings.submodules == Submodules::On {
        note(git.check_out_submodules(worktree));
    }
    note(git.describe_contents(worktree));
    for link in settings.links.iter().map(Path::new) {
        if worktree.join(link).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            note(git.describe_link(worktree, link).map(|told| told.into_iter().collect()));
        }
    }
    report
}

fn record(report: &mut Preparation, planting: freehold_git::Planting) {
    let mut skipped_total = planting.skipped_total;
    for (path, reason) in planting.skipped {
        report.skipped.push(Skipped { path: path.to_string_lossy().into_owned(), reason });
    }
    for planted in planting.planted {
        match (planted.path.to_str(), planted.source.to_str()) {
            (Some(path), Some(source)) => report.planted.push(Planted {
                path: path.to_owned(),
                source: source.to_owned(),
                is_link: planted.is_link,
            }),
            _ => {
                skipped_total += 1;
                let path = planted.path.to_string_lossy().into_owned();
                let reason =
                    "it was copied, but its name is not UTF-8 text, so that it counts as work".into();
                report.skipped.push(Skipped { path, reason });
            }
        }
    }
    report.copied_bytes = planting.copied_bytes;
    report.skipped_total = skipped_total;
}
