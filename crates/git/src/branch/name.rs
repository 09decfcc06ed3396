//! One function from any title to a branch name that Git, every file system and a push accept.
//!
//! The name is `<prefix><slug of the title>-<suffix>`. The prefix comes from a person and keeps its form as far
//! as Git allows; the slug is plain ASCII.

/// Git allows longer names, but a file system must hold each as a file, with `.lock` behind it.
const MAX_PREFIX_BYTES: usize = 80;
const MAX_SLUG_BYTES: usize = 48;
const MAX_SUFFIX_BYTES: usize = 40;

/// Makes a valid branch name, free or not.
pub(super) fn branch_name(prefix: &str, title: &str, suffix: &str) -> String {
    let suffix = slug(suffix, MAX_SUFFIX_BYTES);
    let title = slug(title, MAX_SLUG_BYTES);
    let title = if title.is_empty() { "task" } else { &title };
    let body = if suffix.is_empty() { title.to_owned() } else { format!("{title}-{suffix}") };
    // Git reads a branch that looks like an object id as the object.
    let looks_like_id = matches!(body.len(), 40 | 64) && body.bytes().all(|byte| byte.is_ascii_hexdigit());
    let body = if looks_like_id { format!("task-{body}") } else { body };
    let joined = format!("{}{body}", plain(prefix));
    let parts = joined.split('/').map(component).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("/")
}

/// Changes a name as little as needed so that it collides with no existing branch. Case is not looked at, as
/// many file systems do not.
pub(super) fn unused(name: &str, local: &[String], remote: &[String]) -> String {
    let local: Vec<String> = local.iter().map(|branch| branch.to_lowercase()).collect();
    let remote: Vec<String> = remote.iter().map(|branch| branch.to_lowercase()).collect();
    let mut name = name.to_owned();
    while let Some(at) = blocked_folder(&name.to_lowercase(), &local) {
        name.replace_range(at..=at, "-");
    }
    let is_taken = |name: &str| {
        let (name, folder) = (name.to_lowercase(), format!("{}/", name.to_lowercase()));
        let collides = |branch: &String| *branch == name || branch.starts_with(&folder);
        local.iter().any(collides) || remote.contains(&name)
    };
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2_u64..).map(|number| format!("{name}-{number}"));
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or(name)
}

/// Where in the name stands the `/` behind something that is a branch: Git keeps branches as files, and a file
/// cannot also be a folder.
fn blocked_folder(name: &str, local: &[String]) -> Option<usize> {
    name.match_indices('/').map(|(at, _)| at).find(|at| local.iter().any(|branch| branch == &name[..*at]))
}

/// Lower-case ASCII letters and digits with single hyphens between.
fn slug(text: &str, max_bytes: usize) -> String {
    let mut slug = String::new();
    for char in text.chars() {
        if slug.len() >= max_bytes {
            break;
        }
        if char.is_ascii_alphanumeric() {
            slug.push(char.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// The beginning of a prefix in the characters that are harmless in refs, file names and shells.
fn plain(prefix: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '.' | '_' | '-');
    prefix.chars().map(|char| if is_plain(char) { char } else { '-' }).take(MAX_PREFIX_BYTES).collect()
}

/// One part between slashes, made acceptable.
fn component(part: &str) -> String {
    let mut part = part.to_owned();
    while part.contains("..") {
        part = part.replace("..", ".");
    }
    let mut part = part.trim_start_matches(['.', '-']).trim_end_matches('.').to_owned();
    if part.to_ascii_lowercase().ends_with(".lock") {
        let dot = part.len() - ".lock".len();
        part.replace_range(dot..=dot, "-");
    }
    if is_device(&part) { format!("_{part}") } else { part }
}

/// Whether Windows takes a file of this name for a device, with any extension.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_port = |name: &str| {
        let number = stem.strip_prefix(name).unwrap_or_default();
        number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || is_port("com") || is_port("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(name: &str, local: &[&str]) -> String {
        unused(name, &local.iter().map(|&branch| branch.to_owned()).collect::<Vec<_>>(), &[])
    }

    #[test]
    fn a_title_becomes_a_slug() {
        assert_eq!(
            branch_name("freehold/", "Fix the login, please!", "a1b2"),
            "freehold/fix-the-login-please-a1b2"
        );
        assert_eq!(branch_name("freehold/", "名前", "a1b2"), "freehold/task-a1b2");
        assert_eq!(branch_name("", "..", ""), "task");
        assert_eq!(branch_name("", "-x", "1"), "x-1");
        assert_eq!(branch_name("", "a.lock", ""), "a-lock");
        assert_eq!(branch_name("wip.lock/", "$(touch X)", "1"), "wip-lock/touch-x-1");
        assert_eq!(branch_name("", "CON", ""), "_con");
        assert_eq!(branch_name("aux/", "x", "1"), "_aux/x-1");
        assert_eq!(branch_name("me-", "x", "1"), "me-x-1");
        assert_eq!(branch_name("", &"a".repeat(10_000), "1"), format!("{}-1", "a".repeat(48)));
    }

    #[test]
    fn a_taken_name_is_changed_as_little_as_needed() {
        assert_eq!(free("freehold/a", &["main"]), "freehold/a");
        assert_eq!(free("freehold/a", &["Freehold/A"]), "freehold/a-2");
        assert_eq!(free("freehold/a", &["freehold/a", "freehold/a-2"]), "freehold/a-3");
        assert_eq!(free("freehold/a", &["freehold"]), "freehold-a");
        assert_eq!(free("freehold/a", &["freehold", "freehold-a"]), "freehold-a-2");
        assert_eq!(free("feat", &["feat/x"]), "feat-2");
        assert_eq!(free("a/b/c", &["a/b"]), "a/b-c");
    }
}
