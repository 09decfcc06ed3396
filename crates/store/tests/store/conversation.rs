//! Turns and messages.

use freehold_domain::message::{MessageKind, Permission};
use freehold_store::{StoreError, message};

use crate::fixture::{Fixture, block_on, id, on_both_engines};

fn with_turn(fixture: &Fixture) -> freehold_domain::message::Turn {
    let task = fixture.stored_task("task");
    let session = fixture.stored_session("session", &task);
    let turn = fixture.turn("turn", &session);
    let stored = turn.clone();
    fixture.write(move |tx| message::insert_turn(tx, &stored)).unwrap();
    turn
}

#[test]
fn a_turn_ends_once() {
    on_both_engines("turn", |fixture| {
        let turn = with_turn(fixture);
        assert_eq!(fixture.read(|tx| message::open_turns_of(tx, &id("session"))), [turn]);
        let later = fixture.now().plus_millis(4);
        assert!(fixture.write(move |tx| message::finish_turn(tx, &id("turn"), later, "end_turn")).unwrap());
        assert!(!fixture.write(move |tx| message::finish_turn(tx, &id("turn"), later, "failed")).unwrap());
        let ended = fixture.read(|tx| message::find_turn(tx, &id("turn"))).unwrap();
        assert_eq!((ended.completed_at, ended.stop_reason.as_str()), (Some(later), "end_turn"));
        assert!(fixture.read(|tx| message::open_turns_of(tx, &id("session"))).is_empty());
    });
}

#[test]
fn messages_are_numbered_without_holes_under_concurrent_writers() {
    on_both_engines("ordinals", |fixture| {
        let turn = with_turn(fixture);
        block_on(async {
            let mut set = tokio::task::JoinSet::new();
            for number in 0..24 {
                let (store, message) =
                    (fixture.store.clone(), fixture.message(&format!("m{number}"), &turn, "text"));
                set.spawn(async move { store.write(move |tx| message::append_message(tx, &message)).await });
            }
            while let Some(appended) = set.join_next().await {
                appended.unwrap().unwrap();
            }
        });
        let all = fixture.read(|tx| message::page_before(tx, &id("session"), None, 100));
        let ordinals: Vec<_> = all.iter().map(|message| message.ordinal).collect();
        assert_eq!(ordinals, (1..=24).collect::<Vec<_>>());
        let page = fixture.read(|tx| message::page_before(tx, &id("session"), Some(10), 3));
        assert_eq!(page.iter().map(|message| message.ordinal).collect::<Vec<_>>(), [7, 8, 9]);
    });
}

#[test]
fn text_is_added_to_a_message_and_its_length_told_as_browsers_count() {
    on_both_engines("append", |fixture| {
        let turn = with_turn(fixture);
        let message = fixture.message("message", &turn, "a🦀");
        fixture.write(move |tx| message::append_message(tx, &message)).unwrap();
        let later = fixture.now().plus_millis(1);
        let first = fixture.write(move |tx| message::append_text(tx, &id("message"), "é\0", later)).unwrap();
        let second = fixture.write(move |tx| message::append_text(tx, &id("message"), "!", later)).unwrap();
        assert_eq!((first, second), (3, 5));
        let found = fixture.read(|tx| message::find(tx, &id("message"))).unwrap();
        assert_eq!((found.content.as_str(), found.updated_at), ("a🦀é\u{FFFD}!", later));
        let absent =
            fixture.write(move |tx| message::append_text(tx, &id("nobody"), "x", later)).unwrap_err();
        assert!(matches!(absent, StoreError::NotFound { .. }), "{absent}");
    });
}

#[test]
fn a_replaced_message_is_given_back_whole() {
    on_both_engines("replace", |fixture| {
        let turn = with_turn(fixture);
        let stored = fixture.message("message", &turn, "reading");
        let mut expected = fixture.write(move |tx| message::append_message(tx, &stored)).unwrap();
        let (metadata, later) =
            (serde_json::json!({"status": "completed", "n": [1, 2]}), fixture.now().plus_millis(1));
        expected.content = "read".to_owned();
        expected.metadata = metadata.clone();
        expected.updated_at = later;
        let replaced =
            fixture.write(move |tx| message::replace(tx, &id("message"), "read", &metadata, later)).unwrap();
        assert_eq!(replaced, expected);
        assert_eq!(fixture.read(|tx| message::find(tx, &id("message"))), Some(expected));
        let offset = fixture.write(move |tx| message::append_text(tx, &id("message"), "y", later)).unwrap();
        assert_eq!(offset, 4);
    });
}

#[test]
fn permission_requests_are_found_by_their_id_and_by_waiting() {
    on_both_engines("permission", |fixture| {
        let turn = with_turn(fixture);
        for (name, request_id, status) in [("p1", "one", "answered"), ("p2", "two", "pending")] {
            let mut asked = fixture.message(name, &turn, "May I?");
            asked.kind = MessageKind::Permission;
            asked.metadata = serde_json::to_value(Permission {
                request_id: request_id.to_owned(),
                tool_call_id: String::new(),
                options: Vec::new(),
                status: status.to_owned(),
                chosen: None,
            })
            .unwrap();
            fixture.write(move |tx| message::append_message(tx, &asked)).unwrap();
        }
        let pending = fixture.read(|tx| message::pending_permissions(tx, &id("session")));
        assert_eq!(pending.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["p2"]);
        let found = fixture.read(|tx| message::find_permission(tx, &id("session"), "one"));
        assert_eq!(found.unwrap().id.as_str(), "p1");
        assert_eq!(fixture.read(|tx| message::find_permission(tx, &id("session"), "three")), None);
    });
}
