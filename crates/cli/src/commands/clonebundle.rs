//! `clonebundle`: bundles of a repository that are made before it is cloned.

use varve_exchange::server::clone_bundles::{
    CloneBundleOptions, DEFAULT_FORMATS, make_clone_bundles,
};
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Config, Context};
use varve_hgcli::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["clonebundle"],
    options: &[
        Flag::list(
            't',
            "type",
            "BUNDLESPEC",
            "what is made, instead of what the configuration or the program chooses",
        ),
        Flag::flag(
            'f',
            "force",
            "replace a list of clone bundles that was written by hand",
        ),
    ],
    arguments: 0..=1,
    synopsis: "[-f] [-t BUNDLESPEC]... [REPO]",
    summary: "make bundles that clones of a repository begin with",
    help: "Makes bundles of everything that others may see of the repository, in \
           .hg/bundle-cache, and lists them in .hg/clonebundles.manifest. Who clones from a server \
           that knows clone bundles takes the first one that suits, and pulls the rest. Own bundles \
           that were there before are removed when the new ones are listed; an interruption leaves \
           what was there.\n\n\
           Without --type the bundlespecs of clone-bundles.auto-generate.formats are made, or else \
           one compressed by zstd at level 15 on all cores and one of the store's files. The latter \
           is left out where anything is secret or obsolete.\n\n\
           Ends with 0, or with 1 if there was nothing to make.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    if let Some(path) = matches.arguments().first() {
        // The configuration of that repository decides about its bundles.
        context.switch_to(path)?;
    }
    let repository = context.repo.repository()?;
    let formats = formats(&context.config, matches);
    let options = CloneBundleOptions {
        formats: &formats,
        cache: &context.config.bundle_cache(),
        replaces_manifest: matches.flag("force"),
        publishing: context
            .config
            .is_publishing(&context.repo, &mut context.ui)?,
        progress: context.ui.progress.as_ref(),
        stop: &context.ui.stop,
    };
    let made = make_clone_bundles(&repository, &options)?;
    if made.left_out {
        context
            .ui
            .warn("no bundle of the store's files: it has secret or obsolete changesets\n")?;
    }
    for bundle in &made.bundles {
        context.ui.status(format!(
            "{}: {} changesets, {} bytes ({})\n",
            bundle.name, made.changesets, bundle.bytes, bundle.spec
        ))?;
    }
    if made.bundles.is_empty() {
        context.ui.status("no changesets found\n")?;
        return Ok(1);
    }
    Ok(0)
}

fn formats(config: &Config, matches: &Matches) -> Vec<String> {
    let text = |words: &[u8]| String::from_utf8_lossy(words).into_owned();
    let typed: Vec<String> = matches.list("type").iter().map(|t| text(t)).collect();
    if !typed.is_empty() {
        return typed;
    }
    let configured = config.list("clone-bundles", "auto-generate.formats");
    match configured.is_empty() {
        true => DEFAULT_FORMATS.map(str::to_owned).to_vec(),
        false => configured.iter().map(|format| text(format)).collect(),
    }
}
