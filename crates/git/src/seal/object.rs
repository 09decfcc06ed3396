//! Git's objects, made here: ids are computed in this process, so that no setting and no filter takes part.

use std::fmt;

use sha1::Digest;

use crate::{GitError, Oid};

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Sha1,
    Sha256,
}

impl Format {
    /// The length of an id in bytes.
    pub(super) const fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// The id of an object as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id {
    bytes: [u8; 32],
    format: u8,
}

impl Id {
    /// Takes 20 or 32 bytes as an id.
    pub(super) fn from_bytes(raw: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        matches!(raw.len(), 20 | 32).then_some(Self { bytes, format: u8::try_from(raw.len()).ok()? })
    }

    /// Reads 40 or 64 hexadecimal digits.
    pub(super) fn from_hex(digits: &[u8]) -> Option<Self> {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let pairs = digits.chunks_exact(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?));
        Self::from_bytes(&pairs.collect::<Option<Vec<u8>>>()?)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.format)]
    }

    pub(super) fn is_zero(&self) -> bool {
        self.bytes == [0; 32]
    }

    pub(super) fn oid(&self) -> Result<Oid, GitError> {
        self.to_string().parse()
    }
}

impl From<&Oid> for Id {
    fn from(oid: &Oid) -> Self {
        // An `Oid` is 40 or 64 digits by its making.
        Self::from_hex(oid.as_str().as_bytes()).unwrap_or(Self { bytes: [0; 32], format: 20 })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kinds of objects that a seal is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tree,
    Blob,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }

    /// The number that stands for it in a pack.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Commit => 1,
            Self::Tree => 2,
            Self::Blob => 3,
        }
    }
}

/// Computes an id, or the checksum of a pack.
pub(super) enum Hasher {
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
}

impl Hasher {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Sha1 => Self::Sha1(sha1::Sha1::new()),
            Format::Sha256 => Self::Sha256(sha2::Sha256::new()),
        }
    }

    /// Begins the id of an object of this size.
    pub(super) fn of_object(format: Format, kind: Kind, size: u64) -> Self {
        let mut hasher = Self::new(format);
        hasher.update(format!("{} {size}\0", kind.name()).as_bytes());
        hasher
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub(super) fn finish(self) -> Id {
        let (mut bytes, format) = ([0; 32], if matches!(self, Self::Sha1(_)) { 20 } else { 32 });
        match self {
            Self::Sha1(hasher) => bytes[..20].copy_from_slice(&hasher.finalize()),
            Self::Sha256(hasher) => bytes.copy_from_slice(&hasher.finalize()),
        }
        Id { bytes, format }
    }
}

/// The id of an object whose bytes are at hand.
pub(super) fn id_of(format: Format, kind: Kind, bytes: &[u8]) -> Id {
    let mut hasher = Hasher::of_object(format, kind, bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        assert_eq!(id_of(Format::Sha1, Kind::Blob, b"").to_string(), empty);
        let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(id_of(Format::Sha1, Kind::Tree, b"").to_string(), tree);
        let empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(id_of(Format::Sha256, Kind::Blob, b"").to_string(), empty);
        assert_eq!(Id::from_hex(empty.as_bytes()), Some(id_of(Format::Sha256, Kind::Blob, b"")));
        assert!(Id::from_hex(b"abc").is_none() && Id::from_hex(&[b'g'; 40]).is_none());
    }
}
