//! A shallow reading of Rust source: what is code, what is comment, what is text in quotes.
//!
//! Rules must not trip over a word in a comment or miss one in a string, and must not need a whole parser.
//! [`RustSource`] keeps three views of a file that are equally long line by line: in each, everything that
//! belongs to another view is blank.

/// The three views of one Rust file.
#[derive(Debug)]
pub struct RustSource {
    /// The code, without comments and without what stands in quotes.
    pub code: String,
    /// The comments only.
    pub comments: String,
    /// What stands in quotes only.
    pub strings: String,
    /// How many lines there are, without those of blanked tests.
    pub lines: usize,
}

/// A function with the lines it spans.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// How many lines it has, from `fn` to the closing brace.
    pub lines: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Text,
}

impl RustSource {
    /// Reads a file. Broken source is read as far as it goes; the compiler complains about it elsewhere.
    #[must_use]
    pub fn read(source: &str) -> Self {
        let characters: Vec<char> = source.chars().collect();
        let parts = classify(&characters);
        let view = |wanted: Part| {
            let keep = |(character, part): (&char, &Part)| match *character {
                '\n' => '\n',
                character if *part == wanted => character,
                _ => ' ',
            };
            characters.iter().zip(&parts).map(keep).collect::<String>()
        };
        Self {
            code: view(Part::Code),
            comments: view(Part::Comment),
            strings: view(Part::Text),
            lines: source.lines().count(),
        }
    }

    /// Blanks modules under `#[cfg(test)]` in all views.
    #[must_use]
    pub fn without_tests(mut self) -> Self {
        const MARK: &str = "#[cfg(test)]";
        let mut from = 0;
        while let Some(found) = self.code[from..].find(MARK).map(|at| from + at) {
            let end = item_end(&self.code, found + MARK.len());
            let (first, last) = (line_of(&self.code, found), line_of(&self.code, end.saturating_sub(1)));
            for view in [&mut self.code, &mut self.comments, &mut self.strings] {
                *view = blank_lines(view, first, last);
            }
            self.lines -= last + 1 - first;
            // The views keep their lines but not their length: go on after the blanked lines.
            from = self.code.split_inclusive('\n').take(last).map(str::len).sum();
        }
        self
    }

    /// Every function with a body, nested ones too, in order.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        words(&self.code)
            .filter(|(_, word)| *word == "fn")
            .filter_map(|(at, _)| {
                let name = words(&self.code[at + 2..]).next().filter(|(gap, _)| *gap <= 2)?.1.to_owned();
                let body = self.code[at..].find(['{', ';'])? + at;
                if self.code[body..].starts_with(';') {
                    return None;
                }
                let (line, last) =
                    (line_of(&self.code, at), line_of(&self.code, block_end(&self.code, body) - 1));
                Some(Function { name, line, lines: last + 1 - line })
            })
            .collect()
    }

    /// The names of types, traits and modules that the file declares, with their lines.
    pub fn declared_names(&self) -> impl Iterator<Item = (usize, &str)> {
        const KEYWORDS: [&str; 6] = ["struct", "enum", "trait", "mod", "union", "type"];
        let all: Vec<(usize, &str)> = words(&self.code).collect();
        let pairs: Vec<(usize, &str)> = all
            .windows(2)
            .filter(|pair| KEYWORDS.contains(&pair[0].1) && pair[1].0 == pair[0].0 + pair[0].1.len() + 1)
            .map(|pair| (line_of(&self.code, pair[1].0), pair[1].1))
            .collect();
        pairs.into_iter()
    }
}

/// The identifiers and keywords of a text, each with its byte offset.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - start, word))
}

/// The line of a byte offset, from 1.
#[must_use]
pub fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn blank_lines(text: &str, first: usize, last: usize) -> String {
    let blank = |(index, line): (usize, &str)| match (first..=last).contains(&(index + 1)) {
        true => "\n".to_owned(),
        false => line.to_owned(),
    };
    text.split_inclusive('\n').enumerate().map(blank).collect()
}

