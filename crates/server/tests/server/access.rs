//! Who may ask: the token, the `Host` and the `Origin`; and that nothing is opened to other origins.

use std::net::{SocketAddr, TcpStream};

use freehold_api::client::{Client, ClientError, LiveStream};
use freehold_api::live::LiveFrame;
use freehold_server::{ServerError, ServerOptions, serve};
use tungstenite::client::IntoClientRequest as _;

use crate::door::{Door, on_sqlite};

/// The status of reading about the server with these headers.
fn status_with(door: &Door, headers: &[String]) -> u16 {
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    door.ask_with("GET", "/api/v1/server", &headers, "").status
}

fn bearer(door: &Door) -> String {
    format!("Authorization: Bearer {}", door.token.reveal())
}

#[test]
fn every_call_needs_the_token_but_health_and_the_document() {
    on_sqlite(|door| {
        let host = format!("Host: {}", door.address());
        let wrong = "0".repeat(64);
        for authorization in [
            String::new(),
            format!("Authorization: Bearer {wrong}"),
            "Authorization: Bearer".to_owned(),
            format!("Authorization: Basic {}", door.token.reveal()),
            format!("Authorization: Bearer {}0", door.token.reveal()),
            format!("Cookie: token={}", door.token.reveal()),
        ] {
            let headers: Vec<&str> =
                [host.as_str(), &authorization].into_iter().filter(|header| !header.is_empty()).collect();
            let error = door.ask_with("GET", "/api/v1/server", &headers, "").error(401);
            assert_eq!(error.code, "unauthorized", "{authorization}");
            let path = format!("/api/v1/server?token={}", door.token.reveal());
            assert_eq!(door.ask_with("GET", &path, &headers, "").status, 401);
        }
        assert_eq!(status_with(door, &[host.clone(), bearer(door)]), 200);
        for open in ["/api/v1/health", "/api/v1/openapi.json"] {
            assert_eq!(door.ask_with("GET", open, &[&host], "").status, 200, "{open}");
        }
        let refused = Client::new(&door.address(), &wrong).tasks(&Default::default()).unwrap_err();
        assert!(matches!(refused, ClientError::Refused { status: 401, .. }), "{refused:?}");
    });
}

#[test]
fn the_host_must_be_one_of_the_servers_own_names() {
    on_sqlite(|door| {
        let port = door.port();
        for own in ["127.0.0.1", "localhost", "[::1]"] {
            assert_eq!(status_with(door, &[format!("Host: {own}:{port}"), bearer(door)]), 200, "{own}");
        }
        let foreign = [
            "Host: evil.test".to_owned(),
            format!("Host: evil.test:{port}"),
            format!("Host: 127.0.0.1.evil.test:{port}"),
            format!("Host: localhost.:{port}"),
            format!("Host: 127.0.0.1:{port}@evil.test"),
            format!("Host: 127.0.0.1:{}", port ^ 1),
            "Host: 127.0.0.1".to_owned(),
            "Host: ".to_owned(),
        ];
        for host in foreign {
            assert_eq!(status_with(door, &[host.clone(), bearer(door)]), 403, "{host}");
            assert_eq!(door.ask_with("GET", "/", &[&host], "").status, 403, "also for pages: {host}");
        }
        let twice = [format!("Host: 127.0.0.1:{port}"), "Host: evil.test".to_owned(), bearer(door)];
        assert_ne!(status_with(door, &twice), 200);
        assert_ne!(status_with(door, &[bearer(door)]), 200, "a missing Host");
    });
}

#[test]
fn a_page_of_another_origin_is_refused_even_with_the_token() {
    on_sqlite(|door| {
        let port = door.port();
        let host = format!("Host: 127.0.0.1:{port}");
        for own in ["127.0.0.1", "localhost", "[::1]"] {
            let origin = format!("Origin: http://{own}:{port}");
            assert_eq!(status_with(door, &[host.clone(), origin, bearer(door)]), 200, "{own}");
        }
        for foreign in [
            "http://evil.test".to_owned(),
            "null".to_owned(),
            "http://127.0.0.1".to_owned(),
            format!("https://127.0.0.1:{port}"),
            format!("http://127.0.0.1:{port}.evil.test"),
            format!("http://evil.test#http://127.0.0.1:{port}"),
            format!("http://127.0.0.1:{}", port ^ 1),
        ] {
            let headers = [host.clone(), format!("Origin: {foreign}"), bearer(door)];
            assert_eq!(status_with(door, &headers), 403, "{foreign}");
        }
        assert_eq!(status_with(door, std::slice::from_ref(&host)), 401, "no origin and no token");
    });
}

#[test]
fn nothing_is_opened_to_other_origins() {
    on_sqlite(|door| {
        let host = format!("Host: {}", door.address());
        let evil = "Origin: http://evil.test";
        let preflight = "Access-Control-Request-Method: POST";
        let answers = [
            door.ask("GET", "/api/v1/workspaces", ""),
            door.ask("OPTIONS", "/api/v1/tasks", ""),
            door.ask_with("OPTIONS", "/api/v1/tasks", &[&host, evil, preflight], ""),
            door.ask_with("GET", "/api/v1/health", &[&host, evil], ""),
        ];
        for answer in &answers {
            assert!(!answer.head.contains("access-control-"), "{answer:?}");
        }
        assert_eq!(answers[2].error(403).code, "foreign_origin");
    });
}

#[test]
fn a_page_of_another_origin_gets_no_live_connection() {
    on_sqlite(|door| {
        let url = format!("ws://{}/api/v1/live", door.address());
        let connect = |origin: Option<String>| {
            let mut request = url.as_str().into_client_request().unwrap();
            if let Some(origin) = origin {
                request.headers_mut().insert("origin", origin.parse().unwrap());
            }
            tungstenite::client(request, TcpStream::connect(door.address()).unwrap())
        };
        for evil in ["http://evil.test", "null", "https://127.0.0.1"] {
            let Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) =
                connect(Some(evil.to_owned()))
            else {
                panic!("{evil} was let in");
            };
            assert_eq!(answer.status(), 403, "{evil}");
        }
        assert!(connect(Some(format!("http://{}", door.address()))).is_ok());
        assert!(connect(None).is_ok(), "programs send no origin; the first frame brings the token");
    });
}

#[test]
fn the_live_connection_needs_the_token_in_its_first_frame() {
    on_sqlite(|door| {
        let mut live = LiveStream::connect(&door.address(), &"0".repeat(64), None).unwrap();
        assert!(matches!(live.next_frame().unwrap(), LiveFrame::Refused { .. }));
        assert!(live.next_frame().is_err(), "the connection is closed");
    });
}

#[test]
fn an_address_that_others_could_reach_is_refused() {
    on_sqlite(|door| {
        for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "127.0.0.2:0"] {
            let listen: SocketAddr = listen.parse().unwrap();
            let options = ServerOptions { listen, token: door.token.clone(), home: "/".into() };
            let refused = door.runtime.block_on(serve(door.engine.clone(), options)).unwrap_err();
            assert!(matches!(refused, ServerError::NotLoopback { .. }), "{refused}");
            assert!(refused.to_string().contains("127.0.0.1 or ::1 only"), "{refused}");
        }
        let listen = door.address().parse().unwrap();
        let options = ServerOptions { listen, token: door.token.clone(), home: "/".into() };
        let taken = door.runtime.block_on(serve(door.engine.clone(), options)).unwrap_err();
        assert!(matches!(taken, ServerError::Listen { .. }), "{taken}");
    });
}
