//! Reads seals: what they say of themselves, their files, and how these differ from the base commit.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::manifest::{FORMAT, Manifest};
use super::object::Id;
use super::tree::LINK;
use super::{ListedSeal, SPACE, Seal, SealError, SealedFile, SealedKind, reference};
use crate::command::{GitCommand, path_from_bytes};
use crate::diff::{self, Change};
use crate::{FileChange, FileDiff, Git, GitError, HeadState, Oid};

/// The parts of the tree of a seal that hold files. `staged/` and `objects/` only keep objects alive.
const PARTS: [&str; 6] = ["files", "ignored", "odd", "state", "index", "manifest.json"];

/// The largest manifest that is read: that of some million names.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;

/// A seal with everything that is known of it.
pub(super) struct Stored {
    pub(super) seal: Seal,
    pub(super) manifest: Manifest,
    /// The text of the commit.
    commit: Vec<u8>,
}

impl Stored {
    /// Whether another commit holds the same files and keeps the same commits alive, whenever it was made.
    pub(super) fn holds_same_as(&self, commit: &[u8]) -> bool {
        content_lines(&self.commit).eq(content_lines(commit))
    }
}

/// The lines of a commit that name its tree and its parents.
fn content_lines(commit: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = commit.split(|byte| *byte == b'\n');
    lines.take_while(|line| line.starts_with(b"tree ") || line.starts_with(b"parent "))
}

pub(super) fn commit_text(git: &Git, dir: &Path, commit: &Oid) -> Result<Vec<u8>, GitError> {
    git.read("reading a seal of", dir).args(["cat-file", "commit", commit.as_str()]).stdout()
}

/// Finds a seal, or says that there is none.
pub(super) fn find(git: &Git, repo: &Path, id: &str) -> Result<Stored, SealError> {
    let reference = reference(id)?;
    let damaged = |reason: &str| SealError::Damaged { id: id.to_owned(), reason: reason.to_owned() };
    let command = git.read("reading a seal of", repo).args(["cat-file", "--batch"]);
    let answer = command.input(format!("{reference}\n{reference}:manifest.json\n").into_bytes()).stdout()?;
    let mut answer = &answer[..];
    let (commit, text) = match next_object(&mut answer) {
        Some((commit, b"commit", text)) => (commit, text),
        Some(_) => return Err(damaged("it is no commit")),
        None => {
            let command = git.read("looking for a seal in", repo).args(["rev-parse", "--verify", "--quiet"]);
            let is_missing = command.arg(&reference).answer()?.is_none();
            let unknown = SealError::Unknown { id: id.to_owned() };
            return Err(if is_missing { unknown } else { damaged("its commit cannot be read") });
        }
    };
    let Some((_, b"blob", manifest)) = next_object(&mut answer) else {
        return Err(damaged("it has no manifest"));
    };
    let manifest = parse_manifest(manifest).map_err(|reason| damaged(&reason))?;
    let created_at_unix = committed_at(text).ok_or_else(|| damaged("its commit has no time"))?;
    let commit_id: Oid = String::from_utf8_lossy(commit).parse()?;
    let seal = seal_of(id, &commit_id, created_at_unix, &manifest)?;
    Ok(Stored { seal, manifest, commit: text.to_owned() })
}

/// Reads one answer: id, type and size in a line, then the bytes and a line break.
fn next_object<'a>(answer: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let mut words = answer[..end].split(|byte| *byte == b' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let size: usize = std::str::from_utf8(size).ok()?.parse().ok()?;
    let bytes = answer.get(end + 1..(end + 1).checked_add(size)?)?;
    *answer = answer.get(end + 2 + size..)?;
    Some((id, kind, bytes))
}

fn parse_manifest(bytes: &[u8]) -> Result<Manifest, String> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: u32,
    }
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err("its manifest is too large".to_owned());
    }
    let version: Version = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if version.format != FORMAT {
        return Err(format!("it has format {}, and this program reads format {FORMAT}", version.format));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

fn committed_at(commit: &[u8]) -> Option<i64> {
    let line = commit.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"committer "))?;
    std::str::from_utf8(line).ok()?.rsplit(' ').nth(1)?.parse().ok()
}

