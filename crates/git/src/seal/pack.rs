//! Objects on their way into a repository, as one pack.
//!
//! A pack is one file and one flush to disk for all objects of a seal, where single objects would be a file
//! each. Git takes it in, computes every id itself, and unpacks a small one.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::disk::open_file;
use super::object::{Format, Hasher, Id, Kind};
use crate::lock::RepositoryLock;
use crate::{Git, GitError};

/// From so many objects on, the pack stays one, as Git itself does with what it fetches.
const UNPACK_LIMIT: usize = 100;

/// How much of a file is read at once.
pub(super) const CHUNK: usize = 128 * 1024;

/// Where the bytes of an object are.
#[derive(Debug)]
enum Source {
    Bytes(Vec<u8>),
    File(PathBuf, u64),
}

/// Objects that a seal needs, each once.
#[derive(Debug, Default)]
pub(super) struct Objects {
    by_id: HashMap<Id, (Kind, Source)>,
}

impl Objects {
    pub(super) fn add(&mut self, id: Id, kind: Kind, bytes: Vec<u8>) {
        self.by_id.entry(id).or_insert((kind, Source::Bytes(bytes)));
    }

    pub(super) fn add_file(&mut self, id: Id, file: PathBuf, size: u64) {
        self.by_id.entry(id).or_insert((Kind::Blob, Source::File(file, size)));
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = Id> {
        self.by_id.keys().copied()
    }

    pub(super) fn remove_present(&mut self, present: &HashSet<Id>) {
        self.by_id.retain(|id, _| !present.contains(id));
    }

    /// Writes all objects into the repository. A file that is not what its id says ends the work: somebody
    /// changed it, and its path is returned.
    pub(super) fn store(
        &self,
        git: &Git,
        format: Format,
        lock: &RepositoryLock,
    ) -> Result<Option<PathBuf>, GitError> {
        if self.by_id.is_empty() {
            return Ok(None);
        }
        let dir = lock.common_dir();
        let command = git.feed("storing a seal in", dir, lock);
        // Single objects are flushed too, together: the workspace is gone soon after.
        let command = command.args(["-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=batch"]);
        let command = if self.by_id.len() < UNPACK_LIMIT {
            command.args(["unpack-objects", "-q"])
        } else {
            command.args(["index-pack", "--stdin"])
        };
        let mut changed = None;
        let written = command.converse(
            |output| {
                changed = self.write(output, format).map_err(GitError::io("sending a seal to", dir))?;
                Ok(())
            },
            // What it prints is of no use, but a closed pipe would end it.
            |output| {
                std::io::copy(output, &mut std::io::sink())
                    .map(drop)
                    .map_err(GitError::io("hearing from", dir))
            },
        );
        // Git complains about a stream that was cut off; the reason is known better here.
        if changed.is_some() { Ok(changed) } else { written.map(|()| None) }
    }

    fn write(&self, output: &mut dyn Write, format: Format) -> std::io::Result<Option<PathBuf>> {
        let mut output = Summed { output: std::io::BufWriter::new(output), sum: Hasher::new(format) };
        output.write_all(b"PACK\0\0\0\x02")?;
        let count = u32::try_from(self.by_id.len()).map_err(std::io::Error::other)?;
        output.write_all(&count.to_be_bytes())?;
        for (id, (kind, source)) in &self.by_id {
            match source {
                Source::Bytes(bytes) => {
                    output.write_all(&object_head(*kind, bytes.len() as u64))?;
                    let mut encoder = ZlibEncoder::new(&mut output, Compression::fast());
                    encoder.write_all(bytes)?;
                    encoder.finish()?;
                }
                Source::File(path, size) => {
                    output.write_all(&object_head(*kind, *size))?;
                    let hasher = Hasher::of_object(format, *kind, *size);
                    if copy_file(path, *size, hasher, &mut output)? != Some(*id) {
                        return Ok(Some(path.clone()));
                    }
                }
            }
        }
        let Summed { mut output, sum } = output;
        output.write_all(sum.finish().as_bytes())?;
        output.flush()?;
        Ok(None)
    }
}

/// Compresses a file and returns the id of what was read; none when it has another size or is gone.
fn copy_file(
    path: &Path,
    size: u64,
    mut hasher: Hasher,
    output: &mut impl Write,
) -> std::io::Result<Option<Id>> {
    let Ok(file) = open_file(path) else { return Ok(None) };
    let mut file = file.take(size.saturating_add(1));
    let mut encoder = ZlibEncoder::new(output, Compression::fast());
    let mut buffer = vec![0; CHUNK.min(usize::try_from(size).unwrap_or(CHUNK).saturating_add(1))];
    let mut total = 0;
    loop {
        let Ok(count) = file.read(&mut buffer) else { return Ok(None) };
        if count == 0 {
            break;
        }
        total += count as u64;
        hasher.update(&buffer[..count]);
        encoder.write_all(&buffer[..count])?;
    }
    encoder.finish()?;
    Ok((total == size).then(|| hasher.finish()))
}

/// Type and size of an object: four bits of size beside the type, then seven in each byte, the lowest first.
fn object_head(kind: Kind, size: u64) -> Vec<u8> {
    let low_bits = |value: u64, mask: u64| u8::try_from(value & mask).unwrap_or(0);
    let mut head = vec![kind.number() << 4 | low_bits(size, 0x0f)];
    let mut rest = size >> 4;
    while rest > 0 {
        if let Some(last) = head.last_mut() {
            *last |= 0x80;
        }
        head.push(low_bits(rest, 0x7f));
        rest >>= 7;
    }
    head
}

/// A stream with a checksum over everything that goes through.
struct Summed<W: Write> {
    output: W,
    sum: Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output.flush()
    }
}
