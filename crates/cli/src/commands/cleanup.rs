//! `freehold cleanup`: cleanup jobs, and the decisions that some of them wait for.

use std::time::Duration;

use freehold_api::cleanup::{CleanupDecision, CleanupJob, CleanupQuery, Stake};

use crate::arguments::CleanupCommand;
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, one_line, short, table};

const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// How many names of a stake are shown.
const SHOWN_ITEMS: usize = 10;

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: &CleanupCommand, output: Output) -> Result<(), Failure> {
    match command {
        CleanupCommand::List { waiting } => {
            let state = waiting.then(|| "needs_decision".to_owned());
            let jobs = connection.client.cleanup_jobs(&CleanupQuery { task_id: None, state })?;
            output.answer(&jobs, || listed(&jobs))
        }
        CleanupCommand::Retry { job } => decide(connection, job, "retry", output),
        CleanupCommand::Keep { job } => decide(connection, job, "keep", output),
        CleanupCommand::Discard { job, confirm } => discard(connection, job, confirm.as_deref(), output),
    }
}

fn decide(connection: &Connection, job: &str, decision: &str, output: Output) -> Result<(), Failure> {
    let job = lookup::cleanup_job(&connection.client, job)?;
    let request = CleanupDecision { decision: decision.to_owned(), phrase: None };
    let job = connection.client.decide_cleanup_job(&job.id, &request)?;
    wait_and_show(connection, job, output)
}

/// Asks for the phrase where a person can be asked and did not give it.
fn discard(connection: &Connection, job: &str, confirm: Option<&str>, output: Output) -> Result<(), Failure> {
    let job = lookup::cleanup_job(&connection.client, job)?;
    let phrase = match (confirm, &job.discard_phrase) {
        (Some(phrase), _) => phrase.to_owned(),
        (None, Some(phrase)) if output.can_ask() => {
            output.note("This is lost for good:");
            output.note(&job.stakes.iter().map(stake_text).collect::<Vec<_>>().join("\n"));
            output.ask(&format!("Type {phrase:?} to lose it: "))?
        }
        (None, _) => String::new(),
    };
    let request = CleanupDecision { decision: "discard".to_owned(), phrase: Some(phrase) };
    let job = connection.client.decide_cleanup_job(&job.id, &request)?;
    wait_and_show(connection, job, output)
}

/// Waits until a cleanup job has ended or waits for something, and shows how; only success and a cleanup that
/// was called off are no failure.
pub(crate) fn wait_and_show(connection: &Connection, job: CleanupJob, output: Output) -> Result<(), Failure> {
    let job = at_rest(connection, job)?;
    match job.state.as_str() {
        "succeeded" => output.answer(&job, || given_back(&job)),
        "cancelled" => output.answer(&job, || format!("Called off: {} keeps its workspace.", job.task_title)),
        "needs_decision" => Err(needs_decision(&job)),
        "retry_wait" => {
            let message = format!("the workspace could not be given back yet: {}", job.last_error);
            let hint = format!(
                "it is tried again while a server runs; look with: freehold cleanup list, or try now: freehold cleanup retry {}",
                short(&job.id)
            );
            Err(Failure::new(Exit::Failure, "cleanup_retries", message).hint(hint).subject(job.id))
        }
        _ => {
            let message = format!("the workspace could not be given back: {}", job.last_error);
            let hint = format!("try again: freehold cleanup retry {}", short(&job.id));
            Err(Failure::new(Exit::Failure, "cleanup_failed", message).hint(hint).subject(job.id))
        }
    }
}

