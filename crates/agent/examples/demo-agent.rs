//! The demo agent as a program of its own, so that tests talk to a real process.

use std::path::PathBuf;
use std::process::ExitCode;

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a program tells its failure on standard error")]
async fn main() -> ExitCode {
    let script = std::env::args_os().nth(1).map(PathBuf::from);
    let outcome = match script.map(|path| freehold_agent::load_demo_script(&path)).transpose() {
        Ok(script) => freehold_agent::run_demo_agent(script).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
