//! What an upgrade must not guess, said so that a person can answer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

/// A question that only a person can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// What to name it by in an answer, for example `owner:3f2a…`; the same at every attempt.
    pub id: String,
    /// What kind of question it is.
    pub kind: ConflictKind,
    /// The worktree in question.
    pub worktree_id: String,
    /// The rows that contradict one another, each with the answer that lets it win.
    pub claims: Vec<ConflictClaim>,
}

/// What kind of question a conflict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Claims of equal rank by several tasks, or in several places of one task.
    Owner,
    /// Sessions that still run remember different paths or branches of one worktree.
    Data,
    /// A row names a worktree that nothing else knows, and its session is gone.
    Orphan,
}

/// One row of a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConflictClaim {
    /// The answer that decides for this row.
    pub choice: String,
    /// The table and id of the row.
    pub row: String,
    /// The task, when there is one.
    pub task_id: String,
    /// The task's title.
    pub task_title: String,
    /// The repository.
    pub repository_id: String,
    /// The branch slug, empty for the first branch.
    pub branch_slug: String,
    /// The worktree's path according to the row.
    pub path: String,
    /// The worktree's branch according to the row.
    pub branch: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worktree = plain(&self.worktree_id);
        match self.kind {
            ConflictKind::Owner => writeln!(
                f,
                "{}\n  worktree {worktree} has more than one owner, and nothing says which is right",
                self.id
            )?,
            ConflictKind::Data => writeln!(
                f,
                "{}\n  sessions that did not end remember worktree {worktree} at different places",
                self.id
            )?,
            ConflictKind::Orphan => writeln!(
                f,
                "{}\n  no row that could own worktree {worktree} knows it; the session of this one is gone",
                self.id
            )?,
        }
        for claim in &self.claims {
            write!(f, "{claim}")?;
            writeln!(f, "    to choose it:  --resolve {}={}", self.id, claim.choice)?;
        }
        Ok(())
    }
}

impl fmt::Display for ConflictClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none =
            |text: &str| if text.is_empty() { "(none)".to_owned() } else { plain(text).into_owned() };
        match self.choice.as_str() {
            RECORD => writeln!(f, "  - keep it on disk and record it as a worktree without owner")?,
            _ if self.task_id.is_empty() => writeln!(f, "  - no task")?,
            _ => writeln!(f, "  - task {:?} ({})", self.task_title, self.task_id)?,
        }
        let slug = if self.branch_slug.is_empty() {
            String::new()
        } else {
            format!("/{}", plain(&self.branch_slug))
        };
        writeln!(f, "    row         {}", plain(&self.row))?;
        writeln!(f, "    repository  {}{slug}", or_none(&self.repository_id))?;
        writeln!(f, "    path        {}", or_none(&self.path))?;
        writeln!(f, "    branch      {}", or_none(&self.branch))
    }
}

/// A text of the database on one line, so that none can look like a line of the report.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match text.contains(char::is_control) {
        true => text.escape_debug().to_string().into(),
        false => text.into(),
    }
}

/// The answer to an orphan: its worktree is recorded as one without owner.
pub(super) const RECORD: &str = "record";

/// A person's answers: choices by the ids of conflicts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolutions {
    choices: BTreeMap<String, String>,
}

/// Says what is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidResolution {
    /// Not of the form `CONFLICT=CHOICE`.
    #[error("{0:?} is not an answer: write CONFLICT=CHOICE, as `freehold upgrade --plan` prints it")]
    Form(String),
    /// One conflict is answered twice.
    #[error("{0} is answered twice")]
    Twice(String),
    /// There is no such conflict.
    #[error("there is no conflict {0} in this database; `freehold upgrade --plan` lists the ones there are")]
    NoConflict(String),
    /// The conflict has no such choice.
    #[error("{conflict} cannot be answered with {choice:?}; its choices are {choices}")]
    NoChoice {
        /// The conflict.
        conflict: String,
        /// The answer given.
        choice: String,
        /// The answers it has.
        choices: String,
    },
}

impl Resolutions {
    /// Reads answers of the form `CONFLICT=CHOICE`.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, InvalidResolution> {
        let mut choices = BTreeMap::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let pair =
                text.rsplit_once('=').filter(|(conflict, choice)| !conflict.is_empty() && !choice.is_empty());
            let (conflict, choice) = pair.ok_or_else(|| InvalidResolution::Form(text.to_owned()))?;
            if choices.insert(conflict.to_owned(), choice.to_owned()).is_some() {
                return Err(InvalidResolution::Twice(conflict.to_owned()));
            }
        }
        Ok(Self { choices })
    }

    /// Whether nothing was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// The answer to a conflict.
    pub(super) fn choice(&self, conflict: &str) -> Option<&str> {
        self.choices.get(conflict).map(String::as_str)
    }

    /// Every answer, by the id of its conflict.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.choices.iter().map(|(conflict, choice)| (conflict.as_str(), choice.as_str()))
    }

    /// Fails when an answer fits none of the conflicts that came up.
    pub(super) fn check(&self, asked: &[Conflict]) -> Result<(), InvalidResolution> {
        for (id, choice) in &self.choices {
            let claims: Vec<&str> = asked
                .iter()
                .filter(|conflict| conflict.id == *id)
                .flat_map(|conflict| &conflict.claims)
                .map(|claim| claim.choice.as_str())
                .collect();
            if claims.is_empty() {
                return Err(InvalidResolution::NoConflict(id.clone()));
            }
            if !claims.contains(&choice.as_str()) {
                let choices: BTreeSet<&str> = claims.into_iter().collect();
                return Err(InvalidResolution::NoChoice {
                    conflict: id.clone(),
                    choice: choice.clone(),
                    choices: choices.into_iter().collect::<Vec<_>>().join(", "),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_its_conflict_and_its_choice() {
        let resolutions = Resolutions::parse(&["owner:a=b=row-1"]).unwrap();
        assert_eq!(resolutions.choice("owner:a=b"), Some("row-1"));
        for wrong in ["owner", "=x", "owner:a="] {
            assert!(matches!(Resolutions::parse(&[wrong]), Err(InvalidResolution::Form(_))), "{wrong}");
        }
        let twice = Resolutions::parse(&["a=1", "a=2"]).unwrap_err();
        assert_eq!(twice.to_string(), "a is answered twice");
        let unknown = Resolutions::parse(&["a=1"]).unwrap().check(&[]).unwrap_err();
        assert!(unknown.to_string().starts_with("there is no conflict a "), "{unknown}");
    }
}
