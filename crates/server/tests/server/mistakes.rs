//! Requests that are wrong: each gets a status, a code, a sentence and a name, and changes nothing.

use crate::door::{new_task, on_both_engines, on_sqlite};

#[test]
fn a_body_of_the_wrong_shape_is_refused_with_the_field_named() {
    on_sqlite(|door| {
        let cases = [
            ("{", ""),
            ("", ""),
            ("[]", ""),
            (r#"{"repositories": 5}"#, "repositories"),
            (r#"{"repositories": [{}]}"#, "repositories[0].repository_id"),
            (r#"{"repositories": [{"repository_id": 5}]}"#, "repositories[0].repository_id"),
            (r#"{"repositories": [], "start": "yes"}"#, "start"),
        ];
        for (body, field) in cases {
            let error = door.ask("POST", "/api/v1/tasks", body).error(400);
            assert_eq!((error.code.as_str(), error.subject.as_str()), ("invalid_body", field), "{error:?}");
            let name = field.rsplit('.').next().unwrap();
            assert!(error.message.starts_with("the body: ") && error.message.contains(name), "{error:?}");
        }
        let host = format!("Host: {}", door.address());
        let authorization = format!("Authorization: Bearer {}", door.token.reveal());
        let form = [host.as_str(), &authorization, "Content-Type: text/plain"];
        let error = door.ask_with("POST", "/api/v1/tasks", &form, "{}").error(400);
        assert!(error.message.contains("application/json"), "{error:?}");
    });
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    on_sqlite(|door| {
        let limit = 8 * 1024 * 1024;
        let body = format!("\"{}\"", "x".repeat(limit - 2));
        assert_eq!(door.ask("POST", "/api/v1/tasks", &body).error(400).code, "invalid_body");
        let body = format!("\"{}\"", "x".repeat(limit - 1));
        let error = door.ask("POST", "/api/v1/tasks", &body).error(413);
        assert_eq!(error.code, "body_too_large");
        assert!(error.message.contains("8 MiB"), "{error:?}");
    });
}

#[test]
fn a_query_of_the_wrong_shape_is_refused_with_the_field_named() {
    on_sqlite(|door| {
        for (path, code, field) in [
            ("/tasks?limit=many", "invalid_query", "limit"),
            ("/tasks?limit=0", "invalid_field", "limit"),
            ("/tasks?limit=201", "invalid_field", "limit"),
            ("/tasks?archived=maybe", "invalid_query", "archived"),
            ("/tasks?cursor=nowhere", "invalid_field", "cursor"),
            ("/tasks/some-task/close-report", "invalid_query", "action"),
            ("/tasks/some-task/close-report?action=burn", "invalid_field", "action"),
            ("/tasks/some-task/diff?path=a", "invalid_query", "repository_id"),
            ("/cleanup-jobs?state=sleeping", "invalid_field", "state"),
        ] {
            let error = door.ask("GET", &format!("/api/v1{path}"), "").error(400);
            assert_eq!((error.code.as_str(), error.subject.as_str()), (code, field), "{path}: {error:?}");
        }
    });
}

#[test]
fn what_does_not_exist_is_not_found_by_its_name() {
    on_both_engines(|door| {
        let new = serde_json::to_string(&new_task("nowhere", "A title", "", false)).unwrap();
        for (method, path, body) in [
            ("GET", "/repositories/nowhere/branches", ""),
            ("POST", "/tasks", new.as_str()),
            ("GET", "/tasks?workspace_id=nowhere", ""),
            ("GET", "/tasks/nowhere", ""),
            ("PATCH", "/tasks/nowhere", "{}"),
            ("DELETE", "/tasks/nowhere", ""),
            ("POST", "/tasks/nowhere/start", ""),
            ("POST", "/tasks/nowhere/archive", ""),
            ("GET", "/tasks/nowhere/close-report?action=archive", ""),
            ("GET", "/tasks/nowhere/changes", ""),
            ("GET", "/tasks/nowhere/diff?repository_id=x&path=a", ""),
            ("POST", "/tasks/nowhere/sessions", "{}"),
            ("GET", "/sessions/nowhere", ""),
            ("DELETE", "/sessions/nowhere", ""),
            ("POST", "/sessions/nowhere/prompt", r#"{"text":"go"}"#),
            ("POST", "/sessions/nowhere/cancel", ""),
            ("POST", "/sessions/nowhere/stop", ""),
            ("POST", "/sessions/nowhere/permissions/x", "{}"),
            ("GET", "/sessions/nowhere/messages", ""),
            ("POST", "/seals/nowhere/task", "{}"),
            ("GET", "/workspaces/nowhere/close-report", ""),
            ("GET", "/cleanup-jobs/nowhere", ""),
            ("POST", "/cleanup-jobs/nowhere/decision", r#"{"decision":"retry"}"#),
        ] {
            let error = door.ask(method, &format!("/api/v1{path}"), body).error(404);
            let found = (error.code.as_str(), error.subject.as_str());
            assert_eq!(found, ("not_found", "nowhere"), "{method} {path}: {error:?}");
        }
        assert_eq!(door.engine.facts().last_event, 0, "nothing was changed");
    });
}

#[test]
fn an_id_that_cannot_be_one_and_a_wrong_method_are_refused() {
    on_sqlite(|door| {
        assert_eq!(door.ask("GET", "/api/v1/tasks/a%20b", "").error(400).code, "invalid_id");
        assert_eq!(door.ask("GET", "/api/v1/tasks/%FF", "").error(400).code, "invalid_request");
        let wrong = door.ask("PUT", "/api/v1/tasks", "{}");
        assert_eq!(wrong.error(405).code, "method_not_allowed");
        wrong.has_header("allow: get,head,post");
        assert_eq!(door.ask("GET", "/api/v1/live", "").error(400).code, "invalid_request");
    });
}

#[test]
fn fields_that_cannot_be_used_are_refused() {
    on_sqlite(|door| {
        let repository = door.add_repository();
        let before = door.engine.facts().last_event;
        let task = |title: &str, prompt: &str| {
            serde_json::to_string(&new_task(&repository, title, prompt, false)).unwrap()
        };
        let unknown_branch =
            task("A title", "").replace(r#""base_branch":null"#, r#""base_branch":"nowhere""#);
        let folder = door.repo.home().to_str().unwrap();
        for (path, body, code) in [
            ("/tasks", task("  ", ""), "empty_title"),
            ("/tasks", task(&"x".repeat(10_000), ""), "title_too_long"),
            ("/tasks", unknown_branch, "invalid_git_input"),
            ("/tasks", r#"{"title":"A title","repositories":[]}"#.to_owned(), "invalid_field"),
            ("/repositories", format!(r#"{{"path":"{folder}"}}"#), "invalid_git_input"),
            ("/repositories", r#"{"path":"not/absolute"}"#.to_owned(), "invalid_git_input"),
            ("/agents", r#"{"name":"","command":"x"}"#.to_owned(), "invalid_field"),
            ("/agents", r#"{"name":"x","command":" "}"#.to_owned(), "invalid_field"),
        ] {
            let error = door.ask("POST", &format!("/api/v1{path}"), &body).error(400);
            assert_eq!(error.code, code, "{path}: {error:?}");
        }
        assert_eq!(door.engine.facts().last_event, before, "nothing was changed");
    });
}
