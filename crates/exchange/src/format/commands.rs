//! The commands of the wire protocol: the parameters of each, and the form of its answer over a pair of
//! streams.

/// The keys that a command takes; a star takes all others.
pub(crate) type Parameters = &'static [&'static str];

/// Form of an answer over a pair of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// Its length stands in front.
    Framed,
    /// Nothing stands in front.
    Raw,
    /// A bundle comes first.
    Push,
}

/// The commands: parameters of each and the form of its answer; a star takes all others.
const COMMANDS: &[(&str, Parameters, AnswerForm)] = &[
    ("batch", &["cmds", "*"], AnswerForm::Framed),
    ("between", &["pairs"], AnswerForm::Framed),
    ("branches", &["nodes"], AnswerForm::Framed),
    ("branchmap", &[], AnswerForm::Framed),
    ("capabilities", &[], AnswerForm::Framed),
    ("changegroup", &["roots"], AnswerForm::Raw),
    ("changegroupsubset", &["bases", "heads"], AnswerForm::Raw),
    ("clonebundles", &[], AnswerForm::Framed),
    ("clonebundles_manifest", &["*"], AnswerForm::Framed),
    ("debugwireargs", &["one", "two", "*"], AnswerForm::Framed),
    ("get_cached_bundle_inline", &["path"], AnswerForm::Raw),
    ("getbundle", &["*"], AnswerForm::Raw),
    ("heads", &[], AnswerForm::Framed),
    ("hello", &[], AnswerForm::Framed),
    ("known", &["nodes", "*"], AnswerForm::Framed),
    ("listkeys", &["namespace"], AnswerForm::Framed),
    ("lookup", &["key"], AnswerForm::Framed),
    ("protocaps", &["caps"], AnswerForm::Framed),
    (
        "pushkey",
        &["namespace", "key", "old", "new"],
        AnswerForm::Framed,
    ),
    ("stream_out", &[], AnswerForm::Raw),
    ("unbundle", &["heads"], AnswerForm::Push),
];

pub(crate) fn known(name: &[u8]) -> Option<&'static (&'static str, Parameters, AnswerForm)> {
    COMMANDS.iter().find(|(known, ..)| known.as_bytes() == name)
}

/// The parameters of a command that is known, in the order in which they are sent.
pub(crate) fn parameters(name: &str) -> Parameters {
    known(name.as_bytes()).map_or(&[], |(_, parameters, _)| parameters)
}
