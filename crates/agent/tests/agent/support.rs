//! What these tests share: a folder with a demo agent's script, a turn with its events, and the look at `/proc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use freehold_agent::{
    Agent, AgentCommand, AgentError, AgentEvent, AgentLimits, EXECUTION_VARIABLE, ExitReport, StopReason,
    start,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;

/// Nothing here may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) const QUICK: AgentLimits =
    AgentLimits { handshake_ms: 15_000, stop_grace_ms: 300, max_frame_bytes: 1024 * 1024 };

/// A workspace with an agent's command for it.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) command: AgentCommand,
    _script: TempDir,
}

impl Stage {
    /// An empty workspace for a program.
    pub(crate) fn with_program(program: impl Into<PathBuf>, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = AgentCommand {
            program: program.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: BTreeMap::from([(EXECUTION_VARIABLE.to_owned(), unique_mark())]),
            cwd: folder.path().to_owned(),
        };
        Self { folder, command, _script: tempfile::tempdir().unwrap() }
    }

    /// An empty workspace for the demo agent with the built-in script.
    pub(crate) fn with_demo_agent() -> Self {
        Self::with_program(demo_agent(), &[])
    }

    /// An empty workspace for the demo agent with a script.
    pub(crate) fn with_script(script: &Value) -> Self {
        let mut stage = Self::with_demo_agent();
        let path = stage._script.path().join("script.json");
        std::fs::write(&path, script.to_string()).unwrap();
        stage.command.args = vec![path.display().to_string()];
        stage
    }

    /// The demo agent with one turn, played for every prompt.
    pub(crate) fn with_steps(steps: &Value) -> Self {
        Self::with_script(&serde_json::json!({ "turns": [{ "steps": steps }] }))
    }

    /// Gives the execution a mark that cannot name a control group, so that the other nets must do.
    pub(crate) fn without_control_group(mut self) -> Self {
        let mark = self.mark().replace('-', ".");
        self.command.env.insert(EXECUTION_VARIABLE.to_owned(), mark);
        self
    }

    pub(crate) fn mark(&self) -> &str {
        &self.command.env[EXECUTION_VARIABLE]
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    pub(crate) async fn start(&self) -> (Agent, Receiver<AgentEvent>) {
        self.try_start(QUICK).await.unwrap()
    }

    pub(crate) async fn try_start(
        &self,
        limits: AgentLimits,
    ) -> Result<(Agent, Receiver<AgentEvent>), AgentError> {
        let started = start(self.command.clone(), limits, async |_| Ok(()));
        tokio::time::timeout(LIMIT, started).await.expect("the start takes too long")
    }

    pub(crate) async fn start_error(&self, limits: AgentLimits) -> AgentError {
        self.try_start(limits).await.expect_err("the agent must not start")
    }

    /// The processes of this stage's agent that are alive.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with(self.mark())
    }

    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.processes(), Vec::<u32>::new(), "processes are left");
    }
}

/// The demo agent's program, built with the tests as an example.
pub(crate) fn demo_agent() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.parent().and_then(Path::parent).unwrap().join("examples/demo-agent");
    assert!(program.exists(), "build it first: cargo build -p freehold-agent --example demo-agent");
    program
}

fn unique_mark() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Whether a process lives; one that only waits to be reaped does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with('Z'))
}

/// Lists living processes whose environment carries the mark.
pub(crate) fn processes_with(mark: &str) -> Vec<u32> {
    let wanted = format!("{EXECUTION_VARIABLE}={mark}");
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// Waits for a condition, with the limit.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until a process has nothing more it can write: its pipe is full and stays so.
pub(crate) async fn stalled(pid: u32) {
    let written =
        || std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap().lines().nth(1).map(str::to_owned);
    let begun = Instant::now();
    let (mut last, mut still) = (written(), 0);
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = written();
        // On a busy machine it may only be waiting for its turn.
        still = if now == last { still + 1 } else { 0 };
        if still == 5 {
            return;
        }
        last = now;
        assert!(begun.elapsed() < LIMIT, "it still writes");
    }
}

/// What a turn came to, with everything told during it.
pub(crate) struct Turn {
    pub(crate) outcome: Result<StopReason, AgentError>,
    pub(crate) events: Vec<AgentEvent>,
}

impl Turn {
    pub(crate) fn text(&self) -> String {
        text_of(&self.events)
    }
}

pub(crate) fn text_of(events: &[AgentEvent]) -> String {
    let text = |event: &AgentEvent| match event {
        AgentEvent::Text { text } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// Runs a turn and calls `react` with each event as it comes.
pub(crate) async fn turn_with(
    agent: &Agent,
    events: &mut Receiver<AgentEvent>,
    prompt: &str,
    mut react: impl AsyncFnMut(&AgentEvent),
) -> Turn {
    let mut told = Vec::new();
    let turn = async {
        let mut prompted = std::pin::pin!(agent.prompt(prompt));
        let outcome = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    react(&event).await;
                    told.push(event);
                }
                outcome = &mut prompted => break outcome,
            }
        };
        while let Ok(event) = events.try_recv() {
            told.push(event);
        }
        outcome
    };
    let outcome = tokio::time::timeout(LIMIT, turn).await.expect("the turn takes too long");
    Turn { outcome, events: told }
}

pub(crate) async fn turn(agent: &Agent, events: &mut Receiver<AgentEvent>, prompt: &str) -> Turn {
    turn_with(agent, events, prompt, async |_| {}).await
}

/// Reads the remaining events and gives the report of the last, which must be the exit.
pub(crate) async fn last_report(events: &mut Receiver<AgentEvent>) -> ExitReport {
    let mut last = None;
    let read = async {
        while let Some(event) = events.recv().await {
            last = Some(event);
        }
    };
    tokio::time::timeout(LIMIT, read).await.expect("the events do not end");
    match last {
        Some(AgentEvent::Exited(report)) => report,
        other => panic!("the last event is {other:?}"),
    }
}
