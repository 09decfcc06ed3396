//! A large old database, the same in every run: what a team has after some years.
//!
//! Everything is worked out from the number of a row, so that a table can be written after the other, as each
//! engine does it fastest. Ids are spread like random ones, because that is what makes looking them up slow.

use std::io::Write as _;

use super::engine::{self, Engine};
use super::{LegacyDatabase, Revision, WORKSPACE, moment};

/// Seconds over which everything happened.
const SPAN: u64 = 30 * 86_400;
/// Messages of one turn: a prompt and what the agent did.
const MESSAGES_PER_TURN: u64 = 10;
/// Repositories that tasks are about.
const REPOSITORIES: u64 = 12;

/// How many rows there are.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Tasks; each has the same number of sessions.
    pub tasks: u64,
    /// Sessions of all tasks.
    pub sessions: u64,
    /// Messages of all sessions.
    pub messages: u64,
}

/// A table with the values of its rows, each a text.
struct Table {
    name: &'static str,
    columns: &'static str,
    rows: Box<dyn Iterator<Item = Vec<String>> + Send>,
}

/// Makes a database of the release in which sessions held worktrees, with so many rows.
///
/// Every worktree has one owner, so that nobody has to decide anything: a tenth of the tasks have no
/// environment and their worktree is known from sessions only, a quarter have a second repository, and some rows
/// are of worktrees that were given back.
pub fn create(url: &str, size: Size) {
    drop(LegacyDatabase::create(url, Revision::Release085));
    match engine::of(url) {
        Engine::Sqlite => fill_sqlite(url, size).unwrap_or_else(|error| panic!("{url}: {error}")),
        Engine::Postgres => engine::outside_of_a_runtime(|| {
            fill_postgres(url, size).unwrap_or_else(|error| panic!("{url}: {error}"));
        }),
    }
}

/// One transaction of prepared statements; the indexes of the largest table are made at the end.
fn fill_sqlite(url: &str, size: Size) -> rusqlite::Result<()> {
    let connection = engine::sqlite(url);
    // Nothing is lost by a crash but a file that no one needs.
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN;",
    )?;
    let indexes = "SELECT name, sql FROM sqlite_schema \
                   WHERE type = 'index' AND tbl_name = 'task_session_messages' AND sql IS NOT NULL";
    let indexes = engine::sqlite_rows(&connection, indexes);
    for index in &indexes {
        connection.execute_batch(&format!("DROP INDEX {}", text(index, 0)))?;
    }
    for table in tables(size) {
        let count = table.columns.split(", ").count();
        let places = vec!["?"; count].join(", ");
        let insert = format!("INSERT INTO {} ({}) VALUES ({places})", table.name, table.columns);
        let mut insert = connection.prepare(&insert)?;
        for row in table.rows {
            insert.execute(rusqlite::params_from_iter(row))?;
        }
    }
    for index in &indexes {
        connection.execute_batch(text(index, 1))?;
    }
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")
}

/// `COPY` for each table; the indexes of the largest one are made at the end.
fn fill_postgres(url: &str, size: Size) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = engine::client(url);
    let indexes = "SELECT indexname, indexdef FROM pg_indexes \
                   WHERE tablename = 'task_session_messages' AND indexname LIKE 'idx%'";
    let indexes = engine::postgres_rows(&mut client, indexes);
    client.batch_execute("BEGIN")?;
    for index in &indexes {
        client.batch_execute(&format!("DROP INDEX {}", text(index, 0)))?;
    }
    for table in tables(size) {
        let copy = format!("COPY {} ({}) FROM STDIN", table.name, table.columns);
        let mut writer = client.copy_in(&copy)?;
        for row in table.rows {
            let fields: Vec<String> = row.iter().map(|value| copied(value)).collect();
            writer.write_all((fields.join("\t") + "\n").as_bytes())?;
        }
        writer.finish()?;
    }
    for index in &indexes {
        client.batch_execute(text(index, 1))?;
    }
    client.batch_execute("COMMIT; ANALYZE")?;
    Ok(())
}

