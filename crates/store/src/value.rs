//! Values that go into statements, in the few kinds that both engines store.

use std::borrow::Cow;

use freehold_domain::clock::Timestamp;

/// One parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'v> {
    /// Nothing.
    Null,
    /// A whole number; also a yes or no, as 1 or 0.
    Int(i64),
    /// A text.
    Text(Cow<'v, str>),
    /// An instant.
    Instant(Timestamp),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Int(flag.into())
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(without_nul(text.into()))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(without_nul(text.into()))
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(text: &'v String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(instant: Timestamp) -> Self {
        Self::Instant(instant)
    }
}

impl<'v, T: Into<Value<'v>>> From<Option<T>> for Value<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// PostgreSQL stores no NUL character, and agents put some out; both engines store U+FFFD in its place.
fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text }
}

/// The parameters of a statement, in order.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Value::from($value)),*] };
}
pub(crate) use params;
