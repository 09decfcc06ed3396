//! Freehold's nouns and rules: tasks, environments, sessions, cleanup jobs and the events they cause.
//!
//! Nothing here does I/O, reads a clock, makes an id or awaits. States are enums, transitions are functions
//! that can fail, and every other crate speaks in these types.

pub mod agent;
pub mod cleanup;
pub mod clock;
pub mod environment;
pub mod event;
pub mod id;
pub mod message;
pub mod pool;
pub mod preparation;
pub mod removed;
pub mod repository;
pub mod seal;
pub mod session;
pub mod storage;
pub mod task;
pub mod workflow;

/// Names a stored word that is not a value of the state it stands for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a {noun}")]
pub struct UnknownWord {
    /// The noun whose values were expected, for example `task state`.
    pub noun: &'static str,
    /// The word that was found.
    pub word: String,
}

/// Declares an enum whose variants are stored and sent as fixed words.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident ($noun:literal) { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        $vis enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word under which the value is stored and sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::UnknownWord;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(crate::UnknownWord { noun: $noun, word: word.to_owned() }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;
