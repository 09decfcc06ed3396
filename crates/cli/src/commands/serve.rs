//! `freehold serve`: the server in the foreground, until it is told to end.

use std::path::Path;

use serde::Serialize;

use crate::arguments::ServeOptions;
use crate::compose::{EndSignals, RunningServer, Setup};
use crate::connection::{Connection, runtime};
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::program::open_browser;
use crate::sample;
use crate::temporary;

/// What a program learns once the server is healthy.
#[derive(Debug, Serialize)]
struct Started<'a> {
    address: String,
    url: &'a str,
    token: &'a str,
}

/// Carries out the command.
pub(crate) fn run(setup: &Setup, options: &ServeOptions, output: Output) -> Result<(), Failure> {
    let setup = &Setup { may_upgrade: !options.no_upgrade, ..setup.clone() };
    let runtime = runtime()?;
    let server = runtime.block_on(RunningServer::start(setup, options.port))?;
    let signals = runtime.block_on(async { EndSignals::listen() })?;
    let result = announce(setup, options, output, &server);
    if result.is_ok() {
        runtime.block_on(signals.wait());
        output.note("\nStopping: agents end, nothing is lost.");
    }
    runtime.block_on(server.stop());
    result
}

/// Says that the server is healthy, to whoever reads the terminal and to the other commands.
fn announce(
    setup: &Setup,
    options: &ServeOptions,
    output: Output,
    server: &RunningServer,
) -> Result<(), Failure> {
    server.announce(&setup.database)?;
    if let Some(folder) = temporary::around(setup.home.root()) {
        output.note(&format!(
            "The home folder is in {}, which the system may empty: workspaces may be gone after a restart. \
             Choose another with --home.",
            folder.display()
        ));
    }
    if options.sample
        && let Some(connection) = Connection::find(setup)?
        && connection.client.repositories()?.is_empty()
    {
        sample::register(&connection, &setup.home.sample())?;
    }
    let url = format!("http://{}/#token={}", server.address(), server.token());
    let started = Started { address: server.address().to_string(), url: &url, token: server.token() };
    output.answer(&started, || welcome(setup, output, &url))?;
    if !options.no_open && !output.is_json() && !open_browser(&url) {
        output.note("No browser could be opened here: open the address above yourself.");
    }
    Ok(())
}

fn welcome(setup: &Setup, output: Output, url: &str) -> String {
    let home = setup.home.root();
    format!(
        "{title}\n\n  {url}\n\n  \
         home      {home}\n  \
         database  {database}\n  \
         token     in {token} and in the address above; who has it may do everything here\n\n\
         Try it in another terminal:  freehold{home_option} task new 'Say hello' --wait\n\
         Stop with Ctrl-C.",
        title = output.paint(Tone::Strong, "Freehold is running."),
        home = home.display(),
        database = setup.database,
        token = home.join("token").display(),
        home_option = home_option(home),
    )
}

/// The option that the other commands need to find this home folder.
fn home_option(home: &Path) -> String {
    match crate::home::Home::locate(None) {
        Ok(usual) if usual.root() == home => String::new(),
        _ => format!(" --home {}", home.display()),
    }
}
