//! Databases for tests: every test that needs one runs on both engines.
//!
//! SQLite gets a file in a temporary folder. PostgreSQL gets a fresh database on the server that the
//! environment variable `FREEHOLD_TEST_POSTGRES` names by URL; when it is not set, the test process starts a
//! private server of its own, in a temporary folder and on a free loopback port. A missing PostgreSQL is a
//! failure with a message that says what to install, never a skip.
#![expect(clippy::panic, reason = "a test that has no database must fail, and says why")]

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};

/// Names the PostgreSQL server on which tests make their databases, as a URL of its database `postgres`.
pub const SERVER_VARIABLE: &str = "FREEHOLD_TEST_POSTGRES";

const INSTALL: &str = "tests need a PostgreSQL server: install it (Debian and Ubuntu: `apt-get install \
                       postgresql`), so that `initdb` is on PATH or under /usr/lib/postgresql, or set \
                       FREEHOLD_TEST_POSTGRES to the URL of a server on which databases may be made";

/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The account under which a server runs when the tests run as root, which PostgreSQL refuses.
const NOBODY: u32 = 65_534;

/// A fresh, empty database that is gone when the value is dropped.
#[derive(Debug)]
pub struct TestDatabase {
    url: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Folder { _folder: tempfile::TempDir },
    Server { name: String },
}

impl TestDatabase {
    /// Runs a test on each engine, with the URL of a fresh database; `name` is shown when it fails.
    pub fn each(name: &str, test: impl Fn(&str)) {
        for database in [Self::sqlite(), Self::postgres()] {
            naming_the_engine(name, &database.url, || test(&database.url));
        }
    }

    /// Makes a database of SQLite; its file does not exist yet.
    #[must_use]
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("cannot make a folder: {error}"));
        let url = format!("sqlite://{}", folder.path().join("freehold.db").display());
        Self { url, place: Place::Folder { _folder: folder } }
    }

    /// Makes a database of PostgreSQL.
    #[must_use]
    pub fn postgres() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("freehold_test_{}_{number}", std::process::id());
        administer(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        administer(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
        Self { url: with_database(server_url(), &name), place: Place::Server { name } }
    }

    /// Ends every connection to a database of PostgreSQL and empties its tables, but for the named ones: much quicker
    /// than another database.
    pub fn empty(&self, kept: &[&str]) {
        let kept: Vec<String> = kept.iter().map(|table| format!("'{table}'")).collect();
        let statement = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid();
             DO $$ DECLARE full_ones text; BEGIN
                 SELECT string_agg(quote_ident(tablename), ', ') INTO full_ones FROM pg_tables
                 WHERE schemaname = 'public' AND tablename NOT IN ({});
                 IF full_ones IS NOT NULL THEN EXECUTE 'TRUNCATE ' || full_ones; END IF;
             END $$",
            kept.join(", ")
        );
        let url = self.url.clone();
        let emptied =
            std::thread::spawn(move || Client::connect(&url, NoTls)?.batch_execute(&statement)).join();
        assert!(matches!(emptied, Ok(Ok(()))), "cannot empty {}: {emptied:?}", self.url);
    }

    /// Names the database as Freehold's command line does.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Place::Server { name } = &self.place {
            let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            // The server goes with the process; a database left on it harms no other test.
            drop(std::thread::spawn(move || run_statement(&statement)).join());
        }
    }
}

/// The URL of the server's database `postgres`; starts a server when none is named.
///
/// A test that starts other test programs sets [`SERVER_VARIABLE`] for them to this.
#[must_use]
pub fn server_url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| std::env::var(SERVER_VARIABLE).unwrap_or_else(|_| private_server()))
}

fn naming_the_engine(name: &str, url: &str, test: impl FnOnce()) {
    struct Shown<'s>(&'s str, &'s str);
    impl Drop for Shown<'_> {
        #[expect(clippy::print_stderr, reason = "tells on which engine a test failed")]
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("{}: failed on {}", self.0, self.1);
            }
        }
    }
    let _shown = Shown(name, url);
    test();
}

fn with_database(url: &str, name: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(address, query)| (address, Some(query)));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let server = address[authority..].find('/').map_or(address, |at| &address[..authority + at]);
    match query {
        Some(query) => format!("{server}/{name}?{query}"),
        None => format!("{server}/{name}"),
    }
}

/// Runs a statement on the server, on a thread of its own: the client must not be used inside an async runtime.
fn administer(statement: &str) {
    let owned = statement.to_owned();
    let outcome = std::thread::spawn(move || run_statement(&owned)).join();
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => panic!("{statement}: {error} (server {SERVER_VARIABLE} or a private one)"),
        Err(_) => panic!("{statement}: the thread panicked"),
    }
}

