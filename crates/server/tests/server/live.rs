//! The live connection: nothing lost, nothing twice, order kept; whoever is slow or comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use freehold_api::client::{ClientError, LiveStream};
use freehold_api::live::LiveFrame;
use freehold_api::task::UpdateTask;
use freehold_domain::clock::Timestamp;
use freehold_domain::event::EventBody;
use freehold_domain::id::{MessageId, SessionId, TaskId};
use freehold_store::StoreError;

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

#[test]
fn a_first_frame_that_is_no_hello_is_refused_and_silence_is_not_waited_for_for_ever() {
    on_sqlite(|door| {
        let connect = || {
            let stream = std::net::TcpStream::connect(door.address()).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            tungstenite::client(format!("ws://{}/api/v1/live", door.address()), stream).unwrap().0
        };
        let mut wrong = connect();
        wrong.send(tungstenite::Message::text("{}")).unwrap();
        let answer: LiveFrame = serde_json::from_str(wrong.read().unwrap().to_text().unwrap()).unwrap();
        assert!(matches!(answer, LiveFrame::Refused { .. }), "{answer:?}");
        let begun = Instant::now();
        let mut silent = connect();
        assert!(matches!(silent.read(), Ok(tungstenite::Message::Close(_)) | Err(_)));
        assert!((9..30).contains(&begun.elapsed().as_secs()), "closed after {:?}", begun.elapsed());
    });
}
