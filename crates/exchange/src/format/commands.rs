//! The commands of the wire protocol: the parameters of each, and the form of its answer over a pair of
//! streams.

/// The keys that a command takes; a star takes all others.
pub(crate) type Parameters = &'static [&'static str];

/// Form of an answer over a pair of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Its length stands in front.
    Framed,
    /// Nothing stands in front.
    Raw,
    /// A bundle comes first.
    Push,
}

/// The commands: parameters of each and the form of its answer; a star takes all others.
const COMMANDS: &[(&str, Parameters, Form)] = &[
    ("batch", &["cmds", "*"], Form::Framed),
    ("between", &["pairs"], Form::Framed),
    ("branches", &["nodes"], Form::Framed),
    ("branchmap", &[], Form::Framed),
    ("capabilities", &[], Form::Framed),
    ("changegroup", &["roots"], Form::Raw),
    ("changegroupsubset", &["bases", "heads"], Form::Raw),
    ("clonebundles", &[], Form::Framed),
    ("clonebundles_manifest", &["*"], Form::Framed),
    ("get_cached_bundle_inline", &["path"], Form::Raw),
    ("getbundle", &["*"], Form::Raw),
    ("heads", &[], Form::Framed),
    ("hello", &[], Form::Framed),
    ("known", &["nodes", "*"], Form::Framed),
    ("listkeys", &["namespace"], Form::Framed),
    ("lookup", &["key"], Form::Framed),
    ("protocaps", &["caps"], Form::Framed),
    ("pushkey", &["namespace", "key", "old", "new"], Form::Framed),
    ("stream_out", &[], Form::Raw),
    ("unbundle", &["heads"], Form::Push),
];

pub(crate) fn known(name: &[u8]) -> Option<&'static (&'static str, Parameters, Form)> {
    COMMANDS.iter().find(|(known, ..)| known.as_bytes() == name)
}

/// The parameters of a command that is known, in the order in which they are sent.
pub(crate) fn parameters(name: &str) -> Parameters {
    known(name.as_bytes()).map_or(&[], |(_, parameters, _)| parameters)
}
