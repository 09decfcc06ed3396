//! Folders that are no worktrees: what a removal of one would lose, and the removal, which demands a seal.
//!
//! The order is that of a worktree, without registration and branch: lock, put back, look, compare with what the
//! seal saw, rename, look and compare where nobody finds the folder by its path, unlink.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::remove::{
    Site, empty_trash_of, entries_of, move_back, move_to_trash, refuse_changed_files, trash_entry, undecided,
};
use super::survey::survey_without;
use super::unlink::unlink_directory;
use super::{
    Assessment, Finding, FindingKind, Presence, RemovalError, RemovalOutcome, Remover, accepts, in_use,
    target,
};
use crate::seal::look_at_folder;
use crate::{Git, GitError, SealedFolder, failpoint};

/// A folder to be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderTarget {
    /// The repository that holds its seal.
    pub vault: PathBuf,
    /// The absolute path of the folder.
    pub path: PathBuf,
    /// The folder under which workspaces are made; the path must lie inside, with no link on the way, and what is
    /// removed goes through a trash folder in it.
    pub managed_root: PathBuf,
    /// Names at its top that are no part of it: the worktrees in it, which are given back before it.
    pub apart: Vec<OsString>,
    /// What a person agreed to lose, as it was found.
    pub accepted: Vec<Finding>,
}

impl FolderTarget {
    /// Whether a person agreed to lose exactly this.
    #[must_use]
    pub fn accepts(&self, finding: &Finding) -> bool {
        accepts(&self.accepted, finding)
    }

    fn site(&self) -> Site<'_> {
        Site { path: &self.path, managed_root: &self.managed_root }
    }
}

impl Remover {
    /// Tells what the removal of a folder would lose; changes nothing.
    pub fn assess_folder(target: &FolderTarget) -> Result<Assessment, GitError> {
        assess(target, false)
    }

    /// Removes a folder whose content is in a seal. It must still be as it was sealed, before and after it was moved
    /// away; otherwise it stays, or comes back, and the error says what changed.
    pub fn remove_folder(
        &self,
        target: &FolderTarget,
        sealed: &SealedFolder,
    ) -> Result<RemovalOutcome, RemovalError> {
        let lock = self.git.lock_repository_of(&target.vault)?;
        let outcome = remove(target, sealed);
        drop(lock);
        outcome
    }

    /// Ends the removal of a folder that is gone from its path: unlinks what an attempt that died left in the trash.
    pub fn finish_folder(&self, target: &FolderTarget) -> Result<RemovalOutcome, RemovalError> {
        let is_there = target.path.symlink_metadata().is_ok();
        let emptied = !is_there && empty_trash_of(&target.site())?;
        Ok(if emptied {
            RemovalOutcome::Removed { branch_removed: false }
        } else {
            RemovalOutcome::AlreadyGone
        })
    }

    /// Gives back the room of purged seals, where the repository is one for seals of folders only.
    pub fn compact_vault(&self, vault: &Path) -> Result<(), GitError> {
        let lock = self.git.lock_repository_of(vault)?;
        crate::vault::compact(&self.git, &lock)
    }
}

impl Git {
    /// Puts a folder back that a removal moved away without having looked at it once more; tells whether it did.
    pub fn put_back_folder(&self, target: &FolderTarget) -> Result<bool, GitError> {
        put_back(target)
    }
}

fn put_back(target: &FolderTarget) -> Result<bool, GitError> {
    if target.path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    match entries_of(&target.site(), undecided)?.as_slice() {
        [entry] => move_back(&target.site(), None, &entry.path).map(|()| true),
        _ => Ok(false),
    }
}

fn assess(target: &FolderTarget, is_sealed: bool) -> Result<Assessment, GitError> {
    target::guard_folder(&target.path, &target.managed_root, &target.vault)?;
    let mut assessment = Assessment {
        presence: Presence::Missing,
        head: None,
        findings: Vec::new(),
        found_elsewhere: Vec::new(),
    };
    if !target.managed_root.is_dir() {
        let path = target.managed_root.clone();
        assessment.findings.push(Finding::unknown(&GitError::PathMissing { path }));
        return Ok(assessment);
    }
    let occupied = match target::link_on_the_way(&target.path, &target.managed_root) {
        Some(link) => Some(link),
        None => match target.path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(assessment),
            other => {
                let metadata = other.map_err(GitError::io("looking at", &target.path))?;
                (!metadata.is_dir()).then(|| "it is no folder".to_owned())
            }
        },
    };
    if let Some(by) = occupied {
        let detail = format!("{} is not the folder that was made: {by}.", target.path.display());
        assessment.findings.push(Finding::new(FindingKind::Occupied, Vec::new(), detail));
        assessment.presence = Presence::Occupied { by };
        return Ok(assessment);
    }
    assessment.presence = Presence::Present;
    match findings(target) {
        Ok(found) => assessment.findings.extend(found),
        Err(error) => assessment.findings.push(Finding::unknown(&error)),
    }
    let is_settled = |finding: &Finding| {
        let is_held = is_sealed && finding.kind.is_sealable();
        is_held || target.accepts(finding)
    };
    assessment.findings.retain(|finding| !is_settled(finding));
    Ok(assessment)
}

