//! Hooks that hear of a strip. Mercurial takes three transactions for what is one here: it cuts the
//! store, stores again what stood above the cut, and writes the bookmarks anew. All three are asked
//! for before anything is written, so that whoever refuses finds everything as it was.

use super::names::bundle_name;
use super::numbers::Numbers;
use crate::format::RepoError;
use crate::read::RepoView;
use crate::write::transaction_hooks::Moments;
use varve_revlog::{Node, Rev};

/// What Mercurial calls the source of what it stores again.
const SOURCE: &str = "strip";

/// Opens and asks all transactions after the `first` one; they are to be closed when it is done.
pub(super) fn ask(
    first: Moments,
    view: &RepoView,
    numbers: &Numbers,
) -> Result<Vec<Moments>, RepoError> {
    first.closing_unseen()?;
    let mut moments = vec![first];
    let again: Vec<Rev> = numbers.again().map(|(old, _)| old).collect();
    if !again.is_empty() {
        let mut stored = moments[0].another("strip")?;
        let node = |rev: &Rev| view.changelog().node(*rev);
        let nodes: Vec<Node> = again.iter().map(node).collect();
        stored.received(&nodes, SOURCE, url(view, numbers, &nodes));
        for rev in &again {
            stored.phase(&node(rev), None, view.phases().of(*rev));
        }
        stored.closing()?;
        moments.push(stored);
    }
    let mut repair = moments[0].another("repair")?;
    repair.bookmarks_written();
    repair.closing()?;
    moments.push(repair);
    Ok(moments)
}

/// Where Mercurial keeps meanwhile what it stores again.
fn url(view: &RepoView, numbers: &Numbers, nodes: &[Node]) -> Vec<u8> {
    let oldest = view.changelog().node(Rev(numbers.first() as u32));
    let folder = view.root().join(".hg/strip-backup");
    let path = folder.join(bundle_name(&oldest, nodes, "temp"));
    [b"bundle:", path.as_os_str().as_encoded_bytes()].concat()
}
