//! Planting: what a new worktree gets from the main checkout besides its tracked files.
//!
//! Only files that Git ignores are copied, in the main checkout and in the worktree alike, so that a copy never
//! becomes part of a commit by accident. Nothing is overwritten, nothing behind a link is read or written, and a
//! second run finds what the first one made. What was planted is told, so that a removal does not take it for
//! work: see [`PlantedFile::is_untouched`].

mod copy;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::command::path_from_bytes;
use crate::{Git, GitError};

pub use copy::PlantedFile;

/// The file of a repository that lists what is copied, in the syntax of `.gitignore`.
const INCLUDE_FILE: &str = ".worktreeinclude";
/// The most reasons for skipped files that are told.
const MAX_SKIPPED: usize = 100;

/// What to plant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantRequest {
    /// The main checkout.
    pub source: PathBuf,
    /// The worktree.
    pub worktree: PathBuf,
    /// Patterns in the syntax of `.gitignore`, beyond those that the repository lists itself.
    pub patterns: Vec<String>,
    /// Paths that become links into the main checkout, relative to its top.
    pub links: Vec<PathBuf>,
    /// How much is copied at most.
    pub limits: PlantLimits,
}

/// How much is copied at most; what is beyond is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlantLimits {
    /// The most files.
    pub files: usize,
    /// The most bytes.
    pub bytes: u64,
}

impl Default for PlantLimits {
    fn default() -> Self {
        Self { files: 5_000, bytes: 1 << 30 }
    }
}

/// What was planted, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planting {
    /// Files and links that are there now.
    pub planted: Vec<PlantedFile>,
    /// How many bytes the copied files have.
    pub copied_bytes: u64,
    /// What was not planted, with the reason; the first hundred.
    pub skipped: Vec<(PathBuf, String)>,
    /// How many were not planted.
    pub skipped_total: u64,
}

impl Planting {
    fn skip(&mut self, path: &Path, reason: impl Into<String>) {
        self.skipped_total += 1;
        if self.skipped.len() < MAX_SKIPPED {
            self.skipped.push((path.to_owned(), reason.into()));
        }
    }
}

impl Git {
    /// Copies ignored files and makes links; can be repeated.
    pub fn plant(&self, request: &PlantRequest) -> Result<Planting, GitError> {
        let mut planting = Planting::default();
        if self.is_bare(&self.common_dir(&request.worktree)?)? {
            for link in &request.links {
                planting.skip(link, "the repository has no main checkout");
            }
            return Ok(planting);
        }
        for link in &request.links {
            self.plant_link(request, link, &mut planting)?;
        }
        self.plant_copies(request, &mut planting)?;
        Ok(planting)
    }

    fn plant_link(
        &self,
        request: &PlantRequest,
        link: &Path,
        planting: &mut Planting,
    ) -> Result<(), GitError> {
        let is_inner = link.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inner || link.as_os_str().is_empty() || link.starts_with(".git") {
            planting.skip(link, "it does not name a place inside the repository");
            return Ok(());
        }
        let source = request.source.join(link);
        if source.symlink_metadata().is_err() {
            planting.skip(link, "nothing is there in the main checkout");
            return Ok(());
        }
        let tracked = self.read("listing the files of", &request.worktree);
        let tracked = tracked.args(["--literal-pathspecs", "ls-files", "-z", "--"]).arg(link).limit(1);
        if !tracked.output()?.stdout.is_empty() {
            planting.skip(link, "Git tracks files there");
            return Ok(());
        }
        match copy::link(&request.worktree, link, &source) {
            Ok(planted) => planting.planted.push(planted),
            Err(reason) => planting.skip(link, reason),
        }
        Ok(())
    }

    fn plant_copies(&self, request: &PlantRequest, planting: &mut Planting) -> Result<(), GitError> {
        let wanted = self.matching_files(request)?;
        if wanted.is_empty() {
            return Ok(());
        }
        let ignored = self.ignored_of(&request.source, &wanted)?;
        // Git refuses to say anything about a path behind a link.
        let is_reachable =
            |path: &&Vec<u8>| copy::first_link(&request.worktree, &path_from_bytes(path)).is_none();
        let reachable: Vec<Vec<u8>> = ignored.iter().filter(is_reachable).cloned().collect();
        let acceptable = self.ignored_of(&request.worktree, &reachable)?;
        let mut copied = 0;
        for path in ignored {
            let shown = path_from_bytes(&path);
            if planting.planted.iter().any(|link| link.is_link && shown.starts_with(&link.path)) {
                continue;
            }
            if path.ends_with(b"/") {
                planting.skip(&shown, "it is a repository of its own");
            } else if reachable.binary_search(&path).is_err() {
                planting.skip(&shown, "a link is on the way to it in the worktree");
            } else if acceptable.binary_search(&path).is_err() {
                planting.skip(&shown, "Git does not ignore it on this branch");
            } else if copied >= request.limits.files {
                planting.skip(&shown, format!("more than {} files are listed", request.limits.files));
            } else {
                let left = request.limits.bytes.saturating_sub(planting.copied_bytes);
                match copy::file(&request.source, &request.worktree, &shown, left) {
                    Ok((planted, bytes)) => {
                        copied += 1;
                        planting.copied_bytes += bytes;
                        planting.planted.push(planted);
                    }
                    Err(reason) => planting.skip(&shown, reason),
                }
            }
        }
        Ok(())
    }

    /// The files of the main checkout that Git does not track and that a pattern names.
    fn matching_files(&self, request: &PlantRequest) -> Result<Vec<Vec<u8>>, GitError> {
        let include = request.source.join(INCLUDE_FILE);
        let is_file = include.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_file && request.patterns.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = self.read("listing files to copy of", &request.source);
        command = command.args(["ls-files", "--others", "--ignored", "-z"]);
        if is_file {
            let mut option = std::ffi::OsString::from("--exclude-from=");
            option.push(&include);
            command = command.arg(option);
        }
        for pattern in &request.patterns {
            command = command.arg(format!("--exclude={pattern}"));
        }
        let listed = command.stdout()?;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }

    /// Those of the paths that Git ignores in a checkout, sorted.
    fn ignored_of(&self, checkout: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let command = self.read("asking what is ignored in", checkout);
        let command = command.args(["check-ignore", "-z", "--stdin"]).input(paths.join(&0));
        let answer = command.answer()?.unwrap_or_default();
        let mut ignored: Vec<Vec<u8>> =
            answer.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect();
        ignored.sort_unstable();
        Ok(ignored)
    }

    /// Whether Git ignores a path in a checkout.
    pub(crate) fn is_ignored(&self, checkout: &Path, path: &Path) -> Result<bool, GitError> {
        let path: &OsStr = path.as_os_str();
        Ok(!self.ignored_of(checkout, &[path.as_bytes().to_vec()])?.is_empty())
    }
}
