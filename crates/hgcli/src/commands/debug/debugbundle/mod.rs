//! `debugbundle`: the contents of a bundle.

mod parts;
mod spec;

use crate::arguments::{Flag, Matches};
use crate::context::location::without_address;
use crate::context::{Command, Context};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_exchange::ExchangeError;
use varve_exchange::format::bundle::{Bundle, open_bundle};
use varve_exchange::format::changegroup::{ChangegroupReader, Group, NodeBytes};
use varve_exchange::format::input::Finish;
use varve_exchange::format::limits::BundleLimits;
use varve_repo::Node;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugbundle"],
    options: &[
        Flag::flag('a', "all", "every delta, not only changesets"),
        Flag::long_list("part-type", "VALUE", "only parts of this kind"),
        Flag::long_flag("spec", "only the bundlespec"),
    ],
    arguments: 1..=1,
    synopsis: "FILE",
    summary: "list what a bundle holds",
    help: "Lists the parts of the bundle FILE and the changesets in it; with --all, every delta with \
           its parents, changeset, base and length.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let name = &matches.arguments()[0];
    let (engine, bundle) = open(&context.repo.cwd, name)?;
    let all = matches.flag("all");
    if matches.flag("spec") {
        let spec = spec::of(bundle, engine.as_ref().map(|it| &it[..]))?;
        context.ui.write(spec + "\n")?;
        return Ok(0);
    }
    match bundle {
        Bundle::Bundle10(mut changes) => list(&mut context.ui, &mut changes, "", all)?,
        Bundle::Bundle20(parts) => parts::list(&mut context.ui, matches, parts)?,
        Bundle::Packed(_) => {
            return Err(Abort::input("packed bundles hold files, and no parts")
                .hint("use 'hg debugbundle --spec'"));
        }
    }
    Ok(0)
}

/// Opens a bundle; one of the first version with the letters of its engine.
fn open<'a>(cwd: &Path, name: &[u8]) -> Result<(Option<[u8; 2]>, Bundle<'a>), Abort> {
    let path = without_address(name);
    let shown = String::from_utf8_lossy(path);
    if shown.contains("://") {
        return Err(Abort::input(format!("cannot read a bundle from {shown}"))
            .hint("only bundles that are files of this machine can be read"));
    }
    let path = Path::new(OsStr::from_bytes(path));
    let refused = |error: std::io::Error| Abort::file(&error, path);
    let open = || File::open(cwd.join(path)).map_err(refused);
    if open()?.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(refused(rustix::io::Errno::ISDIR.into()));
    }
    let mut start = Vec::new();
    open()?.take(6).read_to_end(&mut start).map_err(refused)?;
    let engine = start
        .strip_prefix(b"HG10")
        .and_then(|engine| engine.first_chunk());
    let failed = |error: ExchangeError| Abort::of_bundle(error, path.as_os_str().as_bytes());
    let bundle = open_bundle(open()?, BundleLimits::default()).map_err(failed)?;
    Ok((engine.copied(), bundle))
}

/// Lists a changegroup: the changesets, or with `all` every delta.
fn list<R: Read + Finish>(
    ui: &mut Ui,
    changes: &mut ChangegroupReader<R>,
    indent: &str,
    all: bool,
) -> Result<(), Abort> {
    if all {
        let words = "format: id, p1, p2, cset, delta base, len(delta)";
        ui.write(format!("{indent}{words}\n"))?;
    }
    let mut patch = Vec::new();
    while let Some(group) = changes.next_group()? {
        if all {
            let name = match &group {
                Group::Changesets => b"changelog",
                Group::Manifests => &b"manifest"[..],
                Group::File(path) => path,
            };
            ui.write([b"\n", indent.as_bytes(), name, b"\n"].concat())?;
        }
        while let Some(header) = changes.next_delta(&mut patch)? {
            ui.stop.check().map_err(varve_repo::RepoError::from)?;
            if all {
                let nodes = [
                    header.node,
                    header.p1,
                    header.p2,
                    header.changeset,
                    header.base,
                ];
                let nodes = nodes.map(hex).join(" ");
                ui.write(format!("{indent}{nodes} {}\n", patch.len()))?;
            } else if group == Group::Changesets {
                ui.write(format!("{indent}{}\n", hex(header.node)))?;
            }
        }
    }
    Ok(())
}

fn hex(node: NodeBytes) -> String {
    Node(node).to_string()
}
