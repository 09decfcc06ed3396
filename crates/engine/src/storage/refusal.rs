//! Why something is neither put into quarantine nor taken out of it.

use std::borrow::Cow;

use freehold_domain::cleanup::Stake;
use freehold_domain::id::QuarantineId;
use freehold_domain::storage::QuarantineState;

use crate::ErrorKind;

/// Why something is neither put into quarantine nor taken out of it. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StorageRefusal {
    /// Nothing without an owner is listed at the path.
    #[error("nothing without an owner is at {path}")]
    NotUnowned {
        /// The path.
        path: String,
    },
    /// A row names the path by now.
    #[error("{path} has an owner by now; it is left alone")]
    Owned {
        /// The path.
        path: String,
    },
    /// What is there is never moved.
    #[error("{path} is not moved: {reason}")]
    NotMovable {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// Another database may name what is there.
    #[error("nothing in this database tells whose {path} is; another Freehold may be working there")]
    OwnerUnknown {
        /// The path.
        path: String,
        /// What a person types to say that it may be moved.
        name: String,
    },
    /// Something must be settled before it is moved.
    #[error("{path} is not moved: {}", stakes.iter().map(|stake| stake.detail.as_str()).collect::<Vec<_>>().join(" "))]
    AtStake {
        /// The path.
        path: String,
        /// What.
        stakes: Vec<Stake>,
    },
    /// The quarantine is on another file system, to which nothing can be moved in one step.
    #[error("{path} is on another file system than the quarantine; nothing is copied, so it stays")]
    OtherFileSystem {
        /// The path.
        path: String,
    },
    /// Something else is happening to the entry.
    #[error("{id} is {state}; only what is held in quarantine can be restored or purged")]
    NotHeld {
        /// The entry.
        id: QuarantineId,
        /// Its state.
        state: QuarantineState,
    },
    /// Something is at the path to which it is to be restored.
    #[error("something is at {path} already; nothing is overwritten")]
    PathTaken {
        /// The path.
        path: String,
        /// A path that is free.
        free: String,
    },
    /// The entry is on the file system of another server.
    #[error("{id} is in the quarantine on {hostname}; only the server there can reach it")]
    Elsewhere {
        /// The entry.
        id: QuarantineId,
        /// The machine.
        hostname: String,
    },
}

impl StorageRefusal {
    /// Sorts the refusal by what a caller can do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotUnowned { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Conflict,
        }
    }

    /// The stable word under which it is sent.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotUnowned { .. } => "not_unowned",
            Self::Owned { .. } => "owned",
            Self::NotMovable { .. } => "not_movable",
            Self::OwnerUnknown { .. } => "owner_unknown",
            Self::AtStake { .. } => "at_stake",
            Self::OtherFileSystem { .. } => "other_file_system",
            Self::NotHeld { .. } => "not_held",
            Self::PathTaken { .. } => "path_taken",
            Self::Elsewhere { .. } => "quarantine_elsewhere",
        }
    }

    /// What to do next; may be empty.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        match self {
            Self::NotUnowned { .. } => "`freehold storage unowned` lists what can be named".into(),
            Self::OwnerUnknown { name, .. } => {
                format!("make sure that no other server uses it, then confirm with its name, {name:?}").into()
            }
            Self::AtStake { .. } => "settle that first, then ask again".into(),
            Self::OtherFileSystem { .. } => "move it yourself when you know that nobody needs it".into(),
            Self::NotHeld { .. } => "look at its cleanup job".into(),
            Self::PathTaken { free, .. } => format!("restore it elsewhere, for example to {free}").into(),
            _ => "".into(),
        }
    }

    /// The id or path that it is about.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::NotUnowned { path }
            | Self::Owned { path }
            | Self::NotMovable { path, .. }
            | Self::OwnerUnknown { path, .. }
            | Self::AtStake { path, .. }
            | Self::OtherFileSystem { path }
            | Self::PathTaken { path, .. } => path.clone(),
            Self::NotHeld { id, .. } | Self::Elsewhere { id, .. } => id.to_string(),
        }
    }
}
