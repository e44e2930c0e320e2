//! A bundle of the store's files.

use super::failed;
use crate::context::{Config, Repo};
use crate::remote::bundle_output::BundleOutput;
use crate::ui::{Abort, Ui};
use varve_exchange::format::bundlespec::BundleContents;
use varve_exchange::generate::{StreamBundle, StreamExtras};

/// Writes it, in the form that the bundlespec names.
pub(super) fn write(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    target: &mut BundleOutput,
    form: &str,
    contents: &BundleContents,
) -> Result<(), Abort> {
    let view = repo.view()?;
    let may = |key: &str, usual| {
        let allowed = config.boolean("server", key, usual);
        allowed.map_err(Abort::Setting)
    };
    let secret = view.phases().any_secret() && !may("uncompressedallowsecret", false)?;
    if !may("uncompressed", true)? || secret {
        let words = "stream data requested but server does not allow this feature";
        return Err(Abort::new(words).hint("the client seems buggy"));
    }
    if form != "v2" {
        let words = format!("no common supported version with the client: v2; {form}");
        return Err(Abort::new(words));
    }
    if view.has_obsolete()? && !contents.obsolescence {
        let words =
            "server has obsolescence markers, but client cannot receive them via stream clone";
        return Err(Abort::new(words));
    }
    let extras = StreamExtras {
        phases: !config.is_publishing(repo, ui)?,
        markers: contents.obsolescence,
        caches: true,
    };
    let bundle = StreamBundle::plan(&repo.repository()?, &view, extras)?;
    if ui.verbosity.debug {
        ui.write(
            "scanning\n\
             bundle2-output-bundle: \"HG20\", 1 parts total\n\
             bundle2-output-part: \"stream2\" (params: 3 mandatory) streamed payload\n",
        )?;
    }
    target.write(&repo.cwd, ui, &mut |ui, out| {
        bundle.write_bundle2(out, &ui.stop).map_err(failed)
    })
}