fn text(row: &[Option<String>], at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

/// A text as `COPY` reads it.
fn copied(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

fn tables(size: Size) -> Vec<Table> {
    [places(size), ownership(size), conversations(size)].into_iter().flatten().collect()
}

fn table(
    name: &'static str,
    columns: &'static str,
    rows: impl Iterator<Item = Vec<String>> + Send + 'static,
) -> Table {
    Table { name, columns, rows: Box::new(rows) }
}

/// Repositories, tasks and sessions.
fn places(size: Size) -> Vec<Table> {
    let repository = |number| {
        let name = format!("repository {number}");
        let path = format!("/home/person/code/repository-{number}");
        vec![id('r', number), WORKSPACE.to_owned(), name, path, "main".to_owned(), at(0), at(0)]
    };
    let task = move |number| {
        let title = sentence(number, 7);
        let state = if number % 3 == 0 { "IN_PROGRESS" } else { "COMPLETED" }.to_owned();
        let start = at(number * SPAN / size.tasks);
        vec![id('t', number), WORKSPACE.to_owned(), title, sentence(number, 60), state, start.clone(), start]
    };
    let session = move |number| {
        let start = at(session_start(number, size));
        vec![
            id('s', number),
            id('t', number % size.tasks),
            session_state(number, size).to_owned(),
            "exec-worktree".to_owned(),
            id('r', repository_of(number % size.tasks)),
            environment_of(number % size.tasks).unwrap_or_default(),
            start.clone(),
            start,
        ]
    };
    vec![
        table(
            "repositories",
            "id, workspace_id, name, local_path, default_branch, created_at, updated_at",
            (0..REPOSITORIES).map(repository),
        ),
        table(
            "tasks",
            "id, workspace_id, title, description, state, created_at, updated_at",
            (0..size.tasks).map(task),
        ),
        table(
            "task_repositories",
            "id, task_id, repository_id, base_branch, created_at, updated_at",
            (0..size.tasks).map(|number| {
                let (task, repository) = (id('t', number), id('r', repository_of(number)));
                vec![id('p', number), task, repository, "main".to_owned(), at(0), at(0)]
            }),
        ),
        table(
            "task_sessions",
            "id, task_id, state, executor_id, repository_id, task_environment_id, started_at, updated_at",
            (0..size.sessions).map(session),
        ),
    ]
}

/// Environments, their worktrees, the worktrees of sessions and jobs that are done.
fn ownership(size: Size) -> Vec<Table> {
    let environments = (0..size.tasks).filter_map(move |task| {
        let worktree = worktree(task, 0);
        let now = at(task * SPAN / size.tasks);
        let mut row =
            vec![environment_of(task)?, id('t', task), "worktree".to_owned(), "exec-worktree".to_owned()];
        row.push("ready".to_owned());
        row.extend(worktree.iter().cloned());
        row.extend([worktree[2].clone(), now.clone(), now]);
        Some(row)
    });
    let environment_repos = (0..size.tasks).flat_map(move |task| {
        let now = at(task * SPAN / size.tasks);
        environment_of(task).into_iter().flat_map(move |environment| {
            let now = now.clone();
            (0..repositories_of(task)).map(move |position| {
                let mut row = vec![id('e', task * 4 + position), environment.clone()];
                row.extend(worktree(task, position));
                row.extend([position.to_string(), now.clone(), now.clone()]);
                row
            })
        })
    });
    let session_worktrees = (0..size.sessions).flat_map(move |session| {
        let task = session % size.tasks;
        let now = at(session_start(session, size));
        let status = if session < size.tasks && session % 20 == 7 { "deleted" } else { "active" };
        (0..repositories_of(task)).map(move |position| {
            let mut row = vec![id('w', session * 4 + position), id('s', session)];
            row.extend(worktree(task, position));
            row.extend([position.to_string(), status.to_owned(), now.clone(), now.clone()]);
            row
        })
    });
    let jobs = (0..size.tasks).filter(|task| task % 25 == 3).map(|task| {
        let operation = format!("archive:{}:{}", id('t', task), id('j', task));
        let words = ["archive", "succeeded"].map(str::to_owned);
        [vec![id('j', task), operation, id('t', task)], words.to_vec(), vec![at(SPAN), at(SPAN)]].concat()
    });
    vec![
        table(
            "task_environments",
            "id, task_id, executor_type, executor_id, status, repository_id, worktree_id, worktree_path, \
             worktree_branch, workspace_path, created_at, updated_at",
            environments,
        ),
        table(
            "task_environment_repos",
            "id, task_environment_id, repository_id, worktree_id, worktree_path, worktree_branch, position, \
             created_at, updated_at",
            environment_repos,
        ),
        table(
            "task_session_worktrees",
            "id, session_id, repository_id, worktree_id, worktree_path, worktree_branch, position, status, \
             created_at, updated_at",
            session_worktrees,
        ),
        table(
            "task_resource_cleanup_jobs",
            "id, operation_id, task_id, trigger, state, created_at, updated_at",
            jobs,
        ),
    ]
}

/// Turns and messages: of ten messages one is a prompt, four are words of the agent and five are tools.
fn conversations(size: Size) -> Vec<Table> {
    let turns = (0..size.messages.div_ceil(MESSAGES_PER_TURN)).map(move |turn| {
        let session = session_of(turn, size);
        let now = at(turn * MESSAGES_PER_TURN * SPAN / size.messages);
        vec![id('u', turn), id('s', session), id('t', session % size.tasks), now.clone(), now.clone(), now]
    });
    let messages = (0..size.messages).map(move |number| {
        let turn = number / MESSAGES_PER_TURN;
        let session = session_of(turn, size);
        let (author, kind, words) = match number % MESSAGES_PER_TURN {
            0 => ("user", "message", 12 + number % 40),
            1 | 4 | 7 | 9 => ("agent", "message", 10 + mixed(number) % 60),
            _ => ("agent", "tool_call", 3),
        };
        let metadata = match kind {
            "tool_call" => format!("{{\"tool_call_id\":\"call_{number:08x}\",\"status\":\"completed\"}}"),
            _ => "{}".to_owned(),
        };
        let now = at(number * SPAN / size.messages);
        let (author, kind) = (author.to_owned(), kind.to_owned());
        let parents = vec![id('s', session), id('t', session % size.tasks), id('u', turn)];
        let said = vec![author, kind, sentence(number, words), metadata, now.clone(), now];
        [vec![id('m', number)], parents, said].concat()
    });
    vec![
        table(
            "task_session_turns",
            "id, task_session_id, task_id, started_at, created_at, updated_at",
            turns,
        ),
        table(
            "task_session_messages",
            "id, task_session_id, task_id, turn_id, author_type, type, content, metadata, created_at, updated_at",
            messages,
        ),
    ]
}

/// Turns go round the sessions, so that the rows of a session lie apart, as they do when people work on many.
fn session_of(turn: u64, size: Size) -> u64 {
    turn % size.sessions
}

fn session_start(session: u64, size: Size) -> u64 {
    session * SPAN / size.sessions
}

/// Of the newest sessions every tenth waits for a person; all the others are over.
fn session_state(session: u64, size: Size) -> &'static str {
    let is_newest = session + size.tasks >= size.sessions;
    if is_newest && session.is_multiple_of(10) { "WAITING_FOR_INPUT" } else { "COMPLETED" }
}

fn environment_of(task: u64) -> Option<String> {
    (task % 10 != 9).then(|| id('n', task))
}

fn repository_of(task: u64) -> u64 {
    task % REPOSITORIES
}

fn repositories_of(task: u64) -> u64 {
    if task.is_multiple_of(4) { 2 } else { 1 }
}

/// Repository, worktree, path and branch of a task's place.
fn worktree(task: u64, position: u64) -> [String; 4] {
    let repository = id('r', (repository_of(task) + position) % REPOSITORIES);
    let path = format!("/home/person/tasks/task-{task}/repository-{position}");
    [repository, id('k', task * 4 + position), path, format!("feature/task-{task}")]
}

/// A time with a fraction that looks measured.
fn at(second: u64) -> String {
    moment(second, mixed(second) % 1_000_000_000)
}

/// An id in the shape of a random UUID.
fn id(kind: char, number: u64) -> String {
    let seed = u64::from(u32::from(kind)) << 40 | number;
    let (high, low) = (mixed(seed), mixed(!seed));
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

/// Some words, different for each number.
fn sentence(number: u64, words: u64) -> String {
    const WORDS: [&str; 16] = [
        "the", "parser", "keeps", "every", "test", "green", "while", "index", "and", "cache", "are",
        "rebuilt", "after", "a", "slow", "request",
    ];
    let mut state = mixed(number);
    let mut text = String::new();
    for at in 0..words {
        if at % 16 == 0 {
            state = mixed(state);
        }
        if at > 0 {
            text.push(if at % 14 == 0 { '\n' } else { ' ' });
        }
        text.push_str(WORDS[(state >> (at % 16 * 4) & 15) as usize]);
    }
    text
}

/// A number whose bits depend on all bits of another (the finaliser of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::TestDatabase;
    use crate::legacy::{dump, rows};

    const SMALL: Size = Size { tasks: 50, sessions: 100, messages: 2_000 };

    #[test]
    fn the_rows_are_those_asked_for_and_hang_together() {
        TestDatabase::each("large", |url| {
            create(url, SMALL);
            let one = |query: &str| rows(url, query).join(",");
            assert_eq!(one("SELECT count(*) FROM tasks"), "50");
            assert_eq!(one("SELECT count(*) FROM task_sessions s JOIN tasks t ON t.id = s.task_id"), "100");
            assert_eq!(
                one("SELECT count(*) FROM task_environments e JOIN tasks t ON t.id = e.task_id"),
                "45"
            );
            assert_eq!(
                one(
                    "SELECT count(*) FROM task_session_messages m JOIN task_session_turns u ON u.id = m.turn_id \
                     AND u.task_session_id = m.task_session_id JOIN task_sessions s ON s.id = u.task_session_id \
                     JOIN tasks t ON t.id = s.task_id AND t.id = m.task_id"
                ),
                "2000"
            );
            let owners = "SELECT count(*) FROM (SELECT worktree_id FROM task_session_worktrees w \
                          JOIN task_sessions s ON s.id = w.session_id \
                          GROUP BY worktree_id HAVING count(DISTINCT s.task_id) > 1) shared";
            assert_eq!(one(owners), "0");
            assert_eq!(
                one("SELECT count(*) FROM task_environments WHERE workspace_path = worktree_path"),
                "45"
            );
        });
    }

    #[test]
    fn it_is_the_same_in_every_run() {
        let (one, other) = (TestDatabase::sqlite(), TestDatabase::sqlite());
        for database in [&one, &other] {
            create(database.url(), SMALL);
        }
        assert_eq!(dump(one.url()), dump(other.url()));
    }
}
