//! What a registration holds beside HEAD and index: operations in progress, reflog, settings of the worktree.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::manifest::{ParkedBranch, WorktreeRef};
use super::object::{Format, Id};
use crate::command::commit_of;
use crate::registration::{HIDDEN, read_if_present};
use crate::{Git, GitError};

/// What belongs to the registration as such and is made anew, is kept elsewhere in the seal, or is not the
/// worktree's.
const OWN: [&str; 9] =
    ["HEAD", "commondir", "gitdir", HIDDEN, "index", "locked", "modules", "reftable", RESTORED_FROM];

/// The file in which a restored registration names its seal.
pub(super) const RESTORED_FROM: &str = "freehold-restored-from";

/// Files that name a branch to which an operation in progress goes back.
const PARKED: [&str; 3] = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];

/// The state files of a registration, by path, with their bytes.
pub(super) type StateFiles = BTreeMap<Vec<u8>, Vec<u8>>;

/// Reads all state files.
pub(super) fn files(registration: &Path) -> Result<StateFiles, GitError> {
    let mut files = StateFiles::new();
    let mut open = vec![(Vec::new(), registration.to_owned())];
    while let Some((prefix, directory)) = open.pop() {
        let entries = directory.read_dir().map_err(GitError::io("listing", &directory))?;
        for entry in entries {
            let entry = entry.map_err(GitError::io("listing", &directory))?;
            let name = entry.file_name();
            let is_own = prefix.is_empty() && OWN.iter().any(|own| name == *own);
            if is_own || name.as_bytes().ends_with(b".lock") {
                continue;
            }
            let path = [&prefix[..], name.as_bytes()].concat();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(([&path[..], b"/"].concat(), entry.path())),
                Ok(kind) if kind.is_file() => {
                    if let Some(bytes) = read_if_present(&entry.path())? {
                        files.insert(path, bytes);
                    }
                }
                // A socket of a file-system monitor.
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(GitError::io("looking at", &entry.path())(error)),
            }
        }
    }
    Ok(files)
}

/// The refs that only this worktree sees, where the repository keeps refs in tables and not in files.
pub(super) fn refs(git: &Git, registration: &Path) -> Result<Vec<WorktreeRef>, GitError> {
    if !registration.join("reftable").is_dir() {
        return Ok(Vec::new());
    }
    let command = git.read("listing the refs of", registration).args(["for-each-ref", "--include-root-refs"]);
    let listed = command.arg("--format=%(refname) %(objectname)").stdout()?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let refs = listed.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| {
        let is_private = ["bisect", "worktree", "rewritten"].iter().any(|space| {
            name.strip_prefix("refs/").is_some_and(|name| name.starts_with(&format!("{space}/")))
        });
        is_private || !(name.starts_with("refs/") || *name == "HEAD")
    });
    Ok(refs.map(|(name, commit)| WorktreeRef { name: name.to_owned(), commit: commit.to_owned() }).collect())
}

/// The branches to which an operation in progress goes back, with their commits.
pub(super) fn parked(
    git: &Git,
    registration: &Path,
    files: &StateFiles,
) -> Result<Vec<ParkedBranch>, GitError> {
    let mut parked: Vec<ParkedBranch> = Vec::new();
    for file in PARKED {
        let Some(bytes) = files.get(file.as_bytes()) else { continue };
        let text = String::from_utf8_lossy(bytes);
        let name = text.trim();
        let full = if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") };
        let Some(branch) = full.strip_prefix("refs/heads/") else { continue };
        if let Some(commit) = commit_of(git, registration, &full)?
            && !parked.iter().any(|other| other.branch == branch)
        {
            parked.push(ParkedBranch { branch: branch.to_owned(), commit: commit.to_string() });
        }
    }
    Ok(parked)
}

/// Every full object id that the state files mention.
pub(super) fn mentioned(files: &StateFiles, format: Format) -> Vec<Id> {
    let length = format.length() * 2;
    let words = files.values().flat_map(|bytes| bytes.split(|byte| !byte.is_ascii_alphanumeric()));
    let mut ids: Vec<Id> = words.filter(|word| word.len() == length).filter_map(Id::from_hex).collect();
    ids.retain(|id| !id.is_zero());
    ids.sort_unstable();
    ids.dedup();
    ids
}
