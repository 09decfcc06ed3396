//! What a transaction promises, whatever the closure or its caller does.

use std::sync::mpsc;

use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions, task, workspace};

use crate::fixture::{block_on, id, on_both_engines};

#[test]
fn an_error_undoes_everything() {
    on_both_engines("rollback", |fixture| {
        let task = fixture.task("task");
        let failed: Result<(), StoreError> = fixture.write(move |tx| {
            task::insert(tx, &task, &[])?;
            Err(StoreError::Closed)
        });
        assert!(failed.is_err());
        assert_eq!(fixture.read(|tx| task::find(tx, &id("task"))), None);
    });
}

#[test]
fn a_panic_undoes_everything_and_the_store_works_on() {
    on_both_engines("panic", |fixture| {
        for round in 0..10 {
            let task = fixture.task("task");
            let failed: Result<(), StoreError> = fixture.write(move |tx| {
                task::insert(tx, &task, &[])?;
                panic!("round {round}")
            });
            let Err(StoreError::Panicked { message }) = failed else { panic!("{failed:?}") };
            assert_eq!(message, format!("round {round}"));
            let read: Result<(), StoreError> = block_on(fixture.store.read(|_| panic!("reading")));
            assert!(matches!(read, Err(StoreError::Panicked { .. })));
        }
        assert_eq!(fixture.read(|tx| task::find(tx, &id("task"))), None);
        fixture.stored_task("task");
        assert!(fixture.read(|tx| task::find(tx, &id("task"))).is_some());
    });
}

#[test]
fn a_swallowed_failure_does_not_commit() {
    on_both_engines("swallowed", |fixture| {
        let task = fixture.stored_task("task");
        let now = fixture.now();
        let failed = fixture.write(move |tx| {
            task::rename(tx, &task.id, "Other", now)?;
            assert!(task::insert(tx, &task, &[]).is_err(), "the id is taken");
            Ok(())
        });
        assert!(matches!(failed, Err(StoreError::Database { .. })), "{failed:?}");
        assert_eq!(fixture.read(|tx| task::require(tx, &id("task"))).title, "Title of task");
    });
}

#[test]
fn a_caller_that_goes_away_does_not_stop_a_running_transaction() {
    on_both_engines("dropped", |fixture| {
        let task = fixture.task("task");
        let (started, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let write = fixture.store.write(move |tx| {
            started.send(()).unwrap();
            may_go_on.recv().unwrap();
            task::insert(tx, &task, &[])
        });
        block_on(async {
            let mut write = Box::pin(write);
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(write.as_mut().poll(context).is_pending())
            });
            assert!(polled.await, "the transaction waits");
            has_started.recv().unwrap();
            drop(write);
        });
        go_on.send(()).unwrap();
        // Closing waits for the transactions that were asked for.
        fixture.store.close();
        let again = Store::open(&fixture.url, StoreOptions::default()).unwrap();
        let found = block_on(again.read(|tx| task::find(tx, &id("task"))));
        assert!(matches!(found, Ok(Some(_))), "{found:?}");
        again.close();
    });
}

#[test]
fn a_reader_sees_one_state_while_others_write() {
    on_both_engines("snapshot", |fixture| {
        let (reads, has_read) = mpsc::channel();
        let (writes, has_written) = mpsc::channel::<()>();
        let read = fixture.store.read(move |tx| {
            let before = workspace::list(tx)?.len();
            reads.send(()).unwrap();
            has_written.recv().unwrap();
            Ok::<_, StoreError>((before, workspace::list(tx)?.len()))
        });
        let mut other = fixture.workspace.clone();
        other.id = id("other");
        let store = fixture.store.clone();
        let writer = std::thread::spawn(move || {
            has_read.recv().unwrap();
            let written: Result<(), StoreError> =
                block_on(store.write(move |tx| workspace::insert(tx, &other)));
            writes.send(()).unwrap();
            written
        });
        assert_eq!(block_on(read).unwrap(), (1, 1));
        writer.join().unwrap().unwrap();
        assert_eq!(fixture.read(workspace::list).len(), 2);
    });
}

#[test]
fn a_closed_store_says_so() {
    on_both_engines("closed", |fixture| {
        fixture.store.close();
        let refused = fixture.write(workspace::list);
        assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    });
}

#[test]
fn what_was_stored_is_there_when_the_store_is_opened_again() {
    on_both_engines("reopen", |fixture| {
        let task = fixture.stored_task("task");
        let now = fixture.now();
        fixture
            .write(move |tx| {
                tx.emit(freehold_domain::event::EventBody::TaskChanged { task_id: id("task") }, now);
                Ok(())
            })
            .unwrap();
        fixture.store.close();
        let again = Store::open(&fixture.url, StoreOptions::default()).unwrap();
        assert_eq!(*again.last_event().borrow(), 1);
        let found: Result<_, StoreError> = block_on(again.read(|tx| task::find(tx, &id("task"))));
        assert_eq!(found.unwrap(), Some(task));
        again.close();
    });
}

#[test]
fn a_lost_connection_is_opened_again() {
    on_both_engines("lost", |fixture| {
        let DatabaseUrl::Postgres(url) = &fixture.url else { return };
        fixture.stored_task("task");
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        crate::fixture::postgres(url).batch_execute(cut).unwrap();
        // Each worker may meet its lost connection once.
        let works = (0..50).any(|_| fixture.write(|tx| task::require(tx, &id("task"))).is_ok());
        assert!(works);
    });
}

#[test]
fn a_database_that_cannot_be_reached_is_named_without_its_password() {
    let url = DatabaseUrl::parse("postgres://me:s3cret@127.0.0.1:1/none?sslmode=disable").unwrap();
    let refused = Store::open(&url, StoreOptions::default()).map(drop).unwrap_err().to_string();
    assert!(refused.starts_with("cannot open the database postgres://me:***@127.0.0.1:1/none"), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
}
