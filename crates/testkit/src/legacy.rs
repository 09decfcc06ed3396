//! Databases of the old schema, for tests and benchmarks of the upgrade.
//!
//! The schema is written here from facts about real databases; it is not a copy of one. It has every old table
//! that Freehold reads, and some that it must leave alone. Rows are stored with foreign keys off, as real
//! databases hold rows whose parent is gone. Everything here fails by a panic that names the statement.
//!
//! ```
//! use freehold_testkit::legacy::{LegacyDatabase, Revision};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let url = format!("sqlite://{}", folder.path().join("old.db").display());
//! LegacyDatabase::create(&url, Revision::Release085)
//!     .task("task-1")
//!     .flat_environment("environment-1", "task-1", "worktree-1")
//!     .session("session-1", "task-1", "RUNNING")
//!     .with("task_environment_id", "environment-1")
//!     .session_worktree("session-1", "worktree-1")
//!     .with("status", "merged");
//! ```
#![expect(clippy::panic, reason = "a test that has no database must fail, and says why")]

mod dump;
mod engine;
pub mod large;
mod schema;

pub use dump::dump;
pub use engine::rows;

/// The workspace that every made database has.
pub const WORKSPACE: &str = "workspace-1";

/// The repository that rows name when nothing else is said; [`LegacyDatabase::repository`] stores its row.
pub const REPOSITORY: &str = "repository-1";

/// The shape of an old database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// The last release in which sessions held worktrees.
    Release085,
    /// What was built just before ownership moved to tasks: the same ownership tables, some newer columns.
    BeforeCutover,
    /// Ownership is with tasks, in the final two tables.
    Normalised,
    /// The normalised shape, on which an older program has put the table by which sessions held worktrees.
    Hybrid,
}

impl Revision {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Release085, Self::BeforeCutover, Self::Normalised, Self::Hybrid];

    fn is_flat(self) -> bool {
        matches!(self, Self::Release085 | Self::BeforeCutover)
    }

    fn version(self) -> &'static str {
        match self {
            Self::Release085 => "v0.85.0",
            Self::BeforeCutover | Self::Normalised | Self::Hybrid => "dev",
        }
    }
}

/// A database of the old schema, to which rows are added.
///
/// Each row is a minute newer than the one before it, in its beginning and `updated_at` alike. The ids of rows
/// that a caller does not name count from 1 over all tables.
#[derive(Debug)]
pub struct LegacyDatabase {
    url: String,
    minute: u32,
    last: (&'static str, String),
    /// Statements that wait for the end of [`Self::at_once`].
    waiting: Option<String>,
}

impl LegacyDatabase {
    /// Makes the schema and the rows that the old program stores by itself, in an empty database that is named
    /// as on Freehold's command line; a path without `sqlite://` is a file of SQLite.
    #[must_use]
    pub fn create(url: &str, revision: Revision) -> Self {
        engine::run(url, &schema::statements(engine::of(url), revision));
        let mut database = Self::open(url, 0);
        database.at_once(|database| {
            database.insert("kandev_meta", &[("key", "kandev_version"), ("value", revision.version())]);
            database.insert_dated("users", &[("id", "default-user"), ("email", "default@example.org")]);
            for (id, kind) in [("exec-local", "local"), ("exec-worktree", "worktree")] {
                let columns = [("id", id), ("name", id), ("type", kind), ("is_system", "1")];
                database.insert_dated("executors", &columns);
            }
            database.insert_dated("workspaces", &[("id", WORKSPACE), ("name", "Default Workspace")]);
        });
        database
    }

    /// Takes up a database that was made before; new rows are newer than `minute` by [`instant`].
    #[must_use]
    pub fn open(url: &str, minute: u32) -> Self {
        Self { url: url.to_owned(), minute, last: ("workspaces", WORKSPACE.to_owned()), waiting: None }
    }

    /// Runs statements with foreign keys off.
    pub fn sql(&mut self, statements: &str) -> &mut Self {
        match &mut self.waiting {
            Some(waiting) => waiting.extend([statements, ";\n"]),
            None => engine::run(&self.url, statements),
        }
        self
    }

