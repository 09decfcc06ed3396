//! A typed client for the HTTP interface and the live connection; blocking.
