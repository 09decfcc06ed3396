//! Set-up and tear-down scripts: run in a worktree, within a time limit, each run stored with what it printed.
//!
//! A script runs when a person set it, or when the repository names it and a person trusted that very content. It
//! is a file that `sh` reads; what it needs to know comes in variables, never in its text. A run that fails does
//! not take the workspace away and does not keep a session from starting: it is shown, and can be repeated. A run
//! that a dead server left is ended and marked at the next start.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use freehold_agent::{AgentCommand, EXECUTION_VARIABLE, ScriptEnd, ScriptLimits, run_script};
use freehold_domain::cleanup::{CleanupJob, ResourceSnapshot};
use freehold_domain::environment::{EnvironmentRepo, EnvironmentRepoStatus, TaskEnvironment};
use freehold_domain::event::EventBody;
use freehold_domain::id::TaskId;
use freehold_domain::preparation::{
    MAX_SCRIPT_BYTES, PortBlock, RepositorySettings, SETUP_FILE, Setup, SetupKind, SetupState, TEARDOWN_FILE,
    append_output,
};
use freehold_domain::session::Session;
use freehold_store as store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::repository_settings::content_hash;
use crate::{Engine, EngineError};

/// How long a script may take, in milliseconds.
const TIME_MS: u64 = 10 * 60 * 1000;
/// How long output is collected before it is stored and told.
const FLUSH_DELAY: Duration = Duration::from_millis(200);

/// The tasks whose scripts run on this server.
#[derive(Debug, Default)]
pub(crate) struct RunningSetups(Mutex<HashMap<TaskId, Run>>);

#[derive(Debug, Clone, Default)]
struct Run {
    cancel: CancellationToken,
    ended: CancellationToken,
}

impl RunningSetups {
    /// Begins to run a task's scripts; none when they are running.
    fn begin(&self, task_id: &TaskId, shutdown: &CancellationToken) -> Option<Run> {
        let mut running = self.lock();
        if running.contains_key(task_id) {
            return None;
        }
        let run = Run { cancel: shutdown.child_token(), ended: CancellationToken::new() };
        running.insert(task_id.clone(), run.clone());
        Some(run)
    }

    fn end(&self, task_id: &TaskId, run: &Run) {
        self.lock().remove(task_id);
        run.ended.cancel();
    }

