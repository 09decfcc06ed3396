//! The outbox: numbers in the order of commits, without holes.

use freehold_domain::event::EventBody;
use freehold_store::{Engine, Store, StoreError, StoreOptions, event, workspace};

use crate::fixture::{block_on, id, on_both_engines};

fn changed(name: &str) -> EventBody {
    EventBody::TaskChanged { task_id: id(name) }
}

#[test]
fn events_are_stored_with_their_change_or_not_at_all() {
    on_both_engines("outbox", |fixture| {
        let now = fixture.now();
        assert_eq!(fixture.read(event::newest), 0);
        assert_eq!(fixture.read(event::oldest), None);
        fixture
            .write(move |tx| {
                tx.emit(changed("a"), now);
                tx.emit(changed("b"), now);
                Ok(())
            })
            .unwrap();
        let failed = fixture.write(move |tx| {
            tx.emit(changed("lost"), now);
            Err::<(), _>(StoreError::Closed)
        });
        assert!(matches!(failed, Err(StoreError::Closed)));
        fixture
            .write(move |tx| {
                tx.emit(changed("c"), now.plus_millis(1));
                Ok(())
            })
            .unwrap();
        let all = fixture.read(|tx| event::page_after(tx, 0, 10));
        let numbers: Vec<_> = all.iter().map(|event| (event.seq, event.body.clone())).collect();
        assert_eq!(numbers, [(1, changed("a")), (2, changed("b")), (3, changed("c"))]);
        assert_eq!(all[2].created_at, now.plus_millis(1));
        assert_eq!(fixture.read(|tx| event::page_after(tx, 1, 1))[0].seq, 2);
        assert_eq!(fixture.read(|tx| Ok((event::oldest(tx)?, event::newest(tx)?))), (Some(1), 3));
        assert_eq!(*fixture.store.last_event().borrow(), 3);
    });
}

#[test]
fn a_read_cannot_emit() {
    on_both_engines("read", |fixture| {
        let now = fixture.now();
        let refused: Result<(), StoreError> = block_on(fixture.store.read(move |tx| {
            tx.emit(changed("a"), now);
            Ok(())
        }));
        assert!(matches!(refused, Err(StoreError::EmitInRead)));
        assert_eq!(fixture.read(event::newest), 0);
    });
}

#[test]
fn a_read_cannot_write() {
    on_both_engines("read only", |fixture| {
        let mut other = fixture.workspace.clone();
        other.id = id("other");
        let refused: Result<(), StoreError> =
            block_on(fixture.store.read(move |tx| workspace::insert(tx, &other)));
        assert!(matches!(refused, Err(StoreError::Database { .. })));
        assert_eq!(fixture.read(workspace::list).len(), 1);
    });
}

#[test]
fn many_events_of_one_transaction_keep_their_order() {
    on_both_engines("many", |fixture| {
        let now = fixture.now();
        fixture
            .write(move |tx| {
                (0..150).for_each(|number| tx.emit(changed(&format!("t{number}")), now));
                Ok(())
            })
            .unwrap();
        let all = fixture.read(|tx| event::page_after(tx, 0, 1_000));
        assert_eq!(all.len(), 150);
        for (number, event) in all.iter().enumerate() {
            assert_eq!((event.seq, &event.body), (number as i64 + 1, &changed(&format!("t{number}"))));
        }
    });
}

/// A reader that follows the numbers while many write sees each event once, in order: no number becomes
/// visible after a greater one.
#[test]
fn a_follower_misses_nothing_while_many_write() {
    on_both_engines("follow", |fixture| {
        let (now, writers, each) = (fixture.now(), 8_i64, 15_i64);
        let total = writers * each;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        let seen = runtime.block_on(async {
            let mut set = tokio::task::JoinSet::new();
            for writer in 0..writers {
                let store = fixture.store.clone();
                set.spawn(async move {
                    for number in 0..each {
                        let body = changed(&format!("w{writer}-{number}"));
                        let work = move |tx: &mut freehold_store::Tx<'_>| {
                            tx.emit(body, now);
                            // Some transactions fail after they asked for numbers; they leave no hole.
                            if number % 5 == 4 { Err(StoreError::Closed) } else { Ok(()) }
                        };
                        drop(store.write::<(), StoreError>(work).await);
                    }
                });
            }
            let (store, mut newest) = (fixture.store.clone(), fixture.store.last_event());
            let follow = async {
                let mut seen: Vec<i64> = Vec::new();
                while seen.len() < (total - total / 5) as usize {
                    newest.changed().await.unwrap();
                    let after = seen.last().copied().unwrap_or(0);
                    let page = store.read(move |tx| event::page_after(tx, after, 1_000)).await;
                    let page: Result<Vec<_>, StoreError> = page;
                    seen.extend(page.unwrap().iter().map(|event| event.seq));
                }
                seen
            };
            let limit = std::time::Duration::from_secs(30);
            tokio::time::timeout(limit, follow).await.expect("the follower got every event")
        });
        assert_eq!(seen, (1..=total - total / 5).collect::<Vec<_>>());
    });
}

#[test]
fn another_server_on_the_same_database_hears_of_events() {
    on_both_engines("listen", |fixture| {
        if fixture.store.engine() == Engine::Sqlite {
            return; // One server at a time; the home lock refuses a second.
        }
        let other = Store::open(&fixture.url, StoreOptions::default()).unwrap();
        let mut heard = other.last_event();
        let now = fixture.now();
        fixture
            .write(move |tx| {
                tx.emit(changed("a"), now);
                Ok(())
            })
            .unwrap();
        let limit = std::time::Duration::from_secs(20);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            tokio::time::timeout(limit, heard.wait_for(|seq| *seq == 1)).await.expect("it heard").unwrap();
        });
        other.close();
    });
}