pub(super) fn seal_of(
    id: &str,
    commit: &Oid,
    created_at_unix: i64,
    manifest: &Manifest,
) -> Result<Seal, SealError> {
    Ok(Seal {
        id: id.to_owned(),
        commit: commit.clone(),
        created_at_unix: created_at_unix.max(0),
        path: path_from_bytes(&manifest.path.0),
        head: head_of(manifest)?,
        base: manifest.base.as_deref().map(str::parse).transpose()?,
        operation_in_progress: manifest.operation_in_progress.clone(),
        file_count: manifest.file_count,
        size_bytes: manifest.size_bytes,
        left_out: manifest.left_out.iter().map(|left| left.shown()).collect(),
    })
}

/// What was checked out. Only a folder may be without.
fn head_of(manifest: &Manifest) -> Result<Option<HeadState>, GitError> {
    match (manifest.head.state()?, &manifest.folder) {
        (None, None) => Err(GitError::InvalidOid { text: String::new() }),
        (head, _) => Ok(head),
    }
}

pub(super) fn list(git: &Git, repo: &Path) -> Result<Vec<ListedSeal>, SealError> {
    let operation = "listing the seals of";
    let command = git.read(operation, repo).args(["for-each-ref", "--sort=refname"]);
    let listed = command.args(["--format=%(refname) %(objectname) %(committerdate:unix)", SPACE]).stdout()?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let seal = |line: &str| {
        let mut fields = line.split(' ');
        let (name, commit, created_at) = (fields.next()?, fields.next()?, fields.next()?);
        let id = name.strip_prefix(SPACE)?.to_owned();
        Some(ListedSeal { id, commit: commit.parse().ok()?, created_at_unix: created_at.parse().ok()? })
    };
    // Only a commit has a time; anything else was put there by somebody and is no seal.
    let commits = listed.lines().filter(|line| !line.ends_with(' '));
    let seals: Option<Vec<ListedSeal>> = commits.map(seal).collect();
    Ok(seals.ok_or_else(|| GitError::Unreadable {
        operation,
        subject: repo.to_owned(),
        excerpt: listed.chars().take(200).collect(),
    })?)
}

/// One object of a seal under its path in the tree.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) path: Vec<u8>,
    pub(super) mode: u32,
    pub(super) id: Id,
    /// None where it is missing.
    pub(super) size: Option<u64>,
}

/// Everything that a seal holds, by path.
pub(super) fn leaves(git: &Git, dir: &Path, commit: &Oid) -> Result<Vec<Leaf>, GitError> {
    leaves_of(git, dir, commit, &PARTS)
}

/// Everything below these paths of a commit; everything at all when none is given.
pub(super) fn leaves_of(git: &Git, dir: &Path, commit: &Oid, parts: &[&str]) -> Result<Vec<Leaf>, GitError> {
    let operation = "listing a seal of";
    let unreadable = |line: &[u8]| GitError::Unreadable {
        operation,
        subject: dir.to_owned(),
        excerpt: String::from_utf8_lossy(line).chars().take(200).collect(),
    };
    let command = git.read(operation, dir).args(["ls-tree", "-r", "-l", "-z", "--full-tree"]);
    let command = command.arg(commit.as_str()).arg("--").args(parts);
    command.converse(
        |_| Ok(()),
        |output| {
            let mut leaves = Vec::new();
            for line in BufReader::new(output).split(0) {
                let line = line.map_err(GitError::io("reading about a seal of", dir))?;
                leaves.push(parse_leaf(&line).ok_or_else(|| unreadable(&line))?);
            }
            Ok(leaves)
        },
    )
}

/// Reads one line: mode, type, id and the padded size, a tab, and the path.
fn parse_leaf(line: &[u8]) -> Option<Leaf> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&line[..tab]).ok()?.split_ascii_whitespace();
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = Id::from_hex(fields.nth(1)?.as_bytes())?;
    Some(Leaf { path: line[tab + 1..].to_owned(), mode, id, size: fields.next()?.parse().ok() })
}

