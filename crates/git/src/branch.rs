//! Branches: which there are, what a name leads to, and a valid, unused name from any title.

use std::path::Path;

use crate::command::GitCommand;
use crate::{Git, GitError, Oid};

/// A branch that a task can start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its name, for example `main` or `origin/main`.
    pub name: String,
    /// Whether it is a remote-tracking branch.
    pub is_remote: bool,
    /// Its tip.
    pub commit: Oid,
    /// When its tip was committed, in seconds since 1970.
    pub committed_at_unix: i64,
}

/// A name and the commit it led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartPoint {
    /// The name as it was given.
    pub name: String,
    /// The commit.
    pub commit: Oid,
}

/// The longest branch name made here, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// How much of a title goes into a branch name, in bytes.
const MAX_SLUG_BYTES: usize = 48;

impl Git {
    /// Lists local and remote-tracking branches, the most recent first.
    pub fn list_branches(&self, repo: &Path) -> Result<Vec<Branch>, GitError> {
        let format = "--format=%(objectname) %(committerdate:unix) %(symref) %(refname)";
        let command = GitCommand::read(repo, "for-each-ref").args([format, "--sort=-committerdate"]);
        let text = command.args(["refs/heads", "refs/remotes"]).run()?;
        let text = String::from_utf8_lossy(&text);
        Ok(text.lines().filter_map(parse_branch).collect())
    }

    /// Resolves a branch, remote branch, tag or commit to the commit it names.
    pub fn resolve_start(&self, repo: &Path, name: &str) -> Result<StartPoint, GitError> {
        let is_plain = !name.is_empty() && !name.starts_with('-') && !name.contains(['\0', '\n']);
        if is_plain {
            let wanted = format!("{name}^{{commit}}");
            let command =
                GitCommand::read(repo, "rev-parse").args(["--verify", "--quiet", "--end-of-options"]);
            let (output, _) = command.arg(wanted).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            if output.status.success()
                && let Ok(commit) = text.trim().parse()
            {
                return Ok(StartPoint { name: name.to_owned(), commit });
            }
        }
        Err(GitError::UnknownStart {
            repo: repo.to_owned(),
            near_names: self.near_names(repo, name)?,
            name: name.chars().take(200).collect(),
        })
    }

    /// Names of branches and tags that hold the given word, or are held by it; at most five.
    fn near_names(&self, repo: &Path, name: &str) -> Result<Vec<String>, GitError> {
        let wanted = name.to_lowercase();
        let names =
            self.ref_names(repo, &["--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"])?;
        let is_near = |other: &String| {
            let other = other.to_lowercase();
            let start: String = wanted.chars().take(3).collect();
            other.contains(&wanted) || wanted.contains(&other) || (start.len() == 3 && other.contains(&start))
        };
        Ok(names.into_iter().filter(is_near).take(5).collect())
    }

    /// Makes a branch name from any title: valid, at most 200 bytes, and in no conflict with the refs there
    /// are, whatever the case of letters. `suffix` tells tasks of the same title apart.
    pub fn unused_branch_name(
        &self,
        repo: &Path,
        prefix: &str,
        title: &str,
        suffix: &str,
    ) -> Result<String, GitError> {
        let taken = self.ref_names(repo, &["--format=%(refname:lstrip=2)", "refs/heads"])?;
        let taken: Vec<String> = taken.into_iter().map(|name| name.to_lowercase()).collect();
        let stem = format!("{}-{}", slug(title), slug(suffix));
        let prefixes = [slug_prefix(prefix), slug_prefix(prefix).replace('/', "-")];
        let numbered = (1..).flat_map(|number| {
            let stem = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
            prefixes.clone().map(|prefix| format!("{prefix}{stem}"))
        });
        let free = numbered.into_iter().find(|name| !conflicts(&name.to_lowercase(), &taken));
        Ok(free.unwrap_or(stem))
    }

    /// Whether a local branch is there.
    pub(crate) fn has_branch(&self, repo: &Path, branch: &str) -> Result<bool, GitError> {
        let full = format!("refs/heads/{branch}");
        GitCommand::read(repo, "show-ref").args(["--verify", "--quiet", &full]).run_question()
    }
}

fn parse_branch(line: &str) -> Option<Branch> {
    let mut parts = line.splitn(4, ' ');
    let commit = parts.next()?.parse().ok()?;
    let committed_at_unix = parts.next()?.parse().unwrap_or(0);
    let is_alias = !parts.next()?.is_empty();
    let full = parts.next()?;
    let (name, is_remote) = match full.strip_prefix("refs/heads/") {
        Some(name) => (name, false),
        None => (full.strip_prefix("refs/remotes/")?, true),
    };
    (!is_alias).then(|| Branch { name: name.to_owned(), is_remote, commit, committed_at_unix })
}

/// Reduces a text to lower-case letters, digits and single hyphens; never empty, never a device's name.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        let next = if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        if next != '-' || !(slug.is_empty() || slug.ends_with('-')) {
            slug.push(next);
        }
        if slug.len() == MAX_SLUG_BYTES {
            break;
        }
    }
    match slug.trim_matches('-') {
        "" => "task".to_owned(),
        slug => slug.to_owned(),
    }
}

/// Reduces each part of a prefix such as `freehold/`; a prefix that is none stays empty.
fn slug_prefix(prefix: &str) -> String {
    let (parts, end) = match prefix.strip_suffix('/') {
        Some(parts) => (parts, "/"),
        None => (prefix, "-"),
    };
    if parts.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = parts.split('/').filter(|part| !part.is_empty()).map(slug).collect();
    let joined: String = parts.join("/").chars().take(MAX_NAME_BYTES - 2 * MAX_SLUG_BYTES - 16).collect();
    format!("{}{end}", joined.trim_end_matches(['/', '-']))
}

/// Whether a name is taken, lies under a taken name, or would be a folder of one.
fn conflicts(name: &str, taken: &[String]) -> bool {
    taken.iter().any(|other| {
        let under =
            |short: &str, long: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('/'));
        other == name || under(other, name) || under(name, other)
    })
}
