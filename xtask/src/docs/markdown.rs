//! As much of Markdown as the rules need: front matter, headings, links and fenced code.

/// What a page consists of.
#[derive(Debug, Default)]
pub struct Page {
    /// The `key: value` lines between the `---` marks at the head.
    pub front_matter: Vec<(String, String)>,
    /// The anchors of its headings, as GitHub makes them.
    pub anchors: Vec<String>,
    /// The targets of its links and pictures, with their lines.
    pub links: Vec<(usize, String)>,
    /// The lines of its fenced code, with their numbers.
    pub code: Vec<(usize, String)>,
}

impl Page {
    /// Reads a page.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut in_front_matter = text.starts_with("---\n");
        let mut in_code = false;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if in_front_matter {
                in_front_matter = number == 1 || line != "---";
                page.read_front_matter(line);
            } else if line.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if in_code {
                page.code.push((number, line.to_owned()));
            } else {
                page.read_heading(line);
                page.links.extend(links(line).map(|target| (number, target)));
            }
        }
        page
    }

    fn read_front_matter(&mut self, line: &str) {
        if let Some((key, value)) = line.split_once(": ") {
            self.front_matter.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }

    fn read_heading(&mut self, line: &str) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let base = anchor(heading.trim());
            let earlier = self.anchors.iter().filter(|known| **known == base).count();
            self.anchors.push(if earlier == 0 { base } else { format!("{base}-{earlier}") });
        }
    }
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of `[words](target)` in a line, outside `code`.
fn links(line: &str) -> impl Iterator<Item = String> {
    let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let targets: Vec<String> = outside
        .match_indices("](")
        .filter_map(|(at, mark)| {
            let rest = &outside[at + mark.len()..];
            let target = &rest[..rest.find(')')?];
            Some(target.split_whitespace().next().unwrap_or_default().to_owned())
        })
        .collect();
    targets.into_iter()
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn a_page_is_taken_apart() {
        let page = Page::read(
            "---\ntitle: A: b\n---\n# One two\n[x](y.md \"t\") `[n](o)`\n```sh\n# no [z](q)\n```\n# One two\n",
        );
        assert_eq!(page.front_matter, [("title".to_owned(), "A: b".to_owned())]);
        assert_eq!(page.anchors, ["one-two", "one-two-1"]);
        assert_eq!(page.links, [(5, "y.md".to_owned())]);
        assert_eq!(page.code, [(7, "# no [z](q)".to_owned())]);
    }
}
