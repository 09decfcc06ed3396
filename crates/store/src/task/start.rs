//! How a task gets its place in a repository, as columns of the repository's use.

use freehold_domain::repository::{FetchedRef, StartKind, WorkStart};

use crate::StoreError;
use crate::row::Fields;

/// The columns that hold a start; what does not belong to its kind is empty.
pub(super) struct Columns<'s> {
    pub(super) kind: StartKind,
    /// The existing branch, or the name that the new one gets.
    pub(super) checkout_branch: &'s str,
    pub(super) adopted_path: &'s str,
    pub(super) fetch_remote: &'s str,
    pub(super) fetch_ref: &'s str,
}

impl<'s> Columns<'s> {
    /// Takes a start apart.
    pub(super) fn of(start: &'s WorkStart) -> Self {
        let mut columns = Self {
            kind: StartKind::NewBranch,
            checkout_branch: "",
            adopted_path: "",
            fetch_remote: "",
            fetch_ref: "",
        };
        match start {
            WorkStart::NewBranch { name, fetched } => {
                columns.checkout_branch = name.as_deref().unwrap_or_default();
                if let Some(FetchedRef { remote, reference }) = fetched {
                    (columns.fetch_remote, columns.fetch_ref) = (remote, reference);
                }
            }
            WorkStart::ExistingBranch { branch } => {
                (columns.kind, columns.checkout_branch) = (StartKind::ExistingBranch, branch);
            }
            WorkStart::InPlace => columns.kind = StartKind::InPlace,
            WorkStart::Adopted { path } => {
                (columns.kind, columns.adopted_path) = (StartKind::Adopted, path);
            }
        }
        columns
    }
}

/// Reads the columns of a start, in the order of [`Columns`].
pub(super) fn read(fields: &mut Fields<'_>) -> Result<WorkStart, StoreError> {
    let kind: StartKind = fields.parse()?;
    let branch = Some(fields.text()?).filter(|branch| !branch.is_empty());
    let path = fields.text()?;
    let (remote, reference) = (fields.text()?, fields.text()?);
    let fetched = (!reference.is_empty()).then_some(FetchedRef { remote, reference });
    Ok(match (kind, branch) {
        // Rows of other programs name a branch when they mean one that is there.
        (StartKind::Unrecorded | StartKind::ExistingBranch, Some(branch)) => {
            WorkStart::ExistingBranch { branch }
        }
        (StartKind::ExistingBranch, None) => {
            return Err(fields.reject_last("existing_branch without a branch"));
        }
        (StartKind::Unrecorded | StartKind::NewBranch, name) => WorkStart::NewBranch { name, fetched },
        (StartKind::InPlace, _) => WorkStart::InPlace,
        (StartKind::Adopted, _) => WorkStart::Adopted { path },
    })
}
