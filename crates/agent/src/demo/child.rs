//! The badly behaved child that the demo agent can start, to show that nothing of an execution is left.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::script::StubbornChild;

/// Ignores every polite signal, tells its number, and never ends. It keeps the agent's output open, too.
const STUBBORN: &str =
    r#"trap '' TERM HUP INT; echo $$ > "$1.new"; mv "$1.new" "$1"; while :; do sleep 1; done"#;

/// Starts the child and waits until it has written its number to the file.
pub(super) async fn spawn_stubborn(step: &StubbornChild, pid_file: &Path) -> std::io::Result<()> {
    launch(step, pid_file)?;
    for _ in 0..500 {
        if pid_file.exists() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the child did not tell its number"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the demo agent plays an agent that loses sight of its children"
)]
fn launch(step: &StubbornChild, pid_file: &Path) -> std::io::Result<()> {
    let mut command = if step.setsid {
        let mut command = std::process::Command::new("setsid");
        command.arg("sh");
        command
    } else {
        std::process::Command::new("sh")
    };
    if step.wipe_environment {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    }
    command.args(["-c", STUBBORN, "sh"]).arg(pid_file).stdin(Stdio::null()).spawn().map(drop)
}
