//! The index file, read here: Git's own listing does not tell which file it believes to be unchanged and why.
//!
//! The format is described in Git's `gitformat-index`. A split index is left to Git itself; its entries then
//! come without what is known of the files, so that every file is read.

use std::path::Path;

use super::disk::{Stat, Time};
use super::object::{Format, Id};
use crate::{Git, GitError};

/// One entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) path: Vec<u8>,
    pub(super) mode: u32,
    pub(super) id: Id,
    /// 0, or 1 to 3 in a conflict.
    pub(super) stage: u8,
    /// Whether it only announces a file, so that its id names nothing.
    pub(super) is_announced: bool,
    /// The file as it was when Git last read it.
    stat: Option<IndexStat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndexStat {
    ctime: (u32, u32),
    mtime: (u32, u32),
    inode: u32,
    uid: u32,
    gid: u32,
    size: u32,
}

impl IndexEntry {
    /// Whether the file is the one that Git last read, by everything that the index keeps. A file as new as the
    /// index itself may have changed in the same instant.
    pub(super) fn is_unchanged(&self, stat: &Stat, index_written: Time) -> bool {
        let low = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0);
        let time = |time: Time| (low(time.seconds.cast_unsigned()), low(time.nanoseconds.cast_unsigned()));
        let now = IndexStat {
            ctime: time(stat.ctime),
            mtime: time(stat.mtime),
            inode: low(stat.inode),
            uid: stat.uid,
            gid: stat.gid,
            size: low(stat.size),
        };
        self.stat == Some(now) && stat.mtime < index_written && stat.size < u64::from(u32::MAX)
    }
}

/// Reads the entries of an index, sorted by path; none where there is no index yet.
pub(super) fn entries(
    git: &Git,
    worktree: &Path,
    bytes: Option<&[u8]>,
    format: Format,
) -> Result<Vec<IndexEntry>, GitError> {
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let mut entries = match parse(bytes, format) {
        Some(entries) => entries,
        None => list(git, worktree)?,
    };
    entries.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
    Ok(entries)
}

/// Asks Git for the entries.
fn list(git: &Git, worktree: &Path) -> Result<Vec<IndexEntry>, GitError> {
    let operation = "listing the index of";
    let listed = git.read(operation, worktree).args(["ls-files", "-s", "-z"]).stdout()?;
    let entry = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut fields = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
        Some(IndexEntry {
            path: line[tab + 1..].to_owned(),
            mode: u32::from_str_radix(fields.next()?, 8).ok()?,
            id: Id::from_hex(fields.next()?.as_bytes())?,
            stage: fields.next()?.parse().ok()?,
            is_announced: false,
            stat: None,
        })
    };
    let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines.map(entry).collect::<Option<_>>().ok_or_else(|| GitError::Unreadable {
        operation,
        subject: worktree.to_owned(),
        excerpt: String::from_utf8_lossy(&listed).chars().take(200).collect(),
    })
}

/// The size of an entry without id, flags and path.
const STAT_BYTES: usize = 40;

/// Flags of an entry.
const EXTENDED: u16 = 0x4000;
const ANNOUNCED: u16 = 0x2000;

/// Reads a whole index; none when it is of a kind that only Git can read.
fn parse(bytes: &[u8], format: Format) -> Option<Vec<IndexEntry>> {
    let body = bytes.get(..bytes.len().checked_sub(format.length())?)?;
    let version = number(body, 4)?;
    if !body.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut entries: Vec<IndexEntry> = Vec::new();
    for _ in 0..number(body, 8)? {
        let previous = entries.last().map_or(&b""[..], |entry| &entry.path);
        let (entry, next) = parse_entry(body, at, version, format, previous)?;
        entries.push(entry);
        at = next;
    }
    while at < body.len() {
        let name = body.get(at..at + 4)?;
        // A lower-case name marks what must be understood; `sdir` only says that folders may be entries.
        if !name[0].is_ascii_uppercase() && name != b"sdir" {
            return None;
        }
        at = at.checked_add(8)?.checked_add(usize::try_from(number(body, at + 4)?).ok()?)?;
    }
    (at == body.len()).then_some(entries)
}

fn parse_entry(
    body: &[u8],
    at: usize,
    version: u32,
    format: Format,
    previous: &[u8],
) -> Option<(IndexEntry, usize)> {
    let field = |place: usize| number(body, at + 4 * place);
    let stat = IndexStat {
        ctime: (field(0)?, field(1)?),
        mtime: (field(2)?, field(3)?),
        inode: field(5)?,
        uid: field(7)?,
        gid: field(8)?,
        size: field(9)?,
    };
    let id_end = at + STAT_BYTES + format.length();
    let id = Id::from_bytes(body.get(at + STAT_BYTES..id_end)?)?;
    let flags = short(body, id_end)?;
    let is_extended = flags & EXTENDED != 0;
    let more_flags = if is_extended { short(body, id_end + 2)? } else { 0 };
    let mut path_at = id_end + if is_extended { 4 } else { 2 };
    let mut path = Vec::new();
    if version == 4 {
        let (removed, length) = varint(body.get(path_at..)?)?;
        path.extend_from_slice(previous.get(..previous.len().checked_sub(removed)?)?);
        path_at += length;
    }
    let length = body.get(path_at..)?.iter().position(|byte| *byte == 0)?;
    path.extend_from_slice(&body[path_at..path_at + length]);
    // Up to version 3, one to eight zeros fill an entry up.
    let end = path_at + length;
    let next = if version == 4 { end + 1 } else { at + ((end - at) / 8 + 1) * 8 };
    let stage = u8::try_from(flags >> 12 & 3).ok()?;
    let (mode, is_announced) = (field(6)?, more_flags & ANNOUNCED != 0);
    Some((IndexEntry { path, mode, id, stage, is_announced, stat: Some(stat) }, next))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// Git's number of variable length, with its length: each further byte counts from one more.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(*bytes.first()? & 0x7f);
    let mut length = 1;
    while bytes[length - 1] & 0x80 != 0 {
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(*bytes.get(length)? & 0x7f);
        length += 1;
    }
    Some((value, length))
}
