//! HTTP for both protocols: routing, users, sessions, tasks. The only async crate.
