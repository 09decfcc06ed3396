//! Events stored and fanned out to many live clients, each of which must see every event once, in order.

use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::Server;
use super::report::Row;
use super::server::{LIMIT, text};
use crate::Failure;

/// How many clients listen.
pub(super) const CLIENTS: usize = 50;

/// Threads that cause events.
const WRITERS: usize = 4;

/// Causes `events` events, one per committed change, and waits until every client has seen them all.
pub(super) fn fan_out(server: &Server, events: usize) -> Result<Vec<Row>, Failure> {
    let ids = tasks(server)?;
    let clients = (0..CLIENTS).map(|_| connect(server)).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    std::thread::scope(|scope| {
        let listeners: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(move || listen(client, events))).collect();
        let ids = &ids;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || cause(server, ids, writer, events))).collect();
        let all = writers.into_iter().chain(listeners);
        all.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::new("a thread of the live measurement panicked")))
        })
    })?;
    let per_second = events as f64 / started.elapsed().as_secs_f64();
    Ok(vec![
        Row::measured(&format!("events stored and sent to {CLIENTS} live clients"), per_second, "/s"),
        Row::measured("frames sent", per_second * CLIENTS as f64, "/s"),
    ])
}

fn tasks(server: &Server) -> Result<Vec<String>, Failure> {
    let page = server.get("/tasks?limit=100")?;
    let items = page["items"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(items.iter().map(|item| text(&item["id"])).collect())
}

/// Renames tasks in turn; each change commits one event.
fn cause(server: &Server, ids: &[String], writer: usize, events: usize) -> Result<(), Failure> {
    for number in (0..events).skip(writer).step_by(WRITERS) {
        let path = format!("/tasks/{}", ids[number % ids.len()]);
        server.patch(&path, &json!({ "title": format!("Renamed {number}") }))?;
    }
    Ok(())
}

fn connect(server: &Server) -> Result<WebSocket<TcpStream>, Failure> {
    let broken =
        |error: &dyn std::fmt::Display| Failure::new(format!("a live client could not connect: {error}"));
    let stream = TcpStream::connect(server.address()).map_err(|error| broken(&error))?;
    stream.set_read_timeout(Some(LIMIT)).map_err(|error| broken(&error))?;
    let url = format!("ws://{}/api/v1/live", server.address());
    let (mut client, _) = tungstenite::client(url, stream).map_err(|error| broken(&error))?;
    let hello = json!({ "token": server.token() }).to_string();
    client.send(Message::text(hello)).map_err(|error| broken(&error))?;
    let answer = next_frame(&mut client)?;
    if answer["frame"] != "ready" {
        return Err(broken(&answer));
    }
    Ok(client)
}

/// Reads until `events` events came; fails when one is missing, comes twice or out of order.
fn listen(mut client: WebSocket<TcpStream>, events: usize) -> Result<(), Failure> {
    let mut last = None;
    let mut seen = 0;
    while seen < events {
        let frame = next_frame(&mut client)?;
        if frame["frame"] != "event" {
            continue;
        }
        let seq = frame["seq"].as_i64();
        if last.is_some() && seq != last.map(|last: i64| last + 1) {
            return Err(Failure::new(format!("after event {last:?} a live client got {seq:?}")));
        }
        (last, seen) = (seq, seen + 1);
    }
    Ok(())
}

fn next_frame(client: &mut WebSocket<TcpStream>) -> Result<Value, Failure> {
    loop {
        let message =
            client.read().map_err(|error| Failure::new(format!("a live client lost its server: {error}")))?;
        if let Message::Text(text) = message {
            return serde_json::from_str(&text)
                .map_err(|error| Failure::new(format!("a frame is not JSON: {error}")));
        }
    }
}
