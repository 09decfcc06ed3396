//! Pages of tasks.

use std::time::Instant;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::environment::EnvironmentStatus;
use freehold_domain::id::WorkspaceId;
use freehold_domain::session::SessionState;
use freehold_store::task::{self, Page, TaskCursor, TaskFilter, TaskListItem};
use freehold_store::{cleanup, environment, session};

use crate::fixture::{Fixture, id, on_both_engines};

fn page(fixture: &Fixture, filter: TaskFilter, cursor: Option<TaskCursor>, limit: u32) -> Page<TaskListItem> {
    let workspace = fixture.workspace.id.clone();
    fixture.read(move |tx| task::list_page(tx, &workspace, &filter, cursor.as_ref(), limit))
}

fn names(page: &Page<TaskListItem>) -> Vec<&str> {
    page.items.iter().map(|item| item.task.id.as_str()).collect()
}

#[test]
fn a_page_shows_what_a_board_needs() {
    on_both_engines("item", |fixture| {
        let task = fixture.stored_task("task");
        fixture.stored_task("plain");
        let mut session = fixture.session("session", &task);
        session.is_primary = true;
        session.state = SessionState::Running;
        let (made, repos) = fixture.environment("env", &task);
        let job = fixture.job("job", &task, CleanupTrigger::Archive);
        fixture
            .write(move |tx| {
                session::insert(tx, &session)?;
                environment::insert_ready(tx, &made, &repos)?;
                cleanup::insert_prepared(tx, &job)
            })
            .unwrap();
        fixture.stored_task("unrelated");
        let found = page(fixture, TaskFilter::default(), None, 10);
        assert_eq!(names(&found), ["plain", "task", "unrelated"]);
        assert_eq!(found.next, None);
        let expected = TaskListItem {
            task: freehold_domain::task::Task { prompt: String::new(), ..task },
            repository_names: vec!["sample".to_owned()],
            session_state: Some(SessionState::Running),
            environment_status: Some(EnvironmentStatus::Ready),
            open_job_state: Some(CleanupState::Prepared),
        };
        assert_eq!(found.items[1], expected);
        assert_eq!(fixture.read(|tx| task::find_item(tx, &id("task"))), Some(expected));
        let plain = &found.items[0];
        assert_eq!((plain.session_state, plain.environment_status, plain.open_job_state), (None, None, None));
        assert_eq!(fixture.read(|tx| task::find_item(tx, &id("absent"))), None);
    });
}

#[test]
fn pages_follow_the_board_without_gap_or_repetition() {
    on_both_engines("pages", |fixture| {
        for number in 0..7 {
            let mut task = fixture.task(&format!("t{number}"));
            task.position = 3 - number / 2;
            fixture.write(move |tx| task::insert(tx, &task, &[])).unwrap();
        }
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let found = page(fixture, TaskFilter::default(), cursor, 2);
            seen.extend(names(&found).iter().map(|name| (*name).to_owned()));
            cursor = found.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["t6", "t4", "t5", "t2", "t3", "t0", "t1"]);
        assert_eq!(page(fixture, TaskFilter::default(), None, 7).next, None);
    });
}

#[test]
fn a_filter_chooses_by_column_archive_and_title() {
    on_both_engines("filter", |fixture| {
        for name in ["open", "archived", "deleting", "100%_done"] {
            fixture.stored_task(name);
        }
        let (now, step) = (fixture.now(), fixture.steps[1].id.clone());
        fixture
            .write(move |tx| {
                task::set_archived(tx, &id("archived"), Some(now), now)?;
                task::set_deleted(tx, &id("deleting"), Some(now), now)?;
                task::move_to(tx, &id("open"), &step, 5, now)
            })
            .unwrap();
        let filtered = |filter| names(&page(fixture, filter, None, 10)).join(" ");
        let all = TaskFilter::default;
        assert_eq!(filtered(all()), "100%_done deleting open");
        assert_eq!(filtered(TaskFilter { archived: true, ..all() }), "archived");
        let in_step = |step: usize| Some(fixture.steps[step].id.clone());
        assert_eq!(filtered(TaskFilter { step: in_step(1), ..all() }), "open");
        assert_eq!(filtered(TaskFilter { step: in_step(0), archived: true, ..all() }), "archived");
        let titled = |text: &str| TaskFilter { query: Some(text.to_owned()), ..all() };
        assert_eq!(filtered(titled("TITLE of op")), "open");
        assert_eq!(filtered(titled("0%_d")), "100%_done");
        assert_eq!(filtered(titled("_")), "100%_done");
        assert_eq!(filtered(titled("  ")), "100%_done deleting open");
    });
}

/// A page is read from an index and not by looking at all tasks: among ten thousand it costs about as much as among
/// a hundred and fifty, in the same run.
#[test]
fn a_page_costs_the_same_however_many_tasks_there_are() {
    on_both_engines("many", |fixture| {
        let (mut tasks, mut uses) = (Vec::new(), Vec::new());
        for number in 0..10_150 {
            let mut task = fixture.task(&format!("t{number:05}"));
            task.position = number;
            task.prompt = "x".repeat(200);
            if number >= 10_000 {
                task.workspace_id = id("small");
            }
            uses.push(fixture.task_repository(&format!("u{number:05}"), &task));
            tasks.push(task);
        }
        fixture
            .write(move |tx| {
                tasks
                    .iter()
                    .zip(&uses)
                    .try_for_each(|(task, uses)| task::insert(tx, task, std::slice::from_ref(uses)))
            })
            .unwrap();
        fixture.raw("ANALYZE");
        let large = (fixture.workspace.id.clone(), TaskCursor { position: 5_000, id: id("t05000") });
        let small = (id("small"), TaskCursor { position: 10_010, id: id("t10010") });
        let time_of = |(workspace, cursor): &(_, TaskCursor)| {
            let (workspace, cursor) = (WorkspaceId::clone(workspace), cursor.clone());
            let first = cursor.position + 1;
            let started = Instant::now();
            let found = fixture
                .read(move |tx| task::list_page(tx, &workspace, &TaskFilter::default(), Some(&cursor), 100));
            let time = started.elapsed();
            assert_eq!((found.items.len(), found.items[0].task.position), (100, first));
            time
        };
        let mut pairs: Vec<_> = (0..31).map(|_| (time_of(&large), time_of(&small))).collect();
        pairs.sort_by_key(|(large, small)| large.as_nanos() * 1_000 / small.as_nanos().max(1));
        let (large, small) = pairs[15];
        assert!(large < small * 5, "a page among 10,000 takes {large:?}, among 150 {small:?}");
    });
}
