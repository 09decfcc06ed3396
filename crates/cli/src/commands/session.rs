//! `freehold session`: talks to the agents of a task.

use freehold_api::session::{Message, MessageQuery, NewSession, Prompt, Session};
use serde::Serialize;

use crate::arguments::{DeleteSession, SendPrompt, SessionCommand, StartSession};
use crate::connection::Connection;
use crate::conversation::Follower;
use crate::failure::Failure;
use crate::lookup;
use crate::output::{Output, Tone, short, table};

/// How many messages the server gives at once.
const PAGE: u32 = 500;

/// A session with what was said in it.
#[derive(Debug, Serialize)]
struct Conversation {
    session: Session,
    messages: Vec<Message>,
}

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: SessionCommand, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    match command {
        SessionCommand::Start(arguments) => start(connection, arguments, output),
        SessionCommand::List { task } => {
            let sessions = client.task(&lookup::task(client, &task)?)?.sessions;
            output.answer(&sessions, || listed(&sessions))
        }
        SessionCommand::Show { session } => {
            let session = client.session(&lookup::session(client, &session)?)?;
            let messages = messages(connection, &session.id, 0)?;
            let conversation = Conversation { session, messages };
            output.answer(&conversation, || shown(&conversation, output))
        }
        SessionCommand::Send(arguments) => send(connection, arguments, output),
        SessionCommand::Stop { session } => {
            let session = client.stop_session(&lookup::session(client, &session)?)?;
            output.answer(&session, || {
                format!(
                    "{} has ended; conversation and files stay, and a prompt starts it again.",
                    session.name
                )
            })
        }
        SessionCommand::Delete(arguments) => delete(connection, &arguments, output),
    }
}

fn start(connection: &Connection, arguments: StartSession, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let task_id = lookup::task(client, &arguments.task)?;
    let agent = arguments.agent.as_deref().map(|text| lookup::agent(client, text)).transpose()?;
    let request = NewSession { agent_profile_id: agent.map(|agent| agent.id), prompt: arguments.prompt };
    let follower = follower(connection, arguments.no_wait, output)?;
    let session = client.create_session(&task_id, &request)?;
    finish(connection, session, 0, follower, output)
}

fn send(connection: &Connection, arguments: SendPrompt, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let session_id = lookup::session(client, &arguments.session)?;
    let newest = client.messages(&session_id, &MessageQuery { before: None, limit: Some(1) })?;
    let said_before = newest.items.last().map_or(0, |message| message.ordinal);
    let follower = follower(connection, arguments.no_wait, output)?;
    let session = client.prompt(&session_id, &Prompt { text: arguments.prompt })?;
    finish(connection, session, said_before, follower, output)
}

/// Listens, unless nobody wants to wait; an agent of an embedded server would not outlive the command.
fn follower(connection: &Connection, no_wait: bool, output: Output) -> Result<Option<Follower<'_>>, Failure> {
    let waits = !no_wait || connection.is_embedded();
    waits.then(|| Follower::begin(connection, output)).transpose()
}

fn finish(
    connection: &Connection,
    session: Session,
    said_before: i64,
    follower: Option<Follower<'_>>,
    output: Output,
) -> Result<(), Failure> {
    let session = match follower {
        Some(mut follower) => follower.until_turn_ends(&session)?,
        None => session,
    };
    let messages = messages(connection, &session.id, said_before)?;
    let conversation = Conversation { session, messages };
    output.answer(&conversation, || {
        let id = short(&conversation.session.id);
        format!("Session {id}: {}", conversation.session.state)
    })
}

/// Reads what was said after a message, all of it by default.
fn messages(connection: &Connection, session_id: &str, after: i64) -> Result<Vec<Message>, Failure> {
    let mut said: Vec<Message> = Vec::new();
    loop {
        let before = said.first().map(|message| message.ordinal);
        let page = connection.client.messages(session_id, &MessageQuery { before, limit: Some(PAGE) })?;
        let is_last = !page.has_older || page.items.first().is_none_or(|message| message.ordinal <= after);
        said.splice(0..0, page.items.into_iter().filter(|message| message.ordinal > after));
        if is_last {
            return Ok(said);
        }
    }
}

fn delete(connection: &Connection, arguments: &DeleteSession, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let session_id = lookup::session(client, &arguments.session)?;
    if output.can_ask() && !arguments.yes {
        output.note("The conversation is deleted for good. The workspace and its files are kept.");
        if !output.confirm("Really delete the conversation?")? {
            output.note("Nothing was changed.");
            return Ok(());
        }
    }
    let deleted = client.delete_session(&session_id)?;
    output.answer(&deleted, || {
        let kept = match deleted.workspace_path.as_str() {
            "" => "The task has no workspace yet.".to_owned(),
            path => format!("All files are kept in {path}."),
        };
        let next = match &deleted.primary_session_id {
            Some(id) => format!("\nThe board shows session {} now.", short(id)),
            None => "\nA new session can go on: freehold session start TASK --prompt …".to_owned(),
        };
        format!("The conversation is deleted. {kept}{next}")
    })
}

fn listed(sessions: &[Session]) -> String {
    let row = |session: &Session| {
        let Session { id, name, state, agent_name, .. } = session;
        let primary = if session.is_primary { "primary" } else { "" };
        vec![short(id).to_owned(), name.clone(), state.clone(), agent_name.clone(), primary.to_owned()]
    };
    let rows = sessions.iter().map(row).collect();
    table(&["id", "name", "state", "agent", ""], rows, "The task has no session: freehold session start TASK")
}

fn shown(conversation: &Conversation, output: Output) -> String {
    let Session { name, state, agent_name, error_message, .. } = &conversation.session;
    let mut text = output.paint(Tone::Strong, &format!("{name} with {agent_name}: {state}"));
    if !error_message.is_empty() {
        text.push_str(&format!("\n{}", output.paint(Tone::Bad, error_message)));
    }
    for message in &conversation.messages {
        let who = match (message.author.as_str(), message.kind.as_str()) {
            (author, "message") => author,
            (_, kind) => kind,
        };
        text.push_str(&format!(
            "\n\n{}\n{}",
            output.paint(Tone::Quiet, &format!("[{who}]")),
            message.content
        ));
    }
    text
}
