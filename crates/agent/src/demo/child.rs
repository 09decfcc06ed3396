//! The badly behaved child that the demo agent can start, to show that nothing of an execution is left.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Ignores every polite signal, tells its number, and never ends. It keeps the agent's output open, too.
const STUBBORN: &str =
    r#"trap '' TERM HUP INT; echo $$ > "$1.new"; mv "$1.new" "$1"; while :; do sleep 1; done"#;

/// Starts the child and waits until it has written its number to the file.
pub(super) async fn spawn_stubborn(pid_file: &Path, leaves_session: bool) -> std::io::Result<()> {
    launch(pid_file, leaves_session)?;
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
fn launch(pid_file: &Path, leaves_session: bool) -> std::io::Result<()> {
    let mut command = if leaves_session {
        let mut command = std::process::Command::new("setsid");
        command.arg("sh");
        command
    } else {
        std::process::Command::new("sh")
    };
    command.args(["-c", STUBBORN, "sh"]).arg(pid_file).stdin(Stdio::null()).spawn().map(drop)
}