fn findings(target: &FolderTarget) -> Result<Vec<Finding>, GitError> {
    let shown = |paths: Vec<PathBuf>| -> Vec<String> {
        paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
    };
    let work = look_at_folder(&target.path, &target.apart)?;
    let survey = survey_without(&target.path, &target.apart)?;
    let mut repositories = survey.repositories;
    repositories.extend(survey.bare_repositories);
    let top = |path: PathBuf| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path };
    let repositories: Vec<PathBuf> = repositories.into_iter().map(top).collect();
    let files = "Files are in no repository.";
    let nested = "Another repository or worktree is inside.";
    let mounts = "A directory inside is on another file system.";
    let found = [
        (FindingKind::Untracked, work, files),
        (FindingKind::NestedRepository, repositories, nested),
        (FindingKind::Unknown, survey.mounts, mounts),
    ];
    let some = found.into_iter().filter(|(_, paths, _)| !paths.is_empty());
    Ok(some.map(|(kind, paths, detail)| Finding::new(kind, shown(paths), detail)).collect())
}

fn remove(target: &FolderTarget, sealed: &SealedFolder) -> Result<RemovalOutcome, RemovalError> {
    put_back(target)?;
    let site = target.site();
    let mut assessment = assess(target, true)?;
    assessment
        .findings
        .extend(Finding::unsealed(sealed.witness()).filter(|finding| !target.accepts(finding)));
    let is_present = assessment.presence == Presence::Present;
    if is_present && assessment.is_safe() {
        assessment.findings.extend(in_use::after_a_moment(&target.path));
    }
    if !assessment.is_safe() {
        return Err(RemovalError::AtStake(assessment));
    }
    if is_present {
        let metadata = target.path.symlink_metadata().map_err(GitError::io("looking at", &target.path))?;
        refuse_changed(target, sealed, &target.path)?;
        failpoint!("git.folder.before_rename");
        let entry = move_to_trash(&site, metadata.ino())?;
        failpoint!("git.folder.moved");
        if let Err(error) = look_behind(target, sealed, &assessment, &entry) {
            move_back(&site, None, &entry)?;
            return Err(error);
        }
        // From here on the folder goes, whatever happens.
        let decided = trash_entry(&site, metadata.ino());
        std::fs::rename(&entry, &decided).map_err(GitError::io("moving in the trash", &entry))?;
        failpoint!("git.folder.after_rename");
        unlink_directory(&decided, None)?;
    }
    let emptied = empty_trash_of(&site)?;
    if target.path.symlink_metadata().is_ok() {
        return Err(GitError::StillThere { path: target.path.clone(), what: "the folder" }.into());
    }
    let is_removed = is_present || emptied;
    Ok(if is_removed {
        RemovalOutcome::Removed { branch_removed: false }
    } else {
        RemovalOutcome::AlreadyGone
    })
}

fn look_behind(
    target: &FolderTarget,
    sealed: &SealedFolder,
    assessment: &Assessment,
    entry: &Path,
) -> Result<(), RemovalError> {
    if let Some(finding) = in_use::after_a_moment(entry) {
        return Err(RemovalError::AtStake(Assessment { findings: vec![finding], ..assessment.clone() }));
    }
    refuse_changed(target, sealed, entry)
}

/// What stood apart is gone by now; anything that has its name is something else.
fn refuse_changed(target: &FolderTarget, sealed: &SealedFolder, top: &Path) -> Result<(), RemovalError> {
    if let Some(name) = target.apart.iter().find(|name| top.join(name).symlink_metadata().is_ok()) {
        return Err(RemovalError::Changed { path: name.into() });
    }
    refuse_changed_files(sealed.witness(), top)
}
