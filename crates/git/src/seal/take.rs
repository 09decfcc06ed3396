//! Takes a seal: look, write, read back, look again; the seal gets its name when all of it agrees.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::content::{Content, Gathered, Sources};
use super::disk::{Known, Look, Stat, Time};
use super::index_file::{self, IndexEntry};
use super::layout::{empty_directories, permissions, place_of, put_files, put_staged};
use super::manifest::{FORMAT, Manifest, ManifestHead, ManifestLeftOut, OddFile, WorktreeRef};
use super::object::{Format, Id, Kind, id_of};
use super::pack::Objects;
use super::path_text::PathText;
use super::state::{self, StateFiles};
use super::tree::{FILE, Folder, SUBMODULE, TREE};
use super::witness::{SealedWorktree, Witness};
use super::{Seal, SealError, SealRequest, SealedKind, folder, read, reference};
use crate::command::path_from_bytes;
use crate::head::operation_in_progress;
use crate::lock::RepositoryLock;
use crate::registration::{self, Occupant};
use crate::{Git, GitError, HeadState, Oid, failpoint};

/// How often a workspace that changes meanwhile is looked at, and how long it is left alone in between; longer
/// each time.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// The most commits that are kept alive beside HEAD.
const MAX_PARENTS: usize = 1_000;

pub(super) fn seal(git: &Git, request: &SealRequest) -> Result<SealedWorktree, SealError> {
    let reference = reference(&request.id)?;
    if !request.path.is_absolute() {
        return Err(GitError::RelativePath { path: request.path.clone() }.into());
    }
    let lock = git.lock_repository_of(&request.repo)?;
    let registration = match registration::occupant(lock.common_dir(), &request.path)? {
        Occupant::Worktree(registration, _) => registration.dir,
        Occupant::Nothing => return Err(GitError::PathMissing { path: request.path.clone() }.into()),
        Occupant::Unlinked(_) => {
            let by = "a directory without a registration is there".to_owned();
            return Err(GitError::Occupied { path: request.path.clone(), by }.into());
        }
        Occupant::Other(by) => {
            return Err(GitError::Occupied { path: request.path.clone(), by }.into());
        }
    };
    let begun = begun_at(&lock)?;
    let apart = BTreeSet::from([b".git".to_vec()]);
    let registration = Some(registration.as_path());
    Attempt { git, request, reference: &reference, registration, apart: &apart, lock: &lock, begun }.take()
}

/// Seals a folder that is no worktree into a repository that was made for it, without what stands apart in it.
pub(super) fn seal_folder(
    git: &Git,
    request: &SealRequest,
    apart: &BTreeSet<Vec<u8>>,
) -> Result<SealedWorktree, SealError> {
    let reference = reference(&request.id)?;
    let lock = git.lock_repository_of(&request.repo)?;
    let begun = begun_at(&lock)?;
    Attempt { git, request, reference: &reference, registration: None, apart, lock: &lock, begun }.take()
}

/// The time on the file system, as the lock was just written.
fn begun_at(lock: &RepositoryLock) -> Result<Time, GitError> {
    let written =
        lock.file().metadata().map_err(GitError::io("looking at the lock of", lock.common_dir()))?;
    Ok(Stat::from(&written).mtime)
}

enum Outcome {
    Sealed(Box<SealedWorktree>),
    /// This changed meanwhile.
    Changed(Vec<u8>),
}

/// One try to seal a workspace.
struct Attempt<'a> {
    git: &'a Git,
    request: &'a SealRequest,
    reference: &'a str,
    /// None for a folder that is no worktree.
    registration: Option<&'a Path>,
    /// What stands at its top and is none of it.
    apart: &'a BTreeSet<Vec<u8>>,
    lock: &'a RepositoryLock,
    begun: Time,
}

/// What the registration says at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    head: Option<HeadState>,
    index: Option<Vec<u8>>,
    state: StateFiles,
    refs: Vec<WorktreeRef>,
}

impl Record {
    /// Whether the worktree has settings, hooks or attributes of its own.
    pub(super) fn has_settings(&self) -> bool {
        let is_one = |path: &[u8]| {
            path == b"config.worktree" || [&b"info/"[..], b"hooks/"].iter().any(|it| path.starts_with(it))
        };
        self.state.keys().any(|path| is_one(path))
    }