fn run_statement(statement: &str) -> Result<(), postgres::Error> {
    Client::connect(server_url(), NoTls)?.batch_execute(statement)
}

/// Starts a server that lives as long as this process.
fn private_server() -> String {
    let bin = server_programs().unwrap_or_else(|| panic!("{INSTALL}"));
    let folder = tempfile::Builder::new().prefix("freehold-postgres-").tempdir();
    let folder = folder.unwrap_or_else(|error| panic!("cannot make a folder: {error}")).keep();
    let as_root = is_root(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    if as_root {
        chown(&folder, Some(NOBODY), Some(NOBODY))
            .unwrap_or_else(|error| panic!("cannot hand over {}: {error}", folder.display()));
    }
    initialise(&bin, &folder, as_root);
    let port = free_port().unwrap_or_else(|error| panic!("no free loopback port: {error}"));
    let mut watchdog = start_with_watchdog(&bin, &folder, port, as_root);
    let url = format!("postgres://freehold@127.0.0.1:{port}/postgres?sslmode=disable");
    wait_until_ready(&url, &folder, &mut watchdog);
    // Its standard input stays open until this process ends, however it ends; then it stops the server.
    std::mem::forget(watchdog);
    url
}

fn server_programs() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut packaged: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    packaged.sort();
    let has_both = |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
    on_path.chain(packaged.into_iter().rev()).find(has_both)
}

/// Whether this process is root, told by the owner of a folder that it has just made.
fn is_root(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(std::fs::metadata(folder)?.uid() == 0)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// A command that runs as an unprivileged account, in the server's folder.
#[expect(clippy::disallowed_methods, reason = "tests start the PostgreSQL server themselves")]
fn unprivileged(program: &OsStr, folder: &Path, as_root: bool) -> Command {
    let mut command = if as_root {
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={NOBODY}")).arg(format!("--regid={NOBODY}")).arg("--clear-groups");
        command.arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(folder).env("LC_ALL", "C").env("HOME", folder);
    command
}

fn initialise(bin: &Path, folder: &Path, as_root: bool) {
    let mut command = unprivileged(bin.join("initdb").as_os_str(), folder, as_root);
    command.args(["--auth=trust", "--username=freehold", "--encoding=UTF8", "--no-sync", "--pgdata"]);
    let output = command.arg(folder.join("data")).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run initdb in {}: {error}", bin.display()));
    if !output.status.success() {
        panic!("initdb failed: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Waits for its standard input to close, then stops the server at once and removes its folder. It ignores
/// the keyboard's interrupt, which reaches the tests and the server themselves.
const WATCHDOG: &str = r#"
trap '' INT HUP TERM
"$1/postgres" -D "$2/data" -c listen_addresses=127.0.0.1 -c port="$3" -c unix_socket_directories= \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400 \
    >"$2/log" 2>&1 </dev/null &
server=$!
read -r _
kill -QUIT "$server"
wait "$server"
cd / && rm -rf "$2"
"#;

fn start_with_watchdog(bin: &Path, folder: &Path, port: u16, as_root: bool) -> Child {
    let mut command = unprivileged(OsStr::new("sh"), folder, as_root);
    command.args(["-c", WATCHDOG, "freehold-test-postgres"]).arg(bin).arg(folder).arg(port.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| panic!("cannot start a PostgreSQL server: {error}"))
}

fn wait_until_ready(url: &str, folder: &Path, watchdog: &mut Child) {
    let started = Instant::now();
    let url = url.to_owned();
    loop {
        let url = url.clone();
        let answer = std::thread::spawn(move || Client::connect(&url, NoTls).map(drop)).join();
        if matches!(answer, Ok(Ok(()))) {
            return;
        }
        let has_ended = !matches!(watchdog.try_wait(), Ok(None));
        if has_ended || started.elapsed() > START_LIMIT {
            let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            panic!("the PostgreSQL server did not start: {log}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_takes_its_place_in_the_url() {
        assert_eq!(with_database("postgres://u@h:5/postgres?a=b", "x"), "postgres://u@h:5/x?a=b");
        assert_eq!(with_database("postgres://u@h", "x"), "postgres://u@h/x");
    }

    #[test]
    fn each_test_gets_an_empty_database_of_both_engines() {
        let urls = std::sync::Mutex::new(Vec::new());
        TestDatabase::each("urls", |url| urls.lock().unwrap().push(url.to_owned()));
        let urls = urls.into_inner().unwrap();
        assert!(urls[0].starts_with("sqlite:///"), "{urls:?}");
        assert!(urls[1].starts_with("postgres://"), "{urls:?}");
        let database = TestDatabase::postgres();
        let url = database.url().to_owned();
        assert!(Client::connect(&url, NoTls).is_ok());
        drop(database);
        assert!(Client::connect(&url, NoTls).is_err());
    }
}
