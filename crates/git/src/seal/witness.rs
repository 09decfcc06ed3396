//! What was on disk when a seal was taken: the proof, moments later, that the seal still holds all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Seal;
use super::content::Content;
use super::disk::{Known, Look};
use super::object::Format;
use super::take::Record;
use crate::command::path_from_bytes;
use crate::{Git, GitError, Oid};

/// A seal together with what the worktree was like when it was taken. Only who holds it can give the worktree
/// back with work in it; it is never stored, so that a removal that was cut short seals again.
#[derive(Debug)]
pub struct SealedWorktree {
    /// The seal.
    pub seal: Seal,
    witness: Witness,
}

impl SealedWorktree {
    pub(super) const fn new(seal: Seal, witness: Witness) -> Self {
        Self { seal, witness }
    }

    /// The first file that differs from what was sealed, relative to the top, which may have been moved since.
    pub(crate) fn changed_file(&self, top: &Path) -> Result<Option<PathBuf>, GitError> {
        let witness = &self.witness;
        let look = witness.look_again(top)?;
        let changed = match witness.look.difference(&look) {
            Some(path) => Some(path),
            None => witness.content.changed_item(top, witness.format, &look)?,
        };
        Ok(changed.map(|path| path_from_bytes(&path)))
    }

    /// The commit that is checked out, when there is nothing but tracked files, with no settings of the worktree's
    /// own: what it can become a part of then shows nobody what another one left.
    #[must_use]
    pub fn clean_commit(&self) -> Option<&Oid> {
        let Witness { untracked, submodules, look, content, record, .. } = &self.witness;
        let is_plain = untracked.is_empty() && submodules.is_empty();
        let has_more = !look.left.is_empty() || !content.left_out.is_empty() || content.has_untracked();
        (is_plain && !has_more && !record.has_settings()).then(|| self.seal.head.as_ref()?.tip()).flatten()
    }

    /// Whether HEAD, index, refs and state files are as they were sealed.
    pub(crate) fn has_same_record(&self, git: &Git, registration: &Path) -> Result<bool, GitError> {
        Ok(Record::read(git, registration)? == self.witness.record)
    }
}

/// Everything by which a second look is compared with the first.
#[derive(Debug)]
pub(super) struct Witness {
    tracked: Vec<Vec<u8>>,
    submodules: BTreeSet<Vec<u8>>,
    untracked: BTreeSet<Vec<u8>>,
    disposable: Vec<String>,
    ignored: BTreeMap<Vec<u8>, bool>,
    apart: BTreeSet<Vec<u8>>,
    look: Look,
    record: Record,
    content: Content,
    format: Format,
}

impl Witness {
    pub(super) fn new(
        known: &Known<'_>,
        look: Look,
        record: Record,
        content: Content,
        format: Format,
    ) -> Self {
        Self {
            tracked: known.tracked.iter().map(|path| path.to_vec()).collect(),
            submodules: known.submodules.iter().map(|path| path.to_vec()).collect(),
            untracked: known.untracked.iter().map(|path| path.to_vec()).collect(),
            disposable: known.disposable.to_vec(),
            ignored: known.ignored.clone(),
            apart: known.apart.clone(),
            look,
            record,
            content,
            format,
        }
    }

    /// Looks at everything as the first look did; a directory that is new among the disposable ones differs.
    fn look_again(&self, top: &Path) -> Result<Look, GitError> {
        let tracked: Vec<&[u8]> = self.tracked.iter().map(Vec::as_slice).collect();
        let submodules = self.submodules.iter().map(Vec::as_slice).collect();
        let untracked = self.untracked.iter().map(Vec::as_slice).collect();
        let known = Known {
            tracked: &tracked,
            submodules: &submodules,
            untracked: &untracked,
            disposable: &self.disposable,
            ignored: self.ignored.clone(),
            apart: &self.apart,
        };
        Look::take(top, &known)
    }
}