pub(super) fn files(git: &Git, repo: &Path, id: &str) -> Result<Vec<SealedFile>, SealError> {
    let Stored { seal, manifest, .. } = find(git, repo, id)?;
    let untracked: HashSet<&[u8]> = manifest.untracked.iter().map(|path| &path.0[..]).collect();
    let odd: BTreeMap<&[u8], (&[u8], bool)> =
        manifest.odd.iter().map(|odd| (odd.name.as_bytes(), (&odd.path.0[..], odd.is_ignored))).collect();
    let mut files = Vec::new();
    for leaf in leaves(git, repo, &seal.commit)? {
        let (path, is_ignored) = if let Some(path) = leaf.path.strip_prefix(b"files/") {
            (path, false)
        } else if let Some(path) = leaf.path.strip_prefix(b"ignored/") {
            (path, true)
        } else if let Some(found) = leaf.path.strip_prefix(b"odd/").and_then(|name| odd.get(name)) {
            *found
        } else {
            continue;
        };
        let kind = match is_ignored {
            true => SealedKind::Ignored,
            false if untracked.contains(path) => SealedKind::Untracked,
            false => SealedKind::Tracked,
        };
        let size_bytes = leaf.size.unwrap_or(0);
        files.push(SealedFile { path: path_from_bytes(path), size_bytes, kind, is_link: leaf.mode == LINK });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The two sides of a seal that are compared.
struct Comparison<'a> {
    git: &'a Git,
    repo: &'a Path,
    base: String,
    files: String,
    changes: BTreeMap<Vec<u8>, Change>,
}

impl<'a> Comparison<'a> {
    fn new(git: &'a Git, repo: &'a Path, id: &str) -> Result<Self, SealError> {
        let Stored { seal, manifest, .. } = find(git, repo, id)?;
        let empty = match seal.commit.as_str().len() {
            64 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
            _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        };
        let base = seal.base.as_ref().or(seal.head.as_ref().and_then(HeadState::tip));
        let base = base.map_or(empty, Oid::as_str).to_owned();
        let files = format!("{}:files", seal.commit);
        let command = git.read("looking into a seal of", repo).args(["rev-parse", "--verify", "--quiet"]);
        // A seal without files has no folder for them.
        let files = if command.arg(&files).answer()?.is_some() { files } else { empty.to_owned() };
        let mut comparison = Self { git, repo, base, files, changes: BTreeMap::new() };
        let untracked = manifest.untracked.into_iter().map(|path| path.0).collect();
        comparison.changes = diff::changes(comparison.diff(), repo, &untracked)?;
        Ok(comparison)
    }

    fn diff(&self) -> GitCommand {
        let command = self.git.read("comparing a seal of", self.repo);
        // The attributes of the sealed files say which of them are text.
        let source = self.git.is_at_least(2, 43).then(|| format!("--attr-source={}", self.files));
        diff::diff(command.args(source)).args([&self.base, &self.files])
    }
}

pub(super) fn changes(git: &Git, repo: &Path, id: &str) -> Result<Vec<FileChange>, SealError> {
    Ok(Comparison::new(git, repo, id)?.changes.values().map(Change::shown).collect())
}

pub(super) fn file_diff(git: &Git, repo: &Path, id: &str, path: &str) -> Result<FileDiff, SealError> {
    let mut comparison = Comparison::new(git, repo, id)?;
    let changes = std::mem::take(&mut comparison.changes);
    Ok(diff::file_diff(changes, || comparison.diff(), repo, path)?)
}

/// Reads objects one after the other, in the order in which they are asked for.
pub(super) fn each_object(
    git: &Git,
    dir: &Path,
    ids: &[Id],
    mut call: impl FnMut(usize, u64, &mut dyn Read) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let operation = "reading a seal of";
    let failed = || GitError::io(operation, dir);
    let command =
        git.read(operation, dir).args(["cat-file", "--batch=%(objecttype) %(objectsize)", "--buffer"]);
    command.converse(
        |input| {
            let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
            input.write_all(lines.as_bytes()).map_err(GitError::io("asking for a seal of", dir))
        },
        |output| {
            let mut output = BufReader::with_capacity(1 << 16, output);
            for number in 0..ids.len() {
                let mut line = Vec::new();
                output.read_until(b'\n', &mut line).map_err(failed())?;
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                let size = text.strip_prefix("blob ").and_then(|size| size.parse().ok());
                let size: u64 = size.ok_or_else(|| GitError::Unreadable {
                    operation,
                    subject: dir.to_owned(),
                    excerpt: text.chars().take(200).collect(),
                })?;
                let mut object = output.by_ref().take(size);
                call(number, size, &mut object)?;
                std::io::copy(&mut object, &mut std::io::sink()).map_err(failed())?;
                output.read_exact(&mut [0]).map_err(failed())?;
            }
            Ok(())
        },
    )
}
