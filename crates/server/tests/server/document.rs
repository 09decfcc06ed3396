//! The OpenAPI document describes every route, and the routes are those of the document.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::door::on_sqlite;

const ROUTES: &str = "
    GET /health
    GET /openapi.json
    GET /live
    GET /server
    GET /metrics
    GET /workspaces
    DELETE /workspaces/{id}
    GET /workspaces/{id}/close-report
    DELETE /workflows/{id}
    PATCH /steps/{id}
    GET /trash/workspaces
    GET /repositories
    POST /repositories
    GET /repositories/{id}
    PATCH /repositories/{id}
    POST /repositories/{id}/trust
    GET /repositories/{id}/branches
    GET /agents
    POST /agents
    GET /tasks
    POST /tasks
    GET /tasks/{id}
    PATCH /tasks/{id}
    DELETE /tasks/{id}
    POST /tasks/{id}/start
    POST /tasks/{id}/setup
    POST /tasks/{id}/archive
    GET /tasks/{id}/close-report
    POST /tasks/{id}/reset
    POST /tasks/{id}/transfer
    GET /tasks/{id}/closed-with
    POST /tasks/{id}/reopen
    GET /tasks/{id}/seals
    GET /seals/{id}/diff
    POST /seals/{id}/task
    GET /trash
    GET /trash/{id}
    DELETE /trash/{id}
    GET /tasks/{id}/changes
    GET /tasks/{id}/diff
    POST /tasks/{id}/sessions
    GET /sessions/{id}
    DELETE /sessions/{id}
    POST /sessions/{id}/prompt
    POST /sessions/{id}/cancel
    POST /sessions/{id}/stop
    POST /sessions/{id}/permissions/{request_id}
    GET /sessions/{id}/messages
    GET /cleanup-jobs
    GET /cleanup-jobs/{id}
    POST /cleanup-jobs/{id}/decision
    GET /storage
    POST /storage/measure
    GET /storage/quarantine
    POST /storage/quarantine
    GET /storage/quarantine/{id}
    DELETE /storage/quarantine/{id}
    POST /storage/quarantine/{id}/restore
    GET /storage/unowned
";

fn document() -> Value {
    serde_json::to_value(freehold_server::openapi()).unwrap()
}

/// Each operation of the document, with its method and path.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
    });
    operations.collect()
}

#[test]
fn the_document_names_every_route_and_no_other() {
    let document = document();
    let described: BTreeSet<String> = operations(&document)
        .iter()
        .map(|(method, path, _)| format!("{method} {}", path.strip_prefix("/api/v1").unwrap()))
        .collect();
    let expected: BTreeSet<String> = ROUTES.trim().lines().map(|line| line.trim().to_owned()).collect();
    assert_eq!(described, expected);
}

#[test]
fn every_described_route_exists_and_those_that_need_the_token_say_so() {
    on_sqlite(|door| {
        let host = format!("Host: {}", door.address());
        for (method, path, operation) in operations(&document()) {
            let answer = door.ask_with(&method, &path.replace(['{', '}'], ""), &[&host], "");
            let needs_token = operation.get("security").is_none();
            assert_eq!(answer.status == 401, needs_token, "{method} {path}: {answer:?}");
            assert!(![404, 405].contains(&answer.status), "{method} {path}: {answer:?}");
        }
    });
}

#[test]
fn every_error_is_described_in_the_same_shape() {
    for (method, path, operation) in operations(&document()) {
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.contains_key("default"), "{method} {path}");
        for (status, answer) in answers.iter().filter(|(status, _)| !status.starts_with(['1', '2'])) {
            let schema = &answer["content"]["application/json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/ErrorBody", "{method} {path} {status}");
        }
    }
}

#[test]
fn shapes_that_no_route_names_are_described_too() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    for name in [
        "LiveHello",
        "LiveFrame",
        "LiveEvent",
        "EventBody",
        "Message",
        "ToolCall",
        "ToolDiff",
        "Plan",
        "PlanEntry",
        "Permission",
        "PermissionOption",
    ] {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name} is named but not described");
    }
}
