//! HTTP and WebSocket doors, and the embedded web app.
