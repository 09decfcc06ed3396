//! The web app: its headers, what browsers may keep, and paths that are no file.

use crate::door::on_sqlite;

#[test]
fn every_page_of_the_app_is_the_app_and_is_asked_for_again_each_time() {
    on_sqlite(|door| {
        for path in ["/", "/index.html", "/tasks/some-task", "/settings?tab=agents"] {
            let host = format!("Host: {}", door.address());
            let page = door.ask_with("GET", path, &[&host], "");
            assert_eq!(page.status, 200, "{path}");
            assert!(page.body.contains("<title>Freehold</title>"), "{path}: {}", page.body);
            page.has_header("content-type: text/html");
            page.has_header("cache-control: no-cache");
            page.has_header("x-content-type-options: nosniff");
            page.has_header("x-frame-options: deny");
            page.has_header("referrer-policy: no-referrer");
            let policy = page.head.lines().find(|line| line.starts_with("content-security-policy: "));
            let policy = policy.unwrap();
            for part in
                ["default-src 'self'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"]
            {
                assert!(policy.contains(part), "{part} is not in {policy}");
            }
            assert!(!policy.contains("unsafe-eval"), "{policy}");
        }
    });
}

#[test]
fn a_file_of_another_version_of_the_app_is_missing_and_not_kept() {
    on_sqlite(|door| {
        let missing = door.ask("GET", "/assets/index-00000000.js", "");
        assert_eq!(missing.error(404).subject, "/assets/index-00000000.js");
        assert!(!missing.head.contains("immutable"), "{missing:?}");
    });
}

#[test]
fn a_call_that_misses_the_interface_does_not_look_as_if_it_had_worked() {
    on_sqlite(|door| {
        assert_eq!(door.ask("POST", "/tasks", "{}").error(405).code, "method_not_allowed");
        for path in ["/api", "/api/", "/api/v2/tasks", "/api/v1", "/api/v1/nope", "/api/v1/tasks/a/b/c"] {
            let error = door.ask("GET", path, "").error(404);
            assert_eq!((error.code.as_str(), error.subject.as_str()), ("unknown_path", path));
        }
    });
}

#[test]
fn answers_of_the_interface_are_not_kept() {
    on_sqlite(|door| {
        door.ask("GET", "/api/v1/workspaces", "").has_header("cache-control: no-store");
    });
}
