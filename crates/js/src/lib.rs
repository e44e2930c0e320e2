//! The JavaScript engine that runs map, reduce, filter and validate functions within limits.
