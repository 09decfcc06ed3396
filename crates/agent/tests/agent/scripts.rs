//! Scripts: run to their end, within their time, and nothing of them is left.

use std::path::Path;
use std::time::{Duration, Instant};

use freehold_agent::{AgentCommand, ScriptEnd, ScriptLimits, run_script};
use tokio_util::sync::CancellationToken;

const LIMITS: ScriptLimits = ScriptLimits { time_ms: 20_000, stop_grace_ms: 200 };

fn shell(folder: &Path, script: &str) -> AgentCommand {
    let file = folder.join("script.sh");
    std::fs::write(&file, script).unwrap();
    let env = [("GREETING".to_owned(), "a; b $(c)".to_owned())].into();
    let args = vec![file.display().to_string()];
    AgentCommand { program: "sh".into(), args, env, cwd: folder.to_owned() }
}

async fn run(script: &str, limits: ScriptLimits, cancel: &CancellationToken) -> (ScriptEnd, String) {
    let folder = tempfile::tempdir().unwrap();
    let command = shell(folder.path(), script);
    let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
    let collect = async {
        let mut text = Vec::new();
        while let Some(chunk) = receiver.recv().await {
            text.extend(chunk);
        }
        String::from_utf8_lossy(&text).into_owned()
    };
    let (end, text) = tokio::join!(run_script(&command, limits, cancel, sender), collect);
    (end.unwrap(), text)
}

fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

#[tokio::test]
async fn a_script_tells_its_exit_code_and_all_it_printed_on_both_streams() {
    let cancel = CancellationToken::new();
    let (end, text) = run("echo \"$GREETING\"; echo oops >&2; cat; exit 7", LIMITS, &cancel).await;
    let ScriptEnd::Exited(report) = end else { panic!("{end:?}") };
    assert_eq!(report.code, Some(7));
    assert!(text.contains("a; b $(c)\n") && text.contains("oops\n"), "{text}");
}

#[tokio::test]
async fn much_output_is_carried_whole() {
    let cancel = CancellationToken::new();
    let (end, text) =
        run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done", LIMITS, &cancel).await;
    assert!(matches!(end, ScriptEnd::Exited(_)));
    assert_eq!(text.lines().count(), 20_000);
}

#[tokio::test]
async fn a_script_that_takes_too_long_is_ended_with_all_it_started() {
    let begun = Instant::now();
    let limits = ScriptLimits { time_ms: 300, stop_grace_ms: 100 };
    let script = "trap '' TERM; sleep 300 & echo $!; setsid sleep 300 & echo $!; wait; sleep 300";
    let (end, text) = run(script, limits, &CancellationToken::new()).await;
    assert_eq!(end, ScriptEnd::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(text.lines().count(), 2, "{text}");
    for pid in text.lines() {
        assert!(!is_alive(pid), "{pid} was left");
    }
}

#[tokio::test]
async fn a_script_that_is_cancelled_or_ends_leaves_nothing_in_the_background() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (end, _) = run("sleep 300", LIMITS, &cancel).await;
    assert_eq!(end, ScriptEnd::Cancelled);
    let (end, text) = run("sleep 300 & echo $!", LIMITS, &CancellationToken::new()).await;
    assert!(matches!(end, ScriptEnd::Exited(_)), "{end:?}");
    assert!(!is_alive(text.trim()), "{text} was left");
}