    /// Ends a task's scripts, if any run, and waits until that is stored.
    pub(crate) async fn stop(&self, task_id: &TaskId) {
        let run = self.lock().get(task_id).cloned();
        if let Some(run) = run {
            run.cancel.cancel();
            run.ended.cancelled().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A script and where it runs.
struct Job {
    setup: Setup,
    repo: EnvironmentRepo,
    repository_path: String,
    settings: RepositorySettings,
    task_id: TaskId,
    workspace: String,
    ports: Option<PortBlock>,
}

/// What is to be run, or why nothing is.
enum Script {
    Text(String),
    Untrusted(String),
    Unreadable(String),
}

/// Marks the runs that an earlier server of this node left, and ends what is left of their processes.
pub(crate) async fn interrupt_orphaned_setups(engine: &Engine) -> Result<(), EngineError> {
    let node = engine.inner.options.node_id.clone();
    for setup in engine.inner.store.read(move |tx| store::setup::list_running(tx, &node)).await? {
        freehold_agent::end_execution(setup.id.as_str()).await;
        let now = engine.now();
        let write = engine.inner.store.write(move |tx| {
            let output = format!("{}\nThe server ended before the script did.\n", setup.output);
            store::setup::finish(tx, &setup.id, SetupState::Interrupted, None, output.trim_start(), now)
        });
        write.await?;
    }
    Ok(())
}

impl Engine {
    /// Runs the scripts of a task that wait, in order; returns at once when they are running.
    pub(crate) async fn run_waiting_setups(&self, task_id: &TaskId) -> Result<(), EngineError> {
        let Some(run) = self.inner.setups.begin(task_id, &self.inner.shutdown) else { return Ok(()) };
        let outcome = self.run_each(task_id, SetupKind::Setup, &run.cancel).await;
        self.inner.setups.end(task_id, &run);
        outcome
    }

    /// Runs the set-up scripts of a task again, in the background.
    pub async fn repeat_setup(&self, task_id: TaskId) -> Result<(), EngineError> {
        let Some((environment, repos)) = self.environment_of(task_id.clone()).await? else {
            return Err(EngineError::NoWorkspace { task_id });
        };
        let ids: Vec<_> = repos.iter().map(|(repo, _)| repo.repository_id.clone()).collect();
        let read = self.inner.store.read(move |tx| {
            let settings = ids.iter().map(|id| store::repository_settings::read(tx, id));
            Ok::<_, EngineError>(settings.collect::<Result<Vec<_>, _>>()?)
        });
        let settings = read.await?;
        let wanted = repos.iter().zip(&settings).filter(|((repo, _), settings)| {
            // A checkout of a person has no worktree id and was set up by that person.
            let is_owned = repo.worktree_id.is_some() && repo.status == EnvironmentRepoStatus::Active;
            is_owned && crate::preparation::has_script(repo, settings)
        });
        let setups: Vec<Setup> =
            wanted.map(|((repo, _), _)| self.pending_setup(repo, SetupKind::Setup)).collect();
        if setups.is_empty() {
            return Err(EngineError::NoSetup { task_id });
        }
        let (id, now) = (task_id.clone(), self.now());
        let write = self.inner.store.write(move |tx| {
            let task = store::task::lock(tx, &id)?;
            crate::session::require_open(tx, &task)?;
            let runs = store::setup::list(tx, &environment.id)?;
            if runs.iter().any(|run| !run.state.is_final()) {
                return Err(EngineError::SetupRunning { task_id: id });
            }
            for setup in &setups {
                store::setup::insert(tx, setup)?;
            }
            tx.emit(EventBody::TaskChanged { task_id: id }, now);
            Ok(())
        });
        write.await?;
        let engine = self.clone();
        self.own(async move {
            if let Err(error) = engine.run_waiting_setups(&task_id).await {
                tracing::error!(%task_id, %error, "the set-up of a task could not be run");
            }
        });
        Ok(())
    }

    /// Runs the tear-down scripts of a workspace that is about to be given back: once nothing is at stake, and
    /// once per job and worktree. A script that fails keeps nothing from being given back; the removal looks again at
    /// what it left.
    pub(crate) async fn run_teardown(
        &self,
        job: &CleanupJob,
        resources: &ResourceSnapshot,
    ) -> Result<(), EngineError> {
        let (task_id, since) = (&job.task_id, job.created_at);
        let Some(environment_id) = resources.environment_id.clone() else { return Ok(()) };
        let read = self.inner.store.read(move |tx| {
            let mut wanted = Vec::new();
            let runs = store::setup::list(tx, &environment_id)?;
            for repo in store::environment::repos_of(tx, &environment_id)? {
                let was_run = runs.iter().any(|run| {
                    run.environment_repo_id == repo.id
                        && run.kind == SetupKind::Teardown
                        && run.created_at >= since
                });
                let settings = store::repository_settings::read(tx, &repo.repository_id)?;
                if !was_run && repo.worktree_id.is_some() && has_teardown(&repo, &settings) {
                    wanted.push(repo);
                }
            }
            Ok::<_, EngineError>(wanted)
        });
        let wanted: Vec<Setup> =
            read.await?.iter().map(|repo| self.pending_setup(repo, SetupKind::Teardown)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let write = self
            .inner
            .store
            .write(move |tx| wanted.iter().try_for_each(|setup| store::setup::insert(tx, setup)));
        write.await?;
        let Some(run) = self.inner.setups.begin(task_id, &self.inner.shutdown) else { return Ok(()) };
        let outcome = self.run_each(task_id, SetupKind::Teardown, &run.cancel).await;
        self.inner.setups.end(task_id, &run);
        outcome
    }

    /// The variables that an agent of a session gets beyond those of its profile.
    pub(crate) async fn workspace_variables(
        &self,
        session: &Session,
    ) -> Result<Vec<(String, String)>, EngineError> {
        let Some((environment, repos)) = self.environment_of(session.task_id.clone()).await? else {
            return Ok(Vec::new());
        };
        let ports = self.require_ports(&environment.id).await?;
        let mut variables = variables(&session.task_id, &environment.workspace_path, ports.as_ref());
        let worktrees = repos.into_iter().map(|(repo, _)| PathBuf::from(repo.worktree_path));
        variables.extend(self.git_variables(worktrees.collect()).await?);
        Ok(variables)
    }

    /// The variables with which Git opens worktrees of another user's repository that a person trusts.
    async fn git_variables(&self, worktrees: Vec<PathBuf>) -> Result<Vec<(String, String)>, EngineError> {
        let look = self
            .blocking("looking at owners", move |git| Ok::<_, EngineError>(git.safe_variables(&worktrees)));
        look.await
    }

    async fn run_each(
        &self,
        task_id: &TaskId,
        kind: SetupKind,
        cancel: &CancellationToken,
    ) -> Result<(), EngineError> {
        while let Some(job) = self.next_job(task_id, kind).await? {
            if cancel.is_cancelled() {
                return Ok(());
            }
            let (id, node, now) = (job.setup.id.clone(), self.inner.options.node_id.clone(), self.now());
            let task = task_id.clone();
            let write = self.inner.store.write(move |tx| {
                if kind == SetupKind::Setup {
                    // A job that gives the workspace back stops what runs; nothing may begin after that.
                    let task = store::task::lock(tx, &task)?;
                    crate::session::require_open(tx, &task)?;
                }
                let is_begun = store::setup::begin(tx, &id, &node, now)?;
                tx.emit(EventBody::TaskChanged { task_id: task }, now);
                Ok::<_, EngineError>(is_begun)
            });
            if write.await? {
                crate::failpoint!("engine.setup.begun");
                self.run_job(job, cancel).await?;
            }
        }
        Ok(())
    }

    async fn next_job(&self, task_id: &TaskId, kind: SetupKind) -> Result<Option<Job>, EngineError> {
        let id = task_id.clone();
        let read = self.inner.store.read(move |tx| {
            let Some(environment) = store::environment::find_by_task(tx, &id)? else { return Ok(None) };
            let TaskEnvironment { id: environment_id, task_id, workspace_path, .. } = environment;
            let runs = store::setup::list(tx, &environment_id)?;
            let Some(setup) =
                runs.into_iter().find(|run| run.kind == kind && run.state == SetupState::Pending)
            else {
                return Ok(None);
            };
            let repos = store::environment::repos_of(tx, &environment_id)?;
            let Some(repo) = repos.into_iter().find(|repo| repo.id == setup.environment_repo_id) else {
                return Ok(None);
            };
            let path = store::repository::find_path(tx, &repo.repository_id)?;
            Ok::<_, EngineError>(Some(Job {
                settings: store::repository_settings::read(tx, &repo.repository_id)?,
                ports: store::port_block::find(tx, &environment_id)?,
                repository_path: path.unwrap_or_default(),
                workspace: workspace_path,
                setup,
                repo,
                task_id,
            }))
        });
        read.await
    }

    async fn run_job(&self, job: Job, cancel: &CancellationToken) -> Result<(), EngineError> {
        let mut output = String::new();
        let (state, exit_code) = match self.script_of(&job).await? {
            Script::Untrusted(reason) => {
                output = reason;
                (SetupState::Untrusted, None)
            }
            Script::Unreadable(reason) => {
                output = reason;
                (SetupState::Failed, None)
            }
            Script::Text(text) => self.run_text(&job, &text, cancel, &mut output).await?,
        };
        if state != SetupState::Succeeded {
            let (task_id, kind) = (&job.task_id, job.setup.kind);
            tracing::warn!(%task_id, %kind, %state, "a script of a workspace did not succeed");
        }
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            store::setup::finish(tx, &job.setup.id, state, exit_code, &output, now)?;
            tx.emit(EventBody::TaskChanged { task_id: job.task_id }, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    /// What a person set; else what the repository names, if exactly that is trusted.
    async fn script_of(&self, job: &Job) -> Result<Script, EngineError> {
        if let Some(text) = job.settings.script(job.setup.kind) {
            return Ok(Script::Text(text.to_owned()));
        }
        let name = file_of(job.setup.kind);
        let path = Path::new(&job.repo.worktree_path).join(name);
        let text = match read_script(&path) {
            Ok(text) => text,
            Err(error) => return Ok(Script::Unreadable(format!("{name} cannot be run: {error}"))),
        };
        let (id, hash) = (job.repo.repository_id.clone(), content_hash(&text));
        let asked = hash.clone();
        let read = self.inner.store.read(move |tx| store::repository_settings::is_trusted(tx, &id, &asked));
        if read.await? {
            return Ok(Script::Text(text));
        }
        let repository = &job.repo.repository_id;
        Ok(Script::Untrusted(format!(
            "{name} was not run, because nobody trusted its content (SHA-256 {hash}). Read it, then: \
             freehold repo trust {repository} --sha256 {hash}"
        )))
    }

    async fn run_text(
        &self,
        job: &Job,
        text: &str,
        cancel: &CancellationToken,
        output: &mut String,
    ) -> Result<(SetupState, Option<i64>), EngineError> {
        let file = match ScriptFile::write(job.setup.id.as_str(), text) {
            Ok(file) => file,
            Err(error) => {
                *output = format!("the script could not be written to a file: {error}");
                return Ok((SetupState::Failed, None));
            }
        };
        let mut command = command(job, &file.0);
        command.env.extend(self.git_variables(vec![PathBuf::from(&job.repo.worktree_path)]).await?);
        let limits = ScriptLimits { time_ms: TIME_MS, stop_grace_ms: self.inner.options.agent_stop_grace_ms };
        let (sender, chunks) = mpsc::channel(64);
        let (end, stored) = tokio::join!(
            run_script(&command, limits, cancel, sender),
            self.store_output(job, chunks, output)
        );
        drop(file);
        if let Err(error) = stored {
            tracing::warn!(setup_id = %job.setup.id, %error, "the output of a script could not be stored");
        }
        Ok(match end {
            Ok(ScriptEnd::Exited(report)) if report.code == Some(0) => (SetupState::Succeeded, Some(0)),
            Ok(ScriptEnd::Exited(report)) => {
                if let Some(signal) = report.signal {
                    append_output(output, &format!("\nThe script was ended by signal {signal}.\n"));
                }
                (SetupState::Failed, report.code.map(i64::from))
            }
            Ok(ScriptEnd::TimedOut) => {
                append_output(output, "\nThe script was ended, because it took longer than 10 minutes.\n");
                (SetupState::TimedOut, None)
            }
            Ok(ScriptEnd::Cancelled) => (SetupState::Interrupted, None),
            Err(error) => {
                append_output(output, &error.to_string());
                (SetupState::Failed, None)
            }
        })
    }

    /// Stores and tells what a script prints as it comes, some of it at a time. Goes on to take what comes when it
    /// cannot be stored, so that the script does not wait.
    async fn store_output(
        &self,
        job: &Job,
        mut chunks: mpsc::Receiver<Vec<u8>>,
        output: &mut String,
    ) -> Result<(), EngineError> {
        let mut outcome = Ok(());
        let mut undecoded = Vec::new();
        while let Some(chunk) = chunks.recv().await {
            undecoded.extend(chunk);
            let until = tokio::time::sleep(FLUSH_DELAY);
            tokio::pin!(until);
            loop {
                tokio::select! {
                    chunk = chunks.recv() => match chunk {
                        Some(chunk) => undecoded.extend(chunk),
                        None => break,
                    },
                    () = &mut until => break,
                }
            }
            let text = decode(&mut undecoded, chunks.is_closed() && chunks.is_empty());
            append_output(output, &text);
            let (task_id, setup_id, whole) = (job.task_id.clone(), job.setup.id.clone(), output.clone());
            let now = self.now();
            let mut told = String::new();
            append_output(&mut told, &text);
            let write = self.inner.store.write(move |tx| {
                if store::setup::set_output(tx, &setup_id, &whole)? {
                    tx.emit(EventBody::SetupOutput { task_id, setup_id, text: told }, now);
                }
                Ok::<_, EngineError>(())
            });
            outcome = outcome.and(write.await);
        }
        append_output(output, &String::from_utf8_lossy(&undecoded));
        outcome
    }
}

/// Takes the whole characters from the front of what was read; all of it when nothing follows.
fn decode(bytes: &mut Vec<u8>, is_end: bool) -> String {
    let incomplete = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && !is_end => bytes.len() - error.valid_up_to(),
        _ => 0,
    };
    let rest = bytes.split_off(bytes.len() - incomplete);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

fn command(job: &Job, script: &Path) -> AgentCommand {
    let mut env = variables(&job.task_id, &job.workspace, job.ports.as_ref());
    let own = [
        (EXECUTION_VARIABLE, job.setup.id.as_str()),
        ("FREEHOLD_REPOSITORY", &job.repository_path),
        ("FREEHOLD_WORKTREE", &job.repo.worktree_path),
        ("FREEHOLD_BRANCH", &job.repo.worktree_branch),
    ];
    env.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    AgentCommand {
        program: PathBuf::from("sh"),
        args: vec![script.display().to_string()],
        env: env.into_iter().collect(),
        cwd: PathBuf::from(&job.repo.worktree_path),
    }
}

/// The variables that scripts and agents of a task get.
pub(crate) fn variables(
    task_id: &TaskId,
    workspace: &str,
    ports: Option<&PortBlock>,
) -> Vec<(String, String)> {
    let mut variables = vec![
        ("FREEHOLD_TASK_ID".to_owned(), task_id.to_string()),
        ("FREEHOLD_WORKSPACE".to_owned(), workspace.to_owned()),
    ];
    let ports = ports.into_iter().flat_map(PortBlock::variables);
    variables.extend(ports.map(|(name, value)| (name.to_owned(), value)));
    variables
}

const fn file_of(kind: SetupKind) -> &'static str {
    match kind {
        SetupKind::Setup => SETUP_FILE,
        SetupKind::Teardown => TEARDOWN_FILE,
    }
}

fn has_teardown(repo: &EnvironmentRepo, settings: &RepositorySettings) -> bool {
    let worktree = Path::new(&repo.worktree_path);
    let has_script = settings.script(SetupKind::Teardown).is_some() || worktree.join(TEARDOWN_FILE).is_file();
    worktree.is_dir() && has_script
}

/// Reads a script of a repository: a plain text of bounded size, never through a link.
pub(crate) fn read_script(path: &Path) -> std::io::Result<String> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("it is not a plain file"));
    }
    if metadata.len() > MAX_SCRIPT_BYTES as u64 {
        return Err(std::io::Error::other(format!("it has more than {MAX_SCRIPT_BYTES} bytes")));
    }
    std::fs::read_to_string(path)
}

/// A script in a file of its own that only we can read; gone when dropped.
struct ScriptFile(PathBuf);

impl ScriptFile {
    fn write(id: &str, text: &str) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("freehold-{id}.sh"));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let file_of = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(file_of)
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "the file of a script was left");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_comes_in_two_pieces_is_one() {
        let mut bytes = b"a\xC3".to_vec();
        assert_eq!(decode(&mut bytes, false), "a");
        bytes.push(0xA9);
        assert_eq!(decode(&mut bytes, false), "é");
        bytes.extend(b"\xC3");
        assert_eq!(decode(&mut bytes, true), "\u{FFFD}");
        assert!(bytes.is_empty());
    }
}