/// As [`wait_and_show`], for jobs of one request; the first that did not end well is told.
pub(crate) fn wait_and_show_all(
    connection: &Connection,
    jobs: Vec<CleanupJob>,
    output: Output,
) -> Result<(), Failure> {
    let mut ended = Vec::new();
    for job in jobs {
        ended.push(at_rest(connection, job)?);
    }
    let unfinished = ended.iter().find(|job| !matches!(job.state.as_str(), "succeeded" | "cancelled"));
    match unfinished {
        Some(job) => wait_and_show(connection, job.clone(), output),
        None => output.answer(&ended, || match ended.as_slice() {
            [] => "Done: no task was closed.".to_owned(),
            ended => ended.iter().map(given_back).collect::<Vec<_>>().join("\n"),
        }),
    }
}

pub(crate) fn at_rest(connection: &Connection, mut job: CleanupJob) -> Result<CleanupJob, Failure> {
    while matches!(job.state.as_str(), "prepared" | "pending" | "running") {
        std::thread::sleep(LOOK_PAUSE);
        job = connection.client.cleanup_job(&job.id)?;
    }
    Ok(job)
}

fn given_back(job: &CleanupJob) -> String {
    if matches!(job.trigger.as_str(), "trash_purge" | "quarantine_purge") {
        return format!("Done: {} is gone for good.", job.task_title);
    }
    if !job.kept_path.is_empty() {
        return format!("Done: agents were stopped; {} is yours and stays as it is.", job.kept_path);
    }
    if job.worktree_paths.is_empty() {
        return format!("Done: {} had no workspace to give back.", job.task_title);
    }
    let given_back = format!("Done: {} was given back.", job.worktree_paths.join(", "));
    let id = short(&job.task_id);
    match job.trigger.as_str() {
        "archive" | "automation_retention" => format!("{given_back}\nUndo: freehold task unarchive {id}"),
        "delete" => format!("{given_back}\nUndo: freehold trash restore {id}"),
        _ => given_back,
    }
}

fn needs_decision(job: &CleanupJob) -> Failure {
    let stakes = job.stakes.iter().map(stake_text).collect::<Vec<_>>().join("\n");
    let message = format!("no seal holds this, so nothing was removed:\n{stakes}");
    let id = short(&job.id);
    let discard = job.discard_phrase.as_ref().map(|phrase| {
        format!("\n  or lose it for good:           freehold cleanup discard {id} --confirm '{phrase}'")
    });
    let hint = format!(
        "move it elsewhere, then:       freehold cleanup retry {id}\n  \
         or keep task and workspace:    freehold cleanup keep {id}{}",
        discard.unwrap_or_default()
    );
    let mut failure = Failure::new(Exit::NeedsDecision, "needs_decision", message);
    failure.body.stakes.clone_from(&job.stakes);
    failure.hint(hint).subject(job.id.clone())
}

/// A stake as lines for people.
pub(crate) fn stake_text(stake: &Stake) -> String {
    let mut text = format!("  {}\n    {}", stake.worktree_path, stake.detail);
    for item in stake.items.iter().take(SHOWN_ITEMS) {
        text.push_str(&format!("\n    - {item}"));
    }
    let shown = stake.items.len().min(SHOWN_ITEMS);
    let rest = stake.total.saturating_sub(u64::try_from(shown).unwrap_or(u64::MAX));
    if rest > 0 && shown > 0 {
        text.push_str(&format!("\n    and {rest} more"));
    }
    text
}

fn listed(jobs: &[CleanupJob]) -> String {
    let row = |job: &CleanupJob| {
        let CleanupJob { id, task_id, task_title, trigger, state, .. } = job;
        let title = one_line(task_title, 40);
        vec![
            short(id).to_owned(),
            trigger.clone(),
            state.clone(),
            short(task_id).to_owned(),
            title,
            reason(job),
        ]
    };
    let rows = jobs.iter().map(row).collect();
    table(&["id", "trigger", "state", "task", "title", "reason"], rows, "There is no cleanup job.")
}

fn reason(job: &CleanupJob) -> String {
    match job.stakes.first() {
        Some(stake) => one_line(&stake.detail, 60),
        None => one_line(&job.last_error, 60),
    }
}
