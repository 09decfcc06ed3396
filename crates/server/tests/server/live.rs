//! The live connection: nothing lost, nothing twice, order kept; whoever is slow or comes back.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use freehold_api::client::{ClientError, LiveStream};
use freehold_api::live::{LiveCall, LiveFrame};
use freehold_api::task::UpdateTask;
use freehold_domain::clock::Timestamp;
use freehold_domain::event::EventBody;
use freehold_domain::id::{MessageId, SessionId, TaskId};
use freehold_store::StoreError;
use serde_json::Value;
use tungstenite::WebSocket;

use crate::door::{Door, LIMIT, new_task, on_both_engines, on_sqlite};

/// How many events the writers make.
const RENAMES: usize = 60;

impl Door {
    /// Connects after `since` and reads the greeting.
    fn listen(&self, since: i64) -> LiveStream {
        let mut live = LiveStream::connect(&self.address(), self.token.reveal(), Some(since)).unwrap();
        match live.next_frame().unwrap() {
            LiveFrame::Ready { since: begin, newest } => assert!(begin == since && newest >= since),
            other => panic!("not ready: {other:?}"),
        }
        live
    }

    fn newest(&self) -> i64 {
        self.engine.facts().last_event
    }

    /// Stores so many events, each with a text of so many bytes.
    fn emit(&self, count: usize, bytes: usize) {
        let write = self.store.write(move |tx| {
            for _ in 0..count {
                let body = EventBody::MessageAppended {
                    task_id: TaskId::new("task").unwrap(),
                    session_id: SessionId::new("session").unwrap(),
                    message_id: MessageId::new("message").unwrap(),
                    offset: 0,
                    text: "x".repeat(bytes),
                };
                tx.emit(body, Timestamp::from_micros(0));
            }
            Ok::<_, StoreError>(())
        });
        self.runtime.block_on(write).unwrap();
    }
}

/// The number of the next event.
fn next_number(live: &mut LiveStream) -> Result<i64, ClientError> {
    loop {
        match live.next_frame()? {
            LiveFrame::Event(event) => return Ok(event.seq),
            LiveFrame::Ping { .. } => {}
            other => panic!("not an event: {other:?}"),
        }
    }
}

#[test]
fn nobody_loses_or_repeats_an_event_across_many_reconnects_under_concurrent_writes() {
    on_both_engines(|door| {
        let repository = door.add_repository();
        let tasks: Vec<String> = (0..3)
            .map(|number| new_task(&repository, &format!("Task {number}"), "", false))
            .map(|task| door.client().create_task(&task).unwrap().task.id)
            .collect();
        let writing = AtomicBool::new(true);
        let door = &*door;
        let seen = std::thread::scope(|scope| {
            let readers: Vec<_> = (1..=4_usize)
                .map(|stride| {
                    scope.spawn({
                        let writing = &writing;
                        move || read_with_breaks(door, stride, writing)
                    })
                })
                .collect();
            let writers: Vec<_> = tasks.iter().map(|task| scope.spawn(|| rename_often(door, task))).collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            writing.store(false, Ordering::SeqCst);
            readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
        });
        let newest = door.newest();
        assert!(newest >= 3 * i64::try_from(RENAMES).unwrap());
        let all: Vec<i64> = (1..=newest).collect();
        for numbers in seen {
            assert_eq!(numbers, all);
        }
    });
}

fn rename_often(door: &Door, task: &str) {
    for number in 0..RENAMES {
        let update = UpdateTask { title: Some(format!("Name {number}")), ..UpdateTask::default() };
        door.client().update_task(task, &update).unwrap();
    }
}