/// Where the item that begins at `from` ends: after its block, or after its semicolon.
fn item_end(code: &str, from: usize) -> usize {
    match code[from..].find(['{', ';']).map(|at| from + at) {
        Some(at) if code[at..].starts_with('{') => block_end(code, at),
        Some(at) => at + 1,
        None => code.len(),
    }
}

/// Where the block ends that opens at `open`: just after its closing brace.
fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn classify(characters: &[char]) -> Vec<Part> {
    let mut parts = Vec::with_capacity(characters.len());
    while parts.len() < characters.len() {
        let (part, length) = next_part(characters, parts.len());
        let length = length.clamp(1, characters.len() - parts.len());
        parts.extend(std::iter::repeat_n(part, length));
    }
    parts
}

/// What begins at `at`, and how long it is.
fn next_part(characters: &[char], at: usize) -> (Part, usize) {
    let rest = &characters[at..];
    let after_word = at > 0 && (characters[at - 1].is_alphanumeric() || characters[at - 1] == '_');
    match rest {
        ['/', '/', ..] => (Part::Comment, rest.iter().take_while(|c| **c != '\n').count()),
        ['/', '*', ..] => (Part::Comment, block_comment_length(rest)),
        ['"', ..] => (Part::Text, quoted_length(rest, '"')),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (Part::Text, quoted_length(rest, '\'')),
        ['r', ..] | ['b' | 'c', 'r', ..] if !after_word => match raw_string_length(rest) {
            Some(length) => (Part::Text, length),
            None => (Part::Code, 1),
        },
        _ => (Part::Code, 1),
    }
}

fn block_comment_length(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted_length(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a raw string such as `r#"…"#`; none when no raw string begins here.
fn raw_string_length(rest: &[char]) -> Option<usize> {
    let prefix = rest.iter().take_while(|c| matches!(**c, 'r' | 'b' | 'c')).count();
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let closes = |at: &usize| {
        rest[*at] == '"' && rest[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    let close = (open + 1..rest.len()).find(closes).unwrap_or(rest.len());
    Some(close + 1 + hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r##"//! Head.
fn one<'a>(x: &'a str) -> char { // trailing
    let s = "a // not a comment { \" }";
    let r = r#"raw " fn two() {"#;
    '{' /* block /* nested */ fn three() {} */
}
trait T { fn declared(&self); }
#[cfg(test)]
mod tests {
    fn hidden() {
        let word = 1;
    }
}
fn last() {}
"##;

    #[test]
    fn comments_and_texts_are_no_code() {
        let source = RustSource::read(SAMPLE);
        assert!(source.comments.contains("trailing") && source.comments.contains("nested */ fn three"));
        assert!(source.strings.contains("not a comment") && source.strings.contains("fn two"));
        for absent in ["trailing", "not a comment", "two", "three"] {
            assert!(!source.code.contains(absent), "{absent}");
        }
        for view in [&source.code, &source.comments, &source.strings] {
            assert_eq!(view.lines().count(), SAMPLE.lines().count());
        }
    }

    #[test]
    fn functions_are_measured_from_fn_to_closing_brace() {
        let found = RustSource::read(SAMPLE).without_tests().functions();
        let expected = [("one", 2, 5), ("last", 14, 1)];
        let expected = expected.map(|(name, line, lines)| Function { name: name.to_owned(), line, lines });
        assert_eq!(found, expected);
    }

    #[test]
    fn test_modules_do_not_count() {
        let whole = RustSource::read(SAMPLE);
        assert_eq!(whole.lines, 14);
        let without = whole.without_tests();
        assert_eq!(without.lines, 8);
        assert!(!without.code.contains("hidden"));
    }

    #[test]
    fn declared_names_are_types_traits_and_modules() {
        let source = RustSource::read("pub struct A;\nenum B {}\npub(crate) mod c;\nfn d() {}\n");
        assert_eq!(source.declared_names().collect::<Vec<_>>(), [(1, "A"), (2, "B"), (3, "c")]);
    }
}
