//! The functions of the language.

mod arguments;
mod content;
mod derived;
mod diff_contains;
mod elsewhere;
mod files;
mod followed_lines;
mod graph;
mod line_history;
mod names;
mod obsolete;
mod order;
mod remote;
mod topo;

pub use line_history::{LineHistory, WorkingCopyFile};

use crate::tree::Expr;
use crate::{Engine, RevsetError, Set};
use varve_lang::did_you_mean;

type Function = fn(&Engine<'_>, &str, &[Expr]) -> Result<Set, RevsetError>;

/// Functions that Mercurial's help does not have, and that are not suggested.
const UNDOCUMENTED: &[&str] = &["tagged"];

/// All functions, sorted by name.
const FUNCTIONS: &[(&str, Function)] = &[
    ("_destmerge", elsewhere::merge_destination),
    ("_destrebase", elsewhere::rebase_destination),
    ("_list", names::list),
    ("_notpublic", names::not_public),
    ("adds", files::with_file_change),
    ("all", order::all),
    ("ancestor", graph::ancestor),
    ("ancestors", graph::ancestors),
    ("author", content::user),
    ("bisect", derived::bisect),
    ("bisected", derived::bisect),
    ("bookmark", names::bookmark),
    ("branch", names::branch),
    ("branchpoint", graph::branchpoint),
    ("bundle", elsewhere::bundle),
    ("children", graph::children),
    ("closed", content::closed),
    ("commonancestors", derived::common_ancestors),
    ("conflictlocal", elsewhere::conflict_side),
    ("conflictother", elsewhere::conflict_side),
    ("contains", files::contains),
    ("contentdivergent", obsolete::kind),
    ("converted", derived::converted),
    ("date", content::date),
    ("desc", content::description),
    ("descendants", graph::descendants),
    ("destination", derived::destination),
    ("diffcontains", diff_contains::diff_contains),
    ("draft", names::phase),
    ("expectsize", derived::expect_size),
    ("extra", content::extra),
    ("extinct", obsolete::extinct),
    ("file", files::file),
    ("filelog", files::filelog),
    ("first", order::limit),
    ("follow", files::follow),
    ("followlines", followed_lines::follow_lines),
    ("grep", content::grep),
    ("head", names::head),
    ("heads", graph::heads),
    ("hidden", obsolete::hidden),
    ("id", names::id),
    ("keyword", content::keyword),
    ("last", order::last),
    ("limit", order::limit),
    ("matching", derived::matching),
    ("max", order::max),
    ("merge", graph::merge),
    ("min", order::min),
    ("modifies", files::with_file_change),
    ("named", names::named),
    ("nodefromfile", elsewhere::node_from_file),
    ("none", order::none),
    ("obsolete", obsolete::kind),
    ("only", graph::only),
    ("origin", derived::origin),
    ("orphan", obsolete::kind),
    ("outgoing", remote::outgoing),
    ("p1", graph::first_parents),
    ("p2", graph::second_parents),
    ("parents", graph::parents),
    ("phasedivergent", obsolete::kind),
    ("present", order::present),
    ("public", names::phase),
    ("remote", remote::remote),
    ("removes", files::with_file_change),
    ("rev", names::rev),
    ("reverse", order::reverse),
    ("revset", derived::itself),
    ("roots", graph::roots),
    ("secret", names::phase),
    ("sort", order::sort),
    ("subrepo", elsewhere::subrepo),
    ("successors", obsolete::successors),
    ("tag", names::tag),
    ("tagged", names::tag),
    ("unstable", obsolete::kind),
    ("user", content::user),
    ("wdir", names::working_copy),
];

/// Calls a function by its name.
pub(crate) fn call(
    engine: &Engine<'_>,
    name: &[u8],
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let found = FUNCTIONS.iter().find(|(known, _)| known.as_bytes() == name);
    if let Some((name, function)) = found {
        return function(engine, name, arguments);
    }
    let name = String::from_utf8_lossy(name);
    let unknown = RevsetError::parse(format!("unknown identifier: {name}"));
    let names = FUNCTIONS.iter().map(|(known, _)| *known);
    let names = names.filter(|known| !known.starts_with('_') && !UNDOCUMENTED.contains(known));
    Err(match did_you_mean(&name, names) {
        Some(words) => unknown.hint(words),
        None => unknown,
    })
}
