//! Paths as text in a manifest: bytes that are no text, control characters and `%` are written as `%XX`.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// A path relative to the top of a worktree, or any other bytes, as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct PathText(pub(super) Vec<u8>);

impl From<PathText> for String {
    fn from(path: PathText) -> Self {
        let mut text = Self::new();
        for chunk in path.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                if char == '%' || char.is_control() {
                    let mut buffer = [0; 4];
                    escape(&mut text, char.encode_utf8(&mut buffer).as_bytes());
                } else {
                    text.push(char);
                }
            }
            escape(&mut text, chunk.invalid());
        }
        text
    }
}

fn escape(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        _ = write!(text, "%{byte:02X}");
    }
}

impl TryFrom<String> for PathText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let [first, after @ ..] = rest {
            if *first != b'%' {
                bytes.push(*first);
                rest = after;
                continue;
            }
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or("a path has a `%` without two digits")?);
            rest = &after[2..];
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::PathText;

    #[test]
    fn every_path_survives_as_text() {
        for path in [&b"plain/name.txt"[..], "n\u{e4}me/\u{1f980}".as_bytes(), b"100%\n\xff\xfe/%41", b""] {
            let text = String::from(PathText(path.to_owned()));
            assert!(!text.contains('\n'));
            assert_eq!(PathText::try_from(text).unwrap().0, path);
        }
        assert!(PathText::try_from("%4".to_owned()).is_err());
        assert!(PathText::try_from("%zz".to_owned()).is_err());
    }
}