    pub(super) fn read(git: &Git, registration: &Path) -> Result<Self, GitError> {
        Ok(Self {
            head: Some(git.head(registration)?),
            index: registration::read_if_present(&registration.join("index"))?,
            state: state::files(registration)?,
            refs: state::refs(git, registration)?,
        })
    }
}

/// What is known when everything was read and nothing is written.
struct Draft {
    record: Record,
    content: Content,
    manifest: Manifest,
    root: Folder,
    objects: Objects,
    /// What may be a commit that must stay alive, and is none of the files.
    mentioned: Vec<Id>,
    format: Format,
}

impl Attempt<'_> {
    /// Tries until everything is still for the time of one try.
    fn take(&self) -> Result<SealedWorktree, SealError> {
        let mut pause = PAUSE;
        let mut changed = Vec::new();
        let mut trusts_index = true;
        for number in 1..=ATTEMPTS {
            match self.run(trusts_index) {
                Ok(Outcome::Sealed(sealed)) => return Ok(*sealed),
                Ok(Outcome::Changed(path)) => changed = path,
                // The index may speak of a file as it was under attributes of the past: read every file.
                Err(SealError::Unverified { .. }) if trusts_index => {
                    trusts_index = false;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if number < ATTEMPTS {
                std::thread::sleep(pause);
                pause *= 2;
            }
        }
        Err(SealError::Changing { worktree: self.request.path.clone(), path: path_from_bytes(&changed) })
    }

    /// What the registration says; nothing for a folder.
    fn record(&self) -> Result<Record, GitError> {
        self.registration.map_or_else(|| Ok(Record::default()), |at| Record::read(self.git, at))
    }

    fn run(&self, trusts_index: bool) -> Result<Outcome, SealError> {
        let record = self.record()?;
        let (format, converts) = self.settings(&record)?;
        let written = self.registration.and_then(|at| std::fs::metadata(at.join("index")).ok());
        let index_written = written.map(|metadata| Stat::from(&metadata).mtime);
        let index = index_file::entries(self.git, &self.request.path, record.index.as_deref(), format)?;
        let untracked = self.untracked()?;
        let untracked: BTreeSet<&[u8]> = untracked.iter().map(|path| &path[..]).collect();
        let tracked: Vec<&[u8]> = index.iter().map(|entry| &entry.path[..]).collect();
        let submodules = index.iter().filter(|entry| entry.mode == SUBMODULE);
        let submodules = submodules.map(|entry| &entry.path[..]).collect();
        let mut known = Known {
            tracked: &tracked,
            submodules: &submodules,
            untracked: &untracked,
            disposable: &self.request.disposable,
            ignored: BTreeMap::new(),
            apart: self.apart,
        };
        let look = loop {
            let look = Look::take(&self.request.path, &known)?;
            let judged = self.judge(&look.unjudged)?;
            let is_complete = judged.values().all(|is_ignored| *is_ignored);
            known.ignored.extend(judged);
            if is_complete {
                break Look { unjudged: BTreeSet::new(), ..look };
            }
        };
        // No ignore file speaks of a folder: everything in it is work.
        let is_folder = self.registration.is_none();
        let of_folder: BTreeSet<&[u8]> = look.files().filter(|_| is_folder).map(|path| &path[..]).collect();
        let untracked = if is_folder { &of_folder } else { &untracked };
        let sources = Sources {
            git: self.git,
            request: self.request,
            format,
            index: &index,
            index_written: index_written.filter(|_| trusts_index && !converts),
            untracked,
            limits_untracked: is_folder,
            begun: self.begun,
        };
        let content = match sources.gather(&look, &known)? {
            Gathered::Content(content) => content,
            Gathered::Changed(path) => return Ok(Outcome::Changed(path)),
        };
        let mut draft = self.draft(record, content, &look, &index, format)?;
        let commit = match self.write(&mut draft)? {
            Written::Commit(commit) => commit,
            Written::Changed(path) => {
                return Ok(Outcome::Changed(path.into_os_string().into_encoded_bytes()));
            }
        };
        failpoint!("git.seal.after_objects");
        self.verify(&draft, &commit)?;
        failpoint!("git.seal.before_second_look");
        let again = Look::take(&self.request.path, &known)?;
        if let Some(path) = look.difference(&again) {
            return Ok(Outcome::Changed(path));
        }
        if let Some(path) = draft.content.changed_item(&self.request.path, format, &again)? {
            return Ok(Outcome::Changed(path));
        }
        if self.record()? != draft.record {
            return Ok(Outcome::Changed(b".git".to_vec()));
        }
        let seal = self.publish(&draft, &commit)?;
        let witness = Witness::new(&known, again, draft.record, draft.content, format);
        Ok(Outcome::Sealed(Box::new(SealedWorktree::new(seal, witness))))
    }

    /// How objects are named, and whether a setting lets Git change bytes on their way into the index.
    fn settings(&self, record: &Record) -> Result<(Format, bool), GitError> {
        let subject = self.registration.map_or_else(|| self.lock.common_dir(), |_| &self.request.path);
        let command = self.git.read("reading the settings of", subject);
        let pattern = r"^(core\.autocrlf|extensions\.objectformat|filter\..*\.(clean|process))$";
        let answer = command.args(["config", "-z", "--get-regexp", pattern]).answer()?.unwrap_or_default();
        let (mut format, mut converts_lines, mut has_filter) = (Format::Sha1, false, false);
        for line in answer.split(|byte| *byte == 0) {
            let mut parts = line.splitn(2, |byte| *byte == b'\n');
            match (parts.next(), parts.next()) {
                (Some(b"core.autocrlf"), value) => converts_lines = value != Some(b"false"),
                (Some(b"extensions.objectformat"), Some(b"sha256")) => format = Format::Sha256,
                (Some(name), _) if name.starts_with(b"filter.") => has_filter = true,
                _ => {}
            }
        }
        let is_long =
            record.head.as_ref().and_then(HeadState::tip).is_some_and(|tip| tip.as_str().len() == 64);
        Ok((if is_long { Format::Sha256 } else { format }, converts_lines || has_filter))
    }

    /// The files that Git neither tracks nor ignores. A repository inside ends with a slash and is none.
    fn untracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        if self.registration.is_none() {
            return Ok(Vec::new());
        }
        let command = self.git.read("listing the untracked files of", &self.request.path);
        let listed = command.args(["ls-files", "-o", "-z", "--exclude-standard"]).stdout()?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !path.ends_with(b"/"));
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// Asks Git which of these directories it ignores; those of a folder speak for themselves.
    fn judge(&self, directories: &BTreeSet<Vec<u8>>) -> Result<BTreeMap<Vec<u8>, bool>, GitError> {
        if directories.is_empty() {
            return Ok(BTreeMap::new());
        }
        if self.registration.is_none() {
            return Ok(folder::judge(&self.request.path, directories));
        }
        let mut input = Vec::new();
        for directory in directories {
            input.extend_from_slice(directory);
            input.push(0);
        }
        let command = self.git.read("looking for ignored folders of", &self.request.path);
        let command = command.args(["check-ignore", "--stdin", "-z", "--no-index"]).input(input);
        let answer = command.answer()?.unwrap_or_default();
        let ignored: HashSet<&[u8]> = answer.split(|byte| *byte == 0).collect();
        Ok(directories.iter().map(|path| (path.clone(), ignored.contains(&path[..]))).collect())
    }

    fn draft(
        &self,
        record: Record,
        content: Content,
        look: &Look,
        index: &[IndexEntry],
        format: Format,
    ) -> Result<Draft, SealError> {
        let mut objects = Objects::default();
        let mut root = Folder::default();
        let odd = put_files(&self.request.path, &content, &mut root, &mut objects);
        put_staged(index, &mut root, &mut objects, format);
        let mut put_bytes = |root: &mut Folder, path: &[u8], bytes: &[u8]| {
            let id = id_of(format, Kind::Blob, bytes);
            objects.add(id, Kind::Blob, bytes.to_owned());
            root.put(path, FILE, id);
        };
        if let Some(bytes) = &record.index {
            put_bytes(&mut root, b"index", bytes);
        }
        for (path, bytes) in &record.state {
            put_bytes(&mut root, &[b"state/", &path[..]].concat(), bytes);
        }
        let manifest = self.manifest(&record, &content, look, odd)?;
        let text = serde_json::to_vec_pretty(&manifest).map_err(|error| SealError::Unverified {
            id: self.request.id.clone(),
            reason: error.to_string(),
        })?;
        put_bytes(&mut root, b"manifest.json", &text);
        let mut mentioned = state::mentioned(&record.state, format);
        let parked = manifest.parked.iter().map(|parked| &parked.commit);
        let refs = record.refs.iter().map(|reference| &reference.commit);
        let named = parked.chain(refs).filter_map(|commit| Id::from_hex(commit.as_bytes()));
        mentioned.extend(named.chain(self.request.base.as_ref().map(Id::from)));
        Ok(Draft { record, content, manifest, root, objects, mentioned, format })
    }

    fn manifest(
        &self,
        record: &Record,
        content: &Content,
        look: &Look,
        odd: Vec<OddFile>,
    ) -> Result<Manifest, GitError> {
        let untracked = content.items.iter().filter(|item| item.kind == SealedKind::Untracked);
        let left_out = content.left_out.iter().map(|(path, size_bytes, reason)| ManifestLeftOut {
            path: PathText(path.clone()),
            size_bytes: *size_bytes,
            reason: *reason,
        });
        Ok(Manifest {
            format: FORMAT,
            path: PathText(self.request.path.as_os_str().as_encoded_bytes().to_owned()),
            head: ManifestHead::of(record.head.as_ref()),
            base: self.request.base.as_ref().map(Oid::to_string),
            operation_in_progress: self.registration.and_then(operation_in_progress).map(str::to_owned),
            file_count: content.items.len() as u64,
            size_bytes: content.items.iter().map(|item| item.size).sum(),
            parked: match self.registration {
                Some(registration) => state::parked(self.git, registration, &record.state)?,
                None => Vec::new(),
            },
            refs: record.refs.clone(),
            has_index: record.index.is_some(),
            permissions: permissions(content, look),
            empty_directories: empty_directories(content, look),
            untracked: untracked.map(|item| PathText(item.path.clone())).collect(),
            odd,
            left_out: left_out.collect(),
            folder: match self.registration {
                Some(_) => None,
                None => Some(folder::record(&self.request.path)?),
            },
        })
    }

    /// Writes every object that the repository does not have, and the commit that holds all of them.
    fn write(&self, draft: &mut Draft) -> Result<Written, SealError> {
        // Made once to learn which folders there are, so that Git is asked for everything at once.
        draft.root.finish(draft.format, &mut draft.objects);
        let mut asked: Vec<Id> = draft.objects.ids().collect();
        asked.extend(&draft.mentioned);
        let mut present = self.present(&asked)?;
        // Git knows the empty file without having it; a seal has what it refers to.
        present.remove(&id_of(draft.format, Kind::Blob, b""));
        let tip = draft.record.head.as_ref().and_then(HeadState::tip);
        let mut parents: Vec<Id> = tip.map(Id::from).into_iter().collect();
        for id in &draft.mentioned {
            match present.get(id) {
                Some(Kind::Commit) if !parents.contains(id) && parents.len() < MAX_PARENTS => {
                    parents.push(*id);
                }
                Some(Kind::Blob) => draft.root.folder(b"objects").put(id.to_string().as_bytes(), FILE, *id),
                Some(Kind::Tree) => draft.root.folder(b"objects").put(id.to_string().as_bytes(), TREE, *id),
                _ => {}
            }
        }
        let tree = draft.root.finish(draft.format, &mut draft.objects);
        let commit = commit_text(tree, &parents, self.request);
        let id = id_of(draft.format, Kind::Commit, commit.as_bytes());
        draft.objects.add(id, Kind::Commit, commit.into_bytes());
        draft.objects.remove_present(&present.into_keys().collect::<HashSet<_>>());
        if let Some(path) = draft.objects.store(self.git, draft.format, self.lock)? {
            let path = path.strip_prefix(&self.request.path).unwrap_or(&path).to_owned();
            return Ok(Written::Changed(path));
        }
        Ok(Written::Commit(id.oid()?))
    }

    /// Which of these objects the repository has.
    fn present(&self, ids: &[Id]) -> Result<HashMap<Id, Kind>, GitError> {
        let dir = self.lock.common_dir();
        let command = self.git.read("looking for objects in", dir);
        let command = command.args(["cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer"]);
        command.converse(
            |input| {
                let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
                input.write_all(lines.as_bytes()).map_err(GitError::io("asking for objects of", dir))
            },
            |output| {
                let mut present = HashMap::new();
                for line in std::io::BufReader::new(output).split(b'\n') {
                    let line = line.map_err(GitError::io("reading about objects of", dir))?;
                    let mut words = line.splitn(2, |byte| *byte == b' ');
                    let id = words.next().and_then(Id::from_hex);
                    let kind = match words.next() {
                        Some(b"commit") => Some(Kind::Commit),
                        Some(b"tree") => Some(Kind::Tree),
                        Some(b"blob") => Some(Kind::Blob),
                        _ => None,
                    };
                    present.extend(id.zip(kind));
                }
                Ok(present)
            },
        )
    }

    /// Reads the seal back: every file under its path, with the id and the size that it has on disk.
    fn verify(&self, draft: &Draft, commit: &Oid) -> Result<(), SealError> {
        let unverified = |reason: String| SealError::Unverified { id: self.request.id.clone(), reason };
        let mut expected: BTreeMap<Vec<u8>, (Id, Option<u64>)> = BTreeMap::new();
        draft.root.each_leaf(&mut |path, id| {
            if !path.starts_with(b"staged/") && !path.starts_with(b"objects/") {
                expected.insert(path.to_owned(), (id, None));
            }
        });
        let mut odd = draft.manifest.odd.iter();
        for item in &draft.content.items {
            let path = place_of(item).unwrap_or_else(|| {
                let name = odd.next().map(|odd| odd.name.clone()).unwrap_or_default();
                [b"odd/", name.as_bytes()].concat()
            });
            expected.insert(path, (item.id, Some(item.size)));
        }
        let read = read::leaves(self.git, self.lock.common_dir(), commit)?;
        if read.len() != expected.len() {
            return Err(unverified(format!("it has {} files instead of {}", read.len(), expected.len())));
        }
        for leaf in read {
            let is_same = expected
                .get(&leaf.path)
                .is_some_and(|(id, size)| *id == leaf.id && size.is_none_or(|size| leaf.size == Some(size)));
            if !is_same {
                return Err(unverified(format!("{:?} differs", String::from_utf8_lossy(&leaf.path))));
            }
        }
        Ok(())
    }

    /// Gives the seal its name. One that is there already is taken when it holds the same.
    fn publish(&self, draft: &Draft, commit: &Oid) -> Result<Seal, SealError> {
        failpoint!("git.seal.before_ref");
        let dir = self.lock.common_dir();
        let command = self.git.write("naming a seal of", dir, self.lock);
        let command = command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.logAllRefUpdates=false"]);
        let none = "0".repeat(commit.as_str().len());
        let created = command.args(["update-ref", self.reference, commit.as_str(), &none]).run();
        failpoint!("git.seal.after_ref");
        let Err(error) = created else {
            return read::seal_of(&self.request.id, commit, self.request.created_at_unix, &draft.manifest);
        };
        match read::find(self.git, dir, &self.request.id) {
            Ok(stored) if stored.holds_same_as(&read::commit_text(self.git, dir, commit)?) => Ok(stored.seal),
            Ok(_) => Err(SealError::IdTaken { id: self.request.id.clone() }),
            Err(SealError::Unknown { .. }) => Err(error.into()),
            Err(other) => Err(other),
        }
    }
}

enum Written {
    Commit(Oid),
    Changed(PathBuf),
}

/// The commit of a seal. Its identity is Freehold's own, so that no setting of a person is needed.
fn commit_text(tree: Id, parents: &[Id], request: &SealRequest) -> String {
    let when = request.created_at_unix.max(0);
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let identity = format!("Freehold <seals@freehold.invalid> {when} +0000");
    format!("tree {tree}\n{parents}author {identity}\ncommitter {identity}\n\nSeal {}\n", request.id)
}
