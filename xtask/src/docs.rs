//! Rules of the documents: guide pages introduce themselves, links and anchors lead somewhere, and every
//! guide page can be reached from the guide's index.

mod cases;
pub mod commands;
pub mod markdown;

use std::collections::BTreeSet;

use crate::tree::{SourceFile, Tree};
use crate::{Problem, Report};
use markdown::Page;

const GUIDE: &str = "docs/guide/";
const GUIDE_INDEX: &str = "docs/guide/index.md";

/// Checks every tracked Markdown file.
#[must_use]
pub fn check(tree: &Tree) -> Report {
    let mut problems = Vec::new();
    for file in pages(tree) {
        let page = Page::read(&file.text);
        if file.path.starts_with(GUIDE) {
            problems.extend(check_front_matter(file, &page));
        }
        problems.extend(check_links(tree, file, &page));
    }
    problems.extend(unreachable_guide_pages(tree));
    problems.extend(cases::check(tree));
    Report { problems, warnings: Vec::new() }
}

/// The tracked Markdown files.
pub fn pages(tree: &Tree) -> impl Iterator<Item = &SourceFile> {
    tree.files.iter().filter(|file| file.extension() == "md")
}

fn check_front_matter(file: &SourceFile, page: &Page) -> Vec<Problem> {
    let absent =
        |key: &&str| !page.front_matter.iter().any(|(name, value)| name == *key && !value.is_empty());
    let problem = |key| Problem::at(&file.path, 1, format!("the front matter lacks `{key}`"));
    ["title", "description"].into_iter().filter(absent).map(problem).collect()
}

fn check_links(tree: &Tree, file: &SourceFile, page: &Page) -> Vec<Problem> {
    let broken = |(line, target): &(usize, String)| {
        let reason = why_broken(tree, file, target)?;
        Some(Problem::at(&file.path, *line, format!("the link `{target}` {reason}")))
    };
    page.links.iter().filter_map(broken).collect()
}

/// Why a link leads nowhere; none when it leads somewhere, or out of the repository.
fn why_broken(tree: &Tree, from: &SourceFile, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolve(&from.path, path) else {
        return Some("leads out of the repository");
    };
    let is_folder = || tree.paths.iter().any(|known| known.starts_with(&format!("{path}/")));
    if !tree.paths.contains(&path) && !is_folder() {
        return Some("names a file that is not tracked");
    }
    if anchor.is_empty() {
        return None;
    }
    let anchors = tree.find(&path).map(|file| Page::read(&file.text).anchors).unwrap_or_default();
    (!anchors.iter().any(|known| known == anchor)).then_some("names a heading that is not there")
}

/// The path that a relative link means; none when it leads out of the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn unreachable_guide_pages(tree: &Tree) -> Vec<Problem> {
    let linked: BTreeSet<String> = tree
        .find(GUIDE_INDEX)
        .map(|index| Page::read(&index.text).links)
        .unwrap_or_default()
        .iter()
        .filter_map(|(_, target)| resolve(GUIDE_INDEX, target.split('#').next().unwrap_or_default()))
        .collect();
    pages(tree)
        .filter(|file| {
            file.path.starts_with(GUIDE) && file.path != GUIDE_INDEX && !linked.contains(&file.path)
        })
        .map(|file| Problem::of(&file.path, format!("link this page from {GUIDE_INDEX}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree {
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            files: files.iter().map(|(path, text)| SourceFile::new(path, text)).collect(),
        };
        check(&tree).problems.iter().map(ToString::to_string).collect()
    }

    const HEAD: &str = "---\ntitle: A\ndescription: B\n---\n";

    #[test]
    fn links_to_files_folders_and_headings_hold() {
        let readme = "[a](docs/a.md#the-end) [b](docs) [c](#here) [d](https://example.org)\n# Here\n";
        assert_eq!(messages(&[("README.md", readme), ("docs/a.md", "# The `end`!\n")]), [""; 0]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_named_with_its_line() {
        let found = messages(&[("README.md", "\n[a](gone.md)\n[b](#gone)\n[c](../out.md)\n")]);
        assert_eq!(
            found,
            [
                "README.md:2: the link `gone.md` names a file that is not tracked",
                "README.md:3: the link `#gone` names a heading that is not there",
                "README.md:4: the link `../out.md` leads out of the repository",
            ]
        );
    }

    #[test]
    fn a_guide_page_introduces_itself_and_is_in_the_index() {
        let index = format!("{HEAD}[Start](start.md)\n");
        let good = [(GUIDE_INDEX, index.as_str()), ("docs/guide/start.md", HEAD)];
        assert_eq!(messages(&good), [""; 0]);
        let bad = [(GUIDE_INDEX, HEAD), ("docs/guide/start.md", "# Start\n")];
        assert_eq!(messages(&bad).len(), 3);
    }
}
