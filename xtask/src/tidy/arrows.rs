//! Which crate may know which: the picture in `docs/architecture.md`, compared with what Cargo sees.
//!
//! The three leaves do not know one another, only the engine joins them, and a library that stands for a
//! leaf's job (a database driver, the agent protocol) is known to that leaf alone.

use serde_json::Value;

use crate::program::{output_of, program};
use crate::{Failure, Problem};

/// Each crate with the crates of ours that it may depend on.
const ARROWS: [(&str, &[&str]); 10] = [
    ("freehold-domain", &[]),
    ("freehold-store", &["freehold-domain"]),
    ("freehold-git", &[]),
    ("freehold-agent", &[]),
    ("freehold-engine", &["freehold-agent", "freehold-domain", "freehold-git", "freehold-store"]),
    ("freehold-api", &[]),
    ("freehold-server", &["freehold-api", "freehold-domain", "freehold-engine"]),
    (
        "freehold-cli",
        &[
            "freehold-agent",
            "freehold-api",
            "freehold-domain",
            "freehold-engine",
            "freehold-git",
            "freehold-server",
            "freehold-store",
        ],
    ),
    ("freehold-testkit", &["freehold-domain"]),
    // Benchmarks measure the upgrade of a database that the test kit makes.
    ("xtask", &["freehold-testkit"]),
];

/// Any crate's tests may use it, and besides them only what is never shipped.
const TEST_ONLY: &str = "freehold-testkit";
const NEVER_SHIPPED: [&str; 1] = ["xtask"];

/// Libraries that only some crates may know, because they are the substance of those crates.
const RESERVED: [(&str, &[&str]); 5] = [
    ("agent-client-protocol", &["freehold-agent"]),
    ("axum", &["freehold-server"]),
    ("clap", &["freehold-cli"]),
    ("postgres", &["freehold-store", "freehold-testkit"]),
    // The benchmarks compare with what the same SQLite does by itself.
    ("rusqlite", &["freehold-store", "freehold-testkit", "xtask"]),
];

/// What the domain may use: it does no I/O, has no clock and is not asynchronous.
const DOMAIN_LIBRARIES: [&str; 4] = ["jiff", "serde", "serde_json", "thiserror"];

/// Asks Cargo for the crates of this workspace and what each depends on.
pub fn metadata() -> Result<Value, Failure> {
    let text = output_of(program("cargo").args(["metadata", "--no-deps", "--format-version", "1"]))?;
    serde_json::from_slice(&text)
        .map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))
}

/// Compares the arrows that Cargo sees with the allowed ones.
#[must_use]
pub fn check(metadata: &Value) -> Vec<Problem> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    packages.iter().flat_map(check_crate).collect()
}

fn check_crate(package: &Value) -> Vec<Problem> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        return vec![Problem::of(name, "this crate is not in the table of arrows: add it there")];
    };
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    dependencies
        .iter()
        .filter_map(|dependency| {
            let target = dependency["name"].as_str().unwrap_or_default();
            let in_tests = dependency["kind"] == "dev";
            refusal(name, target, in_tests, allowed).map(|reason| Problem::of(name, reason))
        })
        .collect()
}

/// Why `name` may not depend on `target`; none when it may.
fn refusal(name: &str, target: &str, in_tests: bool, allowed: &[&str]) -> Option<String> {
    let ours = ARROWS.iter().any(|(known, _)| *known == target);
    if ours && target == TEST_ONLY {
        let may = in_tests || NEVER_SHIPPED.contains(&name);
        return (!may).then(|| format!("{target} is for tests: make it a dev-dependency"));
    }
    // A test composes what its crate is given: it may know what the crate's own arrows lead to.
    if ours && in_tests && ARROWS.iter().any(|(next, on)| allowed.contains(next) && on.contains(&target)) {
        return None;
    }
    if ours {
        return (!allowed.contains(&target)).then(|| format!("no arrow leads from here to {target}"));
    }
    if in_tests {
        return None;
    }
    if name == "freehold-domain" && !DOMAIN_LIBRARIES.contains(&target) {
        return Some(format!("the domain does no I/O and may not use {target}"));
    }
    let (_, owners) = RESERVED.iter().find(|(library, _)| *library == target)?;
    (!owners.contains(&name)).then(|| format!("only {} may know {target}", owners.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems_of(name: &str, target: &str, kind: Option<&str>) -> Vec<Problem> {
        let dependency = json!({ "name": target, "kind": kind });
        check(&json!({ "packages": [{ "name": name, "dependencies": [dependency] }] }))
    }

    #[test]
    fn the_engine_joins_the_leaves_and_the_leaves_do_not_know_one_another() {
        assert_eq!(problems_of("freehold-engine", "freehold-git", None), []);
        assert_eq!(problems_of("freehold-git", "freehold-store", None).len(), 1);
        assert_eq!(problems_of("freehold-server", "freehold-store", None).len(), 1);
        assert_eq!(problems_of("freehold-server", "freehold-store", Some("dev")), []);
        assert_eq!(problems_of("freehold-agent", "freehold-git", Some("dev")).len(), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests_and_benchmarks() {
        assert_eq!(problems_of("xtask", "freehold-testkit", None), []);
        assert_eq!(problems_of("freehold-git", "freehold-testkit", Some("dev")), []);
        assert_eq!(problems_of("freehold-git", "freehold-testkit", None).len(), 1);
    }

    #[test]
    fn a_library_that_is_a_crates_substance_is_known_to_it_alone() {
        assert_eq!(problems_of("freehold-store", "rusqlite", None), []);
        assert_eq!(problems_of("freehold-testkit", "rusqlite", None), []);
        assert_eq!(problems_of("freehold-engine", "rusqlite", None).len(), 1);
        assert_eq!(problems_of("freehold-domain", "tokio", None).len(), 1);
    }

    #[test]
    fn an_unknown_crate_is_a_problem() {
        assert_eq!(problems_of("freehold-extra", "serde", None).len(), 1);
    }
}