    /// Stores many rows in one transaction, which takes less time than one for each.
    pub fn at_once(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.waiting = Some("BEGIN;\n".to_owned());
        fill(self);
        let statements = self.waiting.take().unwrap_or_default() + "COMMIT";
        self.sql(&statements)
    }

    /// Stores a row; the values are given as texts, also where the column is a number or a time.
    pub fn insert(&mut self, table: &str, columns: &[(&str, &str)]) -> &mut Self {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let values: Vec<String> = columns.iter().map(|(_, value)| quoted(value)).collect();
        self.sql(&format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", ")))
    }

    /// Sets a column of the row that was stored last by one of the methods below.
    pub fn with(&mut self, column: &str, value: &str) -> &mut Self {
        self.set_last(column, &quoted(value));
        if column == "id" {
            value.clone_into(&mut self.last.1);
        }
        self
    }

    /// Sets a column of the row that was stored last to NULL.
    pub fn with_null(&mut self, column: &str) -> &mut Self {
        self.set_last(column, "NULL");
        self
    }

    /// Stores a repository of the workspace, with the path `/repositories/<id>`.
    pub fn repository(&mut self, id: &str) -> &mut Self {
        let path = format!("/repositories/{id}");
        let columns =
            [("workspace_id", WORKSPACE), ("name", id), ("local_path", &path), ("default_branch", "main")];
        self.insert_row("repositories", id, &columns)
    }

    /// Stores a task in progress, with the title `Title of <id>`.
    pub fn task(&mut self, id: &str) -> &mut Self {
        let title = format!("Title of {id}");
        self.insert_row(
            "tasks",
            id,
            &[("workspace_id", WORKSPACE), ("title", &title), ("state", "IN_PROGRESS")],
        )
    }

    /// Stores that a task is about a repository.
    pub fn task_repository(&mut self, task: &str, repository: &str) -> &mut Self {
        let id = self.next_id("task-repository");
        let columns = [("task_id", task), ("repository_id", repository), ("base_branch", "main")];
        self.insert_row("task_repositories", &id, &columns)
    }

    /// Stores a session of the worktree executor without an environment.
    pub fn session(&mut self, id: &str, task: &str, state: &str) -> &mut Self {
        let columns = [
            ("task_id", task),
            ("state", state),
            ("executor_id", "exec-worktree"),
            ("repository_id", REPOSITORY),
            ("base_branch", "main"),
        ];
        self.insert_row("task_sessions", id, &columns)
    }

    /// Stores an environment that is ready and has no worktree in columns of its own.
    pub fn environment(&mut self, id: &str, task: &str) -> &mut Self {
        let columns = [
            ("task_id", task),
            ("executor_type", "worktree"),
            ("executor_id", "exec-worktree"),
            ("status", "ready"),
        ];
        self.insert_row("task_environments", id, &columns)
    }

    /// Stores an environment that has a worktree in columns of its own, as only the two older shapes do.
    pub fn flat_environment(&mut self, id: &str, task: &str, worktree: &str) -> &mut Self {
        self.environment(id, task)
            .with("repository_id", REPOSITORY)
            .with("worktree_id", worktree)
            .with("worktree_path", &path_of(worktree))
            .with("worktree_branch", &branch_of(worktree))
            .with("workspace_path", &path_of(worktree))
    }

    /// Lets a task have more than one environment, as databases from before the unique index do.
    pub fn let_tasks_have_many_environments(&mut self) -> &mut Self {
        self.sql("DROP INDEX uniq_task_environments_task_id")
    }

    /// Stores that an environment has a worktree of [`REPOSITORY`].
    pub fn environment_repo(&mut self, environment: &str, worktree: &str) -> &mut Self {
        let id = self.next_id("environment-repo");
        self.insert_worktree("task_environment_repos", &id, ("task_environment_id", environment), worktree)
    }

    /// Stores that a session has a worktree of [`REPOSITORY`].
    pub fn session_worktree(&mut self, session: &str, worktree: &str) -> &mut Self {
        let id = self.next_id("session-worktree");
        self.insert_worktree("task_session_worktrees", &id, ("session_id", session), worktree)
    }

    /// Stores a message of the agent, in the one turn of its session, which is made with the first.
    pub fn message(&mut self, session: &str, content: &str) -> &mut Self {
        let turn = format!("turn-of-{session}");
        let (task, now) = (format!("task of {session}"), instant(self.minute + 1));
        self.sql(&format!(
            "INSERT INTO task_session_turns (id, task_session_id, task_id, started_at, created_at, updated_at) \
             VALUES ({}, {}, coalesce((SELECT task_id FROM task_sessions WHERE id = {1}), {}), {now}, {now}, {now}) \
             ON CONFLICT (id) DO NOTHING",
            quoted(&turn),
            quoted(session),
            quoted(&task),
            now = quoted(&now),
        ));
        let id = self.next_id("message");
        let columns = [
            ("task_session_id", session),
            ("turn_id", &turn),
            ("author_type", "agent"),
            ("content", content),
        ];
        self.insert_row("task_session_messages", &id, &columns)
    }

    /// Stores a cleanup job that waits for its turn.
    pub fn cleanup_job(&mut self, id: &str, task: &str, trigger: &str) -> &mut Self {
        let operation = format!("{trigger}:{task}:{id}");
        let columns = [("operation_id", operation.as_str()), ("task_id", task), ("trigger", trigger)];
        self.insert_row("task_resource_cleanup_jobs", id, &columns)
    }

    fn insert_worktree(
        &mut self,
        table: &'static str,
        id: &str,
        holder: (&str, &str),
        worktree: &str,
    ) -> &mut Self {
        let (path, branch) = (path_of(worktree), branch_of(worktree));
        let columns = [
            holder,
            ("repository_id", REPOSITORY),
            ("worktree_id", worktree),
            ("worktree_path", &path),
            ("worktree_branch", &branch),
        ];
        self.insert_row(table, id, &columns)
    }

    fn insert_row(&mut self, table: &'static str, id: &str, columns: &[(&str, &str)]) -> &mut Self {
        let columns: Vec<_> = std::iter::once(("id", id)).chain(columns.iter().copied()).collect();
        self.last = (table, id.to_owned());
        self.insert_dated(table, &columns)
    }

    fn insert_dated(&mut self, table: &str, columns: &[(&str, &str)]) -> &mut Self {
        self.minute += 1;
        let now = instant(self.minute);
        // A session's beginning is when it started.
        let beginning = if table == "task_sessions" { "started_at" } else { "created_at" };
        let dates = [(beginning, now.as_str()), ("updated_at", now.as_str())];
        self.insert(table, &columns.iter().copied().chain(dates).collect::<Vec<_>>())
    }

    fn set_last(&mut self, column: &str, value: &str) {
        let (table, id) = &self.last;
        let statement = format!("UPDATE {table} SET {column} = {value} WHERE id = {}", quoted(id));
        self.sql(&statement);
    }

    /// An id for a row that comes next.
    fn next_id(&self, noun: &str) -> String {
        format!("{noun}-{}", self.minute + 1)
    }
}

/// Where a worktree is, when nothing else was said.
#[must_use]
pub fn path_of(worktree: &str) -> String {
    format!("/worktrees/{worktree}")
}

/// The branch of a worktree, when nothing else was said.
#[must_use]
pub fn branch_of(worktree: &str) -> String {
    format!("feature/{worktree}")
}

/// The text that the old program stores for a time: so many minutes after the beginning of a month of 31 days.
#[must_use]
pub fn instant(minute: u32) -> String {
    moment(u64::from(minute) * 60 + 20, 967_653_928)
}

/// The text of a time: seconds after the beginning of the month, and nanoseconds.
fn moment(second: u64, nanos: u64) -> String {
    let (day, hour, minute, second) =
        (second / 86_400 + 1, second / 3_600 % 24, second / 60 % 60, second % 60);
    assert!(day <= 31, "these times are all within one month");
    format!("2026-10-{day:02} {hour:02}:{minute:02}:{second:02}.{nanos:09}+00:00")
}

/// A text as SQL says it; without a character that only PostgreSQL reads as an escape.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests;
