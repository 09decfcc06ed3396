//! What shapes files besides the commit: settings, attributes, the mode mask. Two checkouts are alike only when
//! these were.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::evidence::Hash;
use crate::command::path_from_bytes;
use crate::{Git, GitError};

/// Keys that make a fresh worktree depend on more than can be compared, unless they are off.
const REFUSED: [&str; 10] = [
    "core.fsmonitor",
    "core.sparsecheckout",
    "core.splitindex",
    "core.untrackedcache",
    "core.worktree",
    "extensions.compatobjectformat",
    "extensions.worktreeconfig",
    "feature.manyfiles",
    "index.sparse",
    "submodule.recurse",
];

/// Programs of the repository that a fresh `git worktree add` runs.
const HOOKS: [&str; 3] = ["post-checkout", "reference-transaction", "post-index-change"];

/// A hash of everything that shapes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings(u64);

impl Settings {
    pub(super) const fn from_number(number: u64) -> Self {
        Self(number)
    }

    pub(super) const fn number(self) -> u64 {
        self.0
    }
}

/// Reads the settings of a repository, or the reason for which it does without idle worktrees.
pub(super) fn read(git: &Git, common_dir: &Path) -> Result<Result<Settings, String>, GitError> {
    let entries = configuration(git, common_dir)?;
    let (mut hooks, mut attributes) = (common_dir.join("hooks"), None);
    let mut hash = Hash::new();
    for (key, value) in &entries {
        if let Some(reason) = refusal(key, value) {
            return Ok(Err(reason));
        }
        hash = hash.bytes(key.as_bytes()).bytes(b"=").bytes(value).bytes(b"\0");
        let path = || expand(git, value);
        match key.as_str() {
            "core.hookspath" => match path() {
                Some(path) => hooks = path,
                None => return Ok(Err("the folder of its hooks depends on the worktree".into())),
            },
            "core.attributesfile" => match path() {
                Some(path) => attributes = Some(path),
                None => return Ok(Err("the file of its attributes depends on the worktree".into())),
            },
            _ => {}
        }
    }
    if let Some(hook) = HOOKS.iter().find(|hook| hooks.join(hook).exists()) {
        return Ok(Err(format!("it has a hook {hook}")));
    }
    if has_replacements(common_dir)? {
        return Ok(Err("it replaces objects".into()));
    }
    for file in attribute_files(git, common_dir, attributes) {
        let content = file.map(|file| content_of(&file)).transpose()?.unwrap_or_default();
        hash = hash.bytes(&content).bytes(b"\0");
    }
    let (mode, owner) = mask(git)?;
    hash = hash.bytes(&mode.to_le_bytes()).bytes(&owner.to_le_bytes()).bytes(git.version().as_bytes());
    Ok(Ok(Settings(hash.finish())))
}

/// Whether a checkout writes the bytes of a commit as they are, as far as settings and attributes outside of it say.
pub(super) fn keeps_bytes(git: &Git, common_dir: &Path) -> Result<bool, GitError> {
    let mut attributes = None;
    for (key, value) in configuration(git, common_dir)? {
        let is_off = matches!(value.to_ascii_lowercase().as_slice(), b"false" | b"no" | b"off" | b"0" | b"");
        match key.as_str() {
            "core.autocrlf" if !is_off => return Ok(false),
            "core.eol" => return Ok(false),
            "core.symlinks" | "core.filemode" if is_off => return Ok(false),
            "core.attributesfile" => attributes = expand(git, &value),
            _ => {}
        }
    }
    for file in attribute_files(git, common_dir, attributes).into_iter().flatten() {
        if !content_of(&file)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The files of attributes that no commit has.
fn attribute_files(git: &Git, common_dir: &Path, named: Option<PathBuf>) -> [Option<PathBuf>; 3] {
    let usual = || Some(config_home(git)?.join("git/attributes"));
    let system = Some(PathBuf::from("/etc/gitattributes"));
    [Some(common_dir.join("info/attributes")), named.or_else(usual), system]
}

/// Why a setting is one with which a repository does without.
fn refusal(key: &str, value: &[u8]) -> Option<String> {
    let is_off = matches!(value.to_ascii_lowercase().as_slice(), b"false" | b"no" | b"off" | b"0" | b"");
    let is_filter = key.starts_with("filter.")
        && (key.ends_with(".smudge") || key.ends_with(".process"))
        && !key.starts_with("filter.lfs.");
    let is_refused = (REFUSED.contains(&key) && !is_off)
        || key.starts_with("includeif.")
        || key.starts_with("hook.")
        || (key == "extensions.refstorage" && value != b"files")
        || is_filter;
    is_refused.then(|| format!("it has the setting {key}"))
}

/// Every key with its value, but for those of the command itself.
fn configuration(git: &Git, common_dir: &Path) -> Result<Vec<(String, Vec<u8>)>, GitError> {
    let command = git.read("reading the settings of", common_dir);
    let listed = command.args(["config", "--list", "--show-scope", "-z"]).stdout()?;
    let mut fields = listed.split(|byte| *byte == 0);
    let mut entries = Vec::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        if scope == b"command" {
            continue;
        }
        let (key, value) = match entry.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&entry[..at], &entry[at + 1..]),
            // A key without a value is a yes.
            None => (entry, &b"true"[..]),
        };
        // Git writes sections and names in lower case; a part in the middle stays as it is.
        entries.push((String::from_utf8_lossy(key).into_owned(), value.to_owned()));
    }
    Ok(entries)
}

/// An absolute path, with the home folder put in; none for any other.
fn expand(git: &Git, value: &[u8]) -> Option<PathBuf> {
    let path = match value.strip_prefix(b"~/") {
        Some(inside) => PathBuf::from(git.variable("HOME")?).join(path_from_bytes(inside)),
        None => path_from_bytes(value),
    };
    path.is_absolute().then_some(path)
}

fn config_home(git: &Git) -> Option<PathBuf> {
    let named = git.variable("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    named.map(PathBuf::from).or_else(|| Some(PathBuf::from(git.variable("HOME")?).join(".config")))
}

/// Whether objects are replaced by others, so that one commit may have had other files before.
fn has_replacements(common_dir: &Path) -> Result<bool, GitError> {
    const PLACE: &[u8] = b" refs/replace/";
    let is_loose =
        common_dir.join("refs/replace").read_dir().is_ok_and(|mut entries| entries.next().is_some());
    let packed = content_of(&common_dir.join("packed-refs"))?;
    Ok(is_loose || packed.windows(PLACE.len()).any(|window| window == PLACE))
}

fn content_of(file: &Path) -> Result<Vec<u8>, GitError> {
    match std::fs::read(file) {
        Ok(content) => Ok(content),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(GitError::io("reading", file)(error)),
    }
}

/// The mode and the owner that a new file gets; nothing can be asked for the mask without setting it.
fn mask(git: &Git) -> Result<(u32, u32), GitError> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let probe = git.scratch_dir().join(format!("mask-{}-{number}", std::process::id()));
    let opened = std::fs::File::create(&probe).and_then(|file| file.metadata());
    _ = std::fs::remove_file(&probe);
    let metadata = opened.map_err(GitError::io("writing", &probe))?;
    Ok((metadata.mode(), metadata.uid()))
}
