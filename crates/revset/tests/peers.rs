//! Queries that ask other repositories, over one whose answers are made up.

use super::memory::{History, answer, engine};
use std::sync::Arc;
use varve_repo::{Node, RepoView, Rev};
use varve_revset::{Engine, PeerError, PeerName, PeerRepositories, RevsetError};

/// Lacks all changesets but the first two, and knows two names.
#[derive(Debug)]
struct MadeUp {
    first: Node,
    unknown: Node,
}

impl PeerRepositories for MadeUp {
    fn outgoing(&self, view: &RepoView, path: Option<&[u8]>) -> Result<Vec<Rev>, PeerError> {
        match path {
            Some(b"nowhere") => Err(PeerError("no such repository".into())),
            _ => Ok(view
                .changelog()
                .revs()
                .skip(2)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect()),
        }
    }

    fn lookup(&self, source: &[u8], name: &[u8]) -> Result<Node, PeerError> {
        match (source, name) {
            (b"default", b"here") | (b"other", b"mark") => Ok(self.first),
            (_, b"there") => Ok(self.unknown),
            _ => Err(PeerError("unknown revision".into())),
        }
    }

    fn names(&self) -> Result<Vec<PeerName>, PeerError> {
        Ok(Vec::new())
    }

    fn working_branch(&self) -> Result<Vec<u8>, PeerError> {
        Ok(b"here".to_vec())
    }
}

fn asked(query: &str) -> Result<Vec<i64>, RevsetError> {
    let mut history = History::new();
    history.commit(&[]);
    history.commit(&[0]);
    history.commit(&[1]);
    history.commit(&[1]);
    let first = history.node(0);
    let view = history.finish();
    let mut context = engine(&view, &[]).context().clone();
    context.peers = Some(Arc::new(MadeUp {
        first,
        unknown: Node([7; Node::LEN]),
    }));
    let engine = Engine::new(context);
    let set = engine.query(query.as_bytes())?;
    super::memory::numbers(&engine, &set)
}

#[test]
fn what_another_repository_lacks_ascends() {
    for query in ["outgoing()", "outgoing('')", "outgoing(somewhere)"] {
        assert_eq!(asked(query).unwrap(), [2, 3], "{query}");
    }
    assert_eq!(asked("reverse(outgoing())").unwrap(), [3, 2]);
    assert_eq!(asked("parents(outgoing() - 3)").unwrap(), [1]);
}

#[test]
fn a_name_of_another_repository_is_found_here() {
    for query in [
        "remote()",
        "remote(here)",
        "remote(., default)",
        "remote(mark, other)",
    ] {
        assert_eq!(asked(query).unwrap(), [0], "{query}");
    }
    assert_eq!(asked("remote(there)").unwrap(), [0_i64; 0]);
}

#[test]
fn errors_of_other_repositories_and_wrong_arguments_are_reported() {
    for (query, message) in [
        ("outgoing(nowhere)", "no such repository"),
        ("remote(nosuch)", "unknown revision"),
        ("outgoing(1, 2)", "outgoing takes one or no arguments"),
        ("outgoing(0:1)", "outgoing requires a repository path"),
        (
            "remote(1, 2, 3)",
            "remote takes zero, one, or two arguments",
        ),
        ("remote(:)", "remote requires a string id"),
        ("remote(1, :)", "remote requires a repository path"),
    ] {
        assert_eq!(asked(query).unwrap_err().to_string(), message, "{query}");
    }
}

#[test]
fn nothing_is_asked_without_a_way_to_others() {
    let mut history = History::new();
    history.commit(&[]);
    let view = history.finish();
    let engine = engine(&view, &[]);
    assert_eq!(answer(&engine, "all()"), [0]);
    assert!(engine.query(b"outgoing()").is_err() && engine.query(b"remote()").is_err());
}
