//! Mends halves of characters in JSON.
//!
//! JavaScript counts text in UTF-16: an agent that cuts its answer into pieces by that count can cut a character
//! in two, and then writes each half as a lone `\ud83d`-like escape, which is no text. Such a frame is not worth
//! the whole session, so a lone half becomes the replacement character.

/// Gives the line with lone halves replaced; none when there are none, and so nothing to mend.
pub(super) fn mend(line: &str) -> Option<String> {
    let mut mended = String::with_capacity(line.len());
    let mut rest = line;
    let mut is_changed = false;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match half(rest) {
            Some(Half::First) if rest.get(6..).and_then(half) == Some(Half::Second) => 12,
            Some(_) => {
                is_changed = true;
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The escaped character goes with its backslash, so that `\\u` is not taken for an escape.
            None => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    is_changed.then_some(mended)
}

#[derive(PartialEq, Eq)]
enum Half {
    First,
    Second,
}

fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::mend;

    #[test]
    fn only_lone_halves_are_replaced() {
        assert_eq!(mend(r#"{"a":"\ud83d"}"#).as_deref(), Some(r#"{"a":"\ufffd"}"#));
        assert_eq!(mend(r#""\ude00 x \ud83d\ude00""#).as_deref(), Some(r#""\ufffd x \ud83d\ude00""#));
        assert_eq!(mend(r#""\ud83d\ud83d\ude00""#).as_deref(), Some(r#""\ufffd\ud83d\ude00""#));
        for whole in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9 é""#, "\"\\", ""] {
            assert_eq!(mend(whole), None, "{whole}");
        }
    }
}
