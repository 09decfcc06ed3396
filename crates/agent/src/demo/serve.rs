//! The demo agent's side of the protocol: greeting, sessions, prompts and their cancellation.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::ContentBlock;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthMethodAgent, CancelNotification, Implementation, InitializeRequest, InitializeResponse,
    NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse, SessionId,
};
use agent_client_protocol::{Agent, Channel, Client, Error, TransportFrame, v1};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::builtin;
use super::play::{play, warn_line};
use super::script::{DemoError, DemoScript, DemoStep, OnStart, SCRIPT_VARIABLE, load_demo_script};
use super::stage::Stage;

/// Runs the demo agent over the standard streams until its input is closed.
///
/// Without a script it takes the one whose file [`SCRIPT_VARIABLE`] names, and else the built-in one.
pub async fn run_demo_agent(script: Option<DemoScript>) -> Result<(), DemoError> {
    let script = match (script, std::env::var_os(SCRIPT_VARIABLE)) {
        (None, Some(path)) => Some(load_demo_script(Path::new(&path))?),
        (script, _) => script,
    };
    let on_start = script.as_ref().map_or(OnStart::Ok, |script| script.on_start);
    match on_start {
        OnStart::Ok | OnStart::LoginRequired => {}
        OnStart::Exit => {
            warn_line("demo agent: the script says to end at once");
            std::process::exit(3);
        }
        OnStart::Garbage => {
            let _ = writeln!(std::io::stdout(), "Welcome to the demo agent, which now speaks garbage!");
        }
        OnStart::Hang => {
            std::io::stdin().lock().lines().for_each(drop);
            return Ok(());
        }
    }
    serve(Mind::new(script), on_start == OnStart::LoginRequired).await
}

async fn serve(mind: Mind, wants_login: bool) -> Result<(), DemoError> {
    let (ours, theirs) = Channel::duplex();
    let (outgoing, incoming) = ours.into_parts();
    let (lines, to_write) = channel();
    // Blocking reads and writes have threads of their own; the reader ends with the input.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if incoming.unbounded_send(TransportFrame::parse_json(&line)).is_err() {
                break;
            }
        }
    });
    let writer = std::thread::spawn(move || write_lines(&to_write));
    let mind = Arc::new(Mind { raw_output: Some(lines.clone()), ..mind });
    let frames = outgoing.for_each(async |frame| {
        if let Ok(line) = frame.to_json() {
            let _ = lines.send(line);
        }
    });
    let (served, ()) = tokio::join!(answer_client(Arc::clone(&mind), theirs, wants_login), frames);
    drop((lines, mind));
    let _ = writer.join();
    served.map_err(|error| DemoError::Serve { message: error.to_string() })
}

fn write_lines(lines: &Receiver<String>) {
    let mut output = std::io::stdout().lock();
    for line in lines {
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
}

async fn answer_client(mind: Arc<Mind>, channel: Channel, wants_login: bool) -> Result<(), Error> {
    let (opening, prompting, cancelling) = (Arc::clone(&mind), Arc::clone(&mind), mind);
    Agent
        .v1()
        .name("freehold-demo-agent")
        .on_receive_request(
            async move |_: InitializeRequest, responder, _connection| {
                responder.respond(greeting(wants_login))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _connection| {
                if wants_login {
                    return responder.respond_with_error(Error::auth_required());
                }
                responder.respond(NewSessionResponse::new(opening.open_session(request.cwd)))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder: v1::Responder<PromptResponse>, connection| {
                let connection: v1::ConnectionTo<Client> = connection;
                // Staged before the next message is looked at, so that a cancellation finds the turn.
                let turn = prompting.begin_turn(request, connection.clone());
                connection.spawn(async move {
                    let outcome = match turn {
                        Ok((mut stage, steps)) => play(&mut stage, &steps).await,
                        Err(error) => Err(error),
                    };
                    responder.respond_with_result(outcome.map(PromptResponse::new))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _connection| {
                cancelling.cancel_turn(&cancel.session_id);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(channel)
        .await
}

fn greeting(wants_login: bool) -> InitializeResponse {
    let login = AuthMethod::Agent(AuthMethodAgent::new("demo-login", "Log in to the demo"));
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_info(Implementation::new("freehold-demo-agent", env!("CARGO_PKG_VERSION")))
        .auth_methods(if wants_login { vec![login] } else { Vec::new() })
}

/// What the demo agent remembers.
struct Mind {
    script: Option<DemoScript>,
    raw_output: Option<Sender<String>>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    sessions: HashMap<SessionId, Session>,
    turns_begun: usize,
    /// Which turns of the script were played.
    played: Vec<usize>,
}

struct Session {
    folder: PathBuf,
    cancelled: CancellationToken,
}

impl Mind {
    fn new(script: Option<DemoScript>) -> Self {
        Self { script, raw_output: None, memory: Mutex::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_session(&self, folder: PathBuf) -> SessionId {
        let mut memory = self.memory();
        let id = SessionId::new(format!("demo-{}-{}", std::process::id(), memory.sessions.len() + 1));
        memory.sessions.insert(id.clone(), Session { folder, cancelled: CancellationToken::new() });
        id
    }

    fn cancel_turn(&self, session_id: &SessionId) {
        if let Some(session) = self.memory().sessions.get(session_id) {
            session.cancelled.cancel();
        }
    }

    fn begin_turn(
        &self,
        request: PromptRequest,
        connection: v1::ConnectionTo<Client>,
    ) -> Result<(Stage, Vec<DemoStep>), Error> {
        let prompt = prompt_text(&request.prompt);
        let stage = self.set_stage(request.session_id, connection)?;
        let steps = self.choose_steps(&prompt, &stage.folder);
        Ok((stage, steps))
    }

    fn set_stage(&self, session_id: SessionId, connection: v1::ConnectionTo<Client>) -> Result<Stage, Error> {
        let raw_output = self.raw_output.clone().ok_or_else(Error::internal_error)?;
        let mut memory = self.memory();
        memory.turns_begun += 1;
        let turn = memory.turns_begun;
        let unknown = || Error::invalid_params().data("unknown session");
        let session = memory.sessions.get_mut(&session_id).ok_or_else(unknown)?;
        session.cancelled = CancellationToken::new();
        let (folder, cancelled) = (session.folder.clone(), session.cancelled.clone());
        Ok(Stage { connection, session_id, folder, cancelled, raw_output, turn, calls: 0 })
    }

    fn choose_steps(&self, prompt: &str, folder: &Path) -> Vec<DemoStep> {
        let Some(script) = &self.script else { return builtin::steps(prompt, folder) };
        let mut memory = self.memory();
        let fits = |turn: &super::DemoTurn| turn.matches.as_ref().is_none_or(|part| prompt.contains(part));
        let next = script
            .turns
            .iter()
            .enumerate()
            .find(|(index, turn)| !memory.played.contains(index) && fits(turn));
        if let Some((index, turn)) = next {
            memory.played.push(index);
            return turn.steps.clone();
        }
        let again = script.turns.iter().rev().find(|turn| turn.matches.is_none());
        again.map(|turn| turn.steps.clone()).unwrap_or_default()
    }
}

fn prompt_text(prompt: &[ContentBlock]) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => Some(text.text.clone()),
        _ => None,
    };
    prompt.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