/// Reads a few events, breaks the connection, comes back, and so on until all are read.
fn read_with_breaks(door: &Door, stride: usize, writing: &AtomicBool) -> Vec<i64> {
    let mut numbers = Vec::new();
    let is_done = |last: i64| !writing.load(Ordering::SeqCst) && last == door.newest();
    loop {
        let mut live = door.listen(numbers.last().copied().unwrap_or(0));
        for _ in 0..stride * 3 {
            if is_done(numbers.last().copied().unwrap_or(0)) {
                return numbers;
            }
            if numbers.last().copied().unwrap_or(0) < door.newest() {
                numbers.push(next_number(&mut live).unwrap());
            }
        }
    }
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_and_loses_nothing() {
    on_sqlite(|door| {
        let mut slow = door.listen(0);
        let mut quick = door.listen(0);
        let count = 5_000;
        door.emit(count, 4_096);
        let all: Vec<i64> = (1..=i64::try_from(count).unwrap()).collect();
        let begun = Instant::now();
        let numbers: Vec<i64> = all.iter().map(|_| next_number(&mut quick).unwrap()).collect();
        assert_eq!(numbers, all);
        assert!(begun.elapsed() < Duration::from_secs(25), "the quick one waited for the slow one");
        let numbers: Vec<i64> = all.iter().map(|_| next_number(&mut slow).unwrap()).collect();
        assert_eq!(numbers, all);
    });
}

#[test]
fn one_that_comes_back_after_a_long_time_and_one_that_follows_each_get_all_they_miss() {
    on_both_engines(|door| {
        door.emit(10, 1);
        let mut following = door.listen(10);
        door.emit(9_000, 1);
        let mut returned = door.listen(3);
        let numbers: Vec<i64> = (3..9_010).map(|_| next_number(&mut returned).unwrap()).collect();
        assert_eq!(numbers, (4..=9_010).collect::<Vec<_>>());
        let numbers: Vec<i64> = (10..9_010).map(|_| next_number(&mut following).unwrap()).collect();
        assert_eq!(numbers, (11..=9_010).collect::<Vec<_>>());
    });
}

#[test]
fn a_client_that_was_there_loses_nothing_when_the_server_ends_and_comes_back() {
    on_sqlite(|door| {
        door.emit(3, 1);
        let mut live = door.listen(1);
        assert_eq!(next_number(&mut live).unwrap(), 2);
        let begun = Instant::now();
        door.close();
        assert!(begun.elapsed() < Duration::from_secs(4), "an open live connection held up the end");
        let end = loop {
            match next_number(&mut live) {
                Ok(number) => assert_eq!(number, 3),
                Err(error) => break error,
            }
        };
        assert!(matches!(end, ClientError::Unreachable { .. }), "{end}");
        door.reopen();
        door.emit(1, 1);
        let mut live = door.listen(2);
        assert_eq!(next_number(&mut live).unwrap(), 3);
        assert_eq!(next_number(&mut live).unwrap(), 4);
    });
}

#[test]
fn a_client_that_knows_more_than_there_is_begins_anew() {
    on_both_engines(|door| {
        door.emit(3, 1);
        for since in [4, i64::MAX, -1] {
            let mut live = LiveStream::connect(&door.address(), door.token.reveal(), Some(since)).unwrap();
            assert_eq!(live.next_frame().unwrap(), LiveFrame::Reset { newest: 3 });
            let next = door.newest() + 1;
            assert_eq!(next, 4);
        }
        let mut live = LiveStream::connect(&door.address(), door.token.reveal(), Some(99)).unwrap();
        assert_eq!(live.next_frame().unwrap(), LiveFrame::Reset { newest: 3 });
        door.emit(1, 1);
        assert_eq!(next_number(&mut live).unwrap(), 4);
    });
}

#[test]
fn without_a_number_the_stream_begins_with_the_present() {
    on_sqlite(|door| {
        door.emit(3, 1);
        let mut live = LiveStream::connect(&door.address(), door.token.reveal(), None).unwrap();
        assert_eq!(live.next_frame().unwrap(), LiveFrame::Ready { since: 3, newest: 3 });
        door.emit(1, 1);
        assert_eq!(next_number(&mut live).unwrap(), 4);
    });
}

/// A connection that has said nothing yet.
fn socket_of(door: &Door) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(door.address()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    tungstenite::client(format!("ws://{}/api/v1/live", door.address()), stream).unwrap().0
}

/// Waits for a frame; a signal, such as the end of a child, only cuts the wait short.
fn read(socket: &mut WebSocket<TcpStream>) -> Result<tungstenite::Message, tungstenite::Error> {
    loop {
        match socket.read() {
            Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[test]
fn a_first_frame_that_is_no_hello_is_refused_and_silence_is_not_waited_for_for_ever() {
    on_sqlite(|door| {
        let mut wrong = socket_of(door);
        wrong.send(tungstenite::Message::text("{}")).unwrap();
        let answer: LiveFrame = serde_json::from_str(read(&mut wrong).unwrap().to_text().unwrap()).unwrap();
        assert!(matches!(answer, LiveFrame::Refused { .. }), "{answer:?}");
        let begun = Instant::now();
        let mut silent = socket_of(door);
        assert!(matches!(read(&mut silent), Ok(tungstenite::Message::Close(_)) | Err(_)));
        assert!((9..30).contains(&begun.elapsed().as_secs()), "closed after {:?}", begun.elapsed());
    });
}

/// Asks over the live connection and waits for the answer; events may come before it.
fn ask(live: &mut LiveStream, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let asked = format!("{method} {path}");
    let (method, path) = (method.to_owned(), path.to_owned());
    live.call(&LiveCall { call: asked.clone(), method, path, body }).unwrap();
    loop {
        if let LiveFrame::Answer { call, status, body } = live.next_frame().unwrap() {
            assert_eq!(call, asked);
            return (status, body);
        }
    }
}

#[test]
fn a_task_lives_and_is_closed_and_brought_back_over_the_live_connection_alone() {
    on_both_engines(|door| {
        let repository = door.add_repository();
        let mut live = door.listen(door.newest());
        let task = serde_json::to_value(new_task(&repository, "Over the wire", "", true)).unwrap();
        let (status, made) = ask(&mut live, "POST", "/tasks", Some(task));
        assert_eq!(status, 201, "{made}");
        let id = made["task"]["id"].as_str().unwrap().to_owned();
        let wait = |live: &mut LiveStream, what: &str, is_so: &dyn Fn(&Value) -> bool| {
            let begun = Instant::now();
            loop {
                let (status, task) = ask(live, "GET", &format!("/tasks/{id}"), None);
                assert_eq!(status, 200, "{task}");
                if is_so(&task) {
                    return task;
                }
                assert!(begun.elapsed() < LIMIT, "{what}: {task}");
                std::thread::sleep(Duration::from_millis(50));
            }
        };
        let task = wait(&mut live, "ready", &|task| task["environment"]["status"] == "ready");
        let path = task["environment"]["repositories"][0]["worktree_path"].as_str().unwrap().to_owned();
        std::fs::write(Path::new(&path).join("work.txt"), "work").unwrap();

        let (status, refused) = ask(&mut live, "POST", &format!("/tasks/{id}/archive"), None);
        assert_eq!((status, &refused["code"]), (409, &Value::from("at_stake")), "{refused}");
        let (status, answer) = ask(&mut live, "POST", &format!("/api/v1/tasks/{id}/archive?seal=true"), None);
        assert!((200..300).contains(&status), "{answer}");
        wait(&mut live, "given back", &|_| !Path::new(&path).exists());
        wait(&mut live, "done", &|task| {
            task["cleanup_jobs"].as_array().unwrap().iter().all(|job| job["state"] == "succeeded")
        });
        let (status, answer) =
            ask(&mut live, "POST", &format!("/tasks/{id}/reopen"), Some(serde_json::json!({})));
        assert!((200..300).contains(&status), "{answer}");
        wait(&mut live, "brought back", &|task| task["environment"]["status"] == "ready");
        assert_eq!(std::fs::read_to_string(Path::new(&path).join("work.txt")).unwrap(), "work");
    });
}

#[test]
fn a_call_that_cannot_be_carried_out_is_answered_by_name_and_the_connection_goes_on() {
    on_sqlite(|door| {
        let mut live = door.listen(door.newest());
        for (method, path, status, code) in [
            ("GET", "/nowhere", 404, "unknown_path"),
            ("GET", "/live", 404, "unknown_path"),
            ("PUT", "/tasks", 405, "method_not_allowed"),
            ("GET", "tasks", 400, "invalid_field"),
            ("GET", "/tasks/a b", 400, "invalid_field"),
            ("G T", "/tasks", 400, "invalid_field"),
            ("GET", "/tasks/none", 404, "not_found"),
            ("POST", "/tasks", 400, "invalid_body"),
        ] {
            let (answered, body) = ask(&mut live, method, path, None);
            assert_eq!((answered, body["code"].as_str()), (status, Some(code)), "{method} {path}: {body}");
        }
        let (status, body) = ask(&mut live, "POST", "/tasks", Some(serde_json::json!({ "title": 7 })));
        assert!(status == 400 || status == 422, "{status}: {body}");

        // More at once than are carried out at once: each gets its answer.
        for number in 0..40 {
            let (method, path) = ("GET".to_owned(), "/server".to_owned());
            live.call(&LiveCall { call: number.to_string(), method, path, body: None }).unwrap();
        }
        let mut answered: Vec<u32> = (0..40)
            .map(|_| match live.next_frame().unwrap() {
                LiveFrame::Answer { call, status: 200, .. } => call.parse().unwrap(),
                other => panic!("no answer: {other:?}"),
            })
            .collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..40).collect::<Vec<_>>());
    });
}

#[test]
fn a_frame_that_is_no_call_is_refused_by_name() {
    on_sqlite(|door| {
        let mut socket = socket_of(door);
        let hello = format!("{{\"token\":\"{}\"}}", door.token.reveal());
        socket.send(tungstenite::Message::text(hello)).unwrap();
        read(&mut socket).unwrap();
        for (frame, name) in
            [("no json", ""), ("{}", ""), ("[]", ""), (r#"{"call":"a","method":"GET"}"#, "a")]
        {
            socket.send(tungstenite::Message::text(frame)).unwrap();
            let answer: LiveFrame =
                serde_json::from_str(read(&mut socket).unwrap().to_text().unwrap()).unwrap();
            match answer {
                LiveFrame::Answer { call, status: 400, body } => {
                    assert_eq!(call, name);
                    assert!(body["message"].as_str().unwrap().contains("no call"), "{body}");
                }
                other => panic!("{frame}: {other:?}"),
            }
        }
    });
}
