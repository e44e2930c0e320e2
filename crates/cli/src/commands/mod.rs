//! Varve's own commands: those with arguments of `clap`, and those in the form of `hg`'s.

pub(crate) mod advise;
pub(crate) mod bench;
mod clonebundle;
mod dump;
mod export;
mod import;
mod load;
mod moving;
mod recompress;
pub(crate) mod serve;
mod shared;
mod verify;

use varve_hgcli::context::Command;

/// Commands besides those of `hg`, and commands of `hg` that need a server or a database.
pub(crate) const ADDITIONAL: &[&Command] = &[
    &clonebundle::COMMAND,
    &recompress::COMMAND,
    &serve::COMMAND,
    &verify::COMMAND,
];

/// The same under the name `varve`, with those that would be strange to users of `hg`.
pub(crate) const OF_VARVE_AND_HG: &[&Command] = &[
    &advise::COMMAND,
    &bench::COMMAND,
    &clonebundle::COMMAND,
    &dump::COMMAND,
    &export::COMMAND,
    &import::COMMAND,
    &load::COMMAND,
    &recompress::COMMAND,
    &SERVE,
    &shared::COMMAND,
    &verify::COMMAND,
];

/// `serve`, listed with both of its forms.
const SERVE: Command = Command {
    summary: "serve the repositories and databases of a directory, or one repository",
    ..serve::COMMAND
};
