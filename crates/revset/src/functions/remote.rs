//! `outgoing` and `remote`: sets that depend on other repositories.

use super::arguments;
use crate::tree::Expr;
use crate::{Engine, PeerRepositories, RevsetError, Set};
use varve_repo::Rev;

fn peers<'e>(engine: &'e Engine<'_>, name: &str) -> Result<&'e dyn PeerRepositories, RevsetError> {
    let peers = engine.context().peers.as_deref();
    peers.ok_or_else(|| {
        RevsetError::Missing(format!("no other repositories can be asked by {name} here"))
    })
}

/// Changesets that another repository lacks and a push would send.
pub(super) fn outgoing(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let destination = match arguments {
        [] => None,
        [path] => Some(arguments::word(
            path,
            "outgoing requires a repository path",
        )?),
        _ => return Err(RevsetError::parse("outgoing takes one or no arguments")),
    };
    let destination = destination.filter(|path| !path.is_empty());
    let revs = peers(engine, name)?.outgoing(engine.view(), destination)?;
    Set::list(revs.into_iter().map(Some).collect()).ascending(engine)
}

/// The changeset that a name stands for in another repository, if it is here too.
pub(super) fn remote(
    engine: &Engine<'_>,
    function: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let (name, source) = match arguments {
        [] => (None, None),
        [name] => (Some(name), None),
        [name, source] => (Some(name), Some(source)),
        _ => {
            let message = "remote takes zero, one, or two arguments";
            return Err(RevsetError::parse(message));
        }
    };
    let name = name.map(|name| arguments::word(name, "remote requires a string id"));
    let name = name.transpose()?.unwrap_or(b".");
    let source = source.map(|path| arguments::word(path, "remote requires a repository path"));
    let source = source.transpose()?.filter(|path| !path.is_empty());
    let peers = peers(engine, function)?;
    let branch;
    let name = match name {
        b"." => {
            branch = peers.working_branch()?;
            &branch[..]
        }
        name => name,
    };
    let node = peers.lookup(source.unwrap_or(b"default"), name)?;
    let known: Option<Rev> = engine.changelog().rev(&node);
    let known = known.filter(|rev| engine.view().is_visible(*rev));
    Ok(Set::list(known.into_iter().map(Some).collect()))
}
