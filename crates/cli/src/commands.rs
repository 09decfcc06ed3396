//! One module per command; each reads as what the command does.

pub(crate) mod agent;
pub(crate) mod cleanup;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod demo_agent;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod openapi;
pub(crate) mod repo;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod storage;
pub(crate) mod task;
pub(crate) mod trash;
pub(crate) mod upgrade;
pub(crate) mod workspace;

use crate::arguments::{Arguments, Command, GlobalOptions, ServeOptions};
use crate::compose::Setup;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Output;

/// Carries out the command line.
pub(crate) fn run(arguments: Arguments, output: Output) -> Result<(), Failure> {
    let global = &arguments.global;
    let setup = || setup(global, output);
    match arguments.command {
        None => serve::run(&setup()?, &ServeOptions::default(), output),
        Some(Command::Serve(options)) => serve::run(&setup()?, &options, output),
        Some(Command::Repo(command)) => connected(&setup()?, |to| repo::run(to, command, output)),
        Some(Command::Task(command)) => connected(&setup()?, |to| task::run(to, command, output)),
        Some(Command::Session(command)) => connected(&setup()?, |to| session::run(to, command, output)),
        Some(Command::Agent(command)) => connected(&setup()?, |to| agent::run(to, command, output)),
        Some(Command::Workspace(command)) => connected(&setup()?, |to| workspace::run(to, &command, output)),
        Some(Command::Cleanup(command)) => connected(&setup()?, |to| cleanup::run(to, &command, output)),
        Some(Command::Trash(command)) => connected(&setup()?, |to| trash::run(to, &command, output)),
        Some(Command::Storage(command)) => connected(&setup()?, |to| storage::run(to, &command, output)),
        Some(Command::Demo(options)) => demo::run(&options, database_on_command_line(global), output),
        Some(Command::Upgrade(options)) => upgrade::run(&setup()?, &options, output),
        Some(Command::Import(command)) => import::run(&command, output),
        Some(Command::Doctor) => doctor::run(&setup()?, output),
        Some(Command::Completions { shell }) => completions::run(shell, output),
        Some(Command::Openapi) => openapi::run(output),
        Some(Command::DemoAgent { script }) => demo_agent::run(script.as_deref()),
    }
}

fn setup(global: &GlobalOptions, output: Output) -> Result<Setup, Failure> {
    let home = Home::locate(global.home.as_deref())?;
    let database = home.database(global.database.as_deref())?;
    Ok(Setup {
        home,
        database,
        is_database_named: global.database.is_some(),
        may_upgrade: false,
        agent_handshake_ms: global.agent_handshake_ms,
        retention_days: global.retention_days,
        idle_per_repository: global.idle_worktrees,
        automation_runs: global.keep_automation_runs,
        output,
    })
}

/// The database, when the command line itself names it: the demo leaves an archived task in it, so a variable
/// that is always set must not choose it.
fn database_on_command_line(global: &GlobalOptions) -> Option<&str> {
    global.database.as_deref().filter(|_| is_on_command_line(&["--database", "--db"]))
}

/// Whether an option was typed, and did not come from a variable.
fn is_on_command_line(options: &[&str]) -> bool {
    let mut words = std::env::args_os();
    words.any(|word| options.contains(&word.to_string_lossy().split('=').next().unwrap_or_default()))
}

/// Does something with a connection, which is closed in any case.
///
/// The work has a thread of its own: the main thread is the one that signals interrupt, for example when an
/// agent of an embedded server ends, and a read with a time limit does not survive that.
fn connected(
    setup: &Setup,
    work: impl FnOnce(&Connection) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    let connection = Connection::open(setup)?;
    let result = std::thread::scope(|scope| scope.spawn(|| work(&connection)).join());
    connection.close();
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
