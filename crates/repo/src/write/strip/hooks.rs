//! Hooks that hear of a strip. Mercurial takes three transactions for this one: it cuts the
//! store, restores the changesets above the cut, and writes the bookmarks anew. All three are asked
//! for before anything is written, so that a refusal leaves the repository untouched.

use super::names::bundle_name;
use super::renumbering::Renumbering;
use crate::format::RepoError;
use crate::read::RepoView;
use crate::write::transaction_hooks::TransactionHooks;
use varve_revlog::{Node, Rev};

/// Mercurial's name for the source of changesets that it stores again.
const SOURCE: &str = "strip";

/// Opens and asks all transactions after the `first` one; they are to be closed when it is done.
pub(super) fn ask(
    first: TransactionHooks,
    view: &RepoView,
    numbers: &Renumbering,
) -> Result<Vec<TransactionHooks>, RepoError> {
    first.run_pretxnclose_without_pending()?;
    let mut hooks = vec![first];
    let again: Vec<Rev> = numbers.again().map(|(old, _)| old).collect();
    if !again.is_empty() {
        let mut stored = hooks[0].open_another("strip")?;
        let node = |rev: &Rev| view.changelog().node(*rev);
        let nodes: Vec<Node> = again.iter().map(node).collect();
        stored.set_restored_changesets(&nodes, SOURCE, url(view, numbers, &nodes));
        for rev in &again {
            stored.add_phase_change(&node(rev), None, view.phases().of(*rev));
        }
        stored.run_pretxnclose()?;
        hooks.push(stored);
    }
    let mut repair = hooks[0].open_another("repair")?;
    repair.set_bookmarks_written();
    repair.run_pretxnclose()?;
    hooks.push(repair);
    Ok(hooks)
}

/// URL of the bundle from which Mercurial restores changesets.
fn url(view: &RepoView, numbers: &Renumbering, nodes: &[Node]) -> Vec<u8> {
    let oldest = view.changelog().node(Rev(numbers.first() as u32));
    let directory = view.root().join(".hg/strip-backup");
    let path = directory.join(bundle_name(&oldest, nodes, "temp"));
    [b"bundle:", path.as_os_str().as_encoded_bytes()].concat()
}
