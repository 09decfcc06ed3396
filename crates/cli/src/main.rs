//! The binary `freehold`: reads the command line, carries it out, and says how it ended.

mod arguments;
mod commands;
mod compose;
mod connection;
mod conversation;
mod duration;
mod failure;
mod home;
mod initialise;
mod lookup;
mod made_repository;
mod output;
mod program;
mod sample;
mod temporary;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use arguments::{Arguments, Command};
use failure::{Exit, Failure};
use output::Output;

fn main() -> ExitCode {
    #[cfg(feature = "failpoints")]
    let _failpoints = fail::FailScenario::setup();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let output = Output::new(arguments.global.json);
    let filter = arguments.global.log.clone().unwrap_or_else(|| usual_filter(&arguments).to_owned());
    let result = log_to_standard_error(&filter).and_then(|()| commands::run(arguments, output));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit.code())
        }
    }
}

/// Says what is wrong with the command line; asking for help or the version is not wrong.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_json = std::env::args_os().any(|argument| argument == "--json");
    if error.use_stderr() && is_json {
        let message = error.render().to_string();
        let message = message.trim_end().trim_start_matches("error: ");
        Output::new(true).failure(&Failure::new(Exit::Usage, "usage", message));
    } else {
        // It fails when nobody reads it, and then there is nobody to tell.
        let _ = error.print();
    }
    if error.use_stderr() { ExitCode::from(Exit::Usage.code()) } else { ExitCode::SUCCESS }
}

/// What is logged when nobody says: a server tells what went wrong inside; any other command tells how it ended
/// itself, and its standard error must be nothing but JSON when that was asked for.
fn usual_filter(arguments: &Arguments) -> &'static str {
    match arguments.command {
        // The protocol's library warns of every request that an agent does not know.
        None | Some(Command::Serve(_)) => "warn,agent_client_protocol=error",
        _ if arguments.global.json => "off",
        _ => "error",
    }
}

fn log_to_standard_error(filter: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::new(Exit::Usage, "invalid_log_filter", format!("the log filter cannot be used: {error}"))
            .hint("for example --log info, or --log freehold_engine=debug,warn")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(output::colours(&std::io::stderr())).init();
    Ok(())
}
