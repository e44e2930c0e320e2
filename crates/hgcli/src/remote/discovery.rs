//! Discovery with the settings of the user.

use crate::context::Config;
use crate::ui::Abort;
use varve_exchange::client::discovery::Discovery;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::sampling::SamplingSettings;
use varve_repo::{Node, RepoView};

/// Begins to compare with `remote`.
///
/// # Errors
/// A setting has a wrong value, or the other side fails.
pub(crate) fn begin<'a>(
    config: &Config,
    view: &'a RepoView,
    remote: &mut Remote,
    heads: Option<&[Node]>,
) -> Result<Discovery<'a>, Abort> {
    configure(config, remote)?;
    Ok(Discovery::begin(view, remote, heads)?)
}

/// Gives a connection `devel.discovery.*`, as late as possible: a command that compares nothing is not refused for a
/// wrong value, and others print first with what they compare.
///
/// # Errors
/// A setting has a wrong value.
pub(crate) fn configure(config: &Config, remote: &mut Remote) -> Result<(), Abort> {
    remote.set_sampling(sampling(config)?);
    Ok(())
}

fn sampling(config: &Config) -> Result<SamplingSettings, Abort> {
    const SECTION: &str = "devel";
    let default = SamplingSettings::default();
    let size = |key: &str, default: usize| -> Result<usize, Abort> {
        let number = config.integer(SECTION, key)?;
        Ok(number.map_or(default, |number| usize::try_from(number).unwrap_or(0)))
    };
    let is_on = |key: &str| config.boolean(SECTION, key, true);
    let rate = config.number(SECTION, "discovery.grow-sample.rate")?;
    Ok(SamplingSettings {
        exchange_heads: is_on("discovery.exchange-heads")?,
        initial_size: size("discovery.sample-size.initial", default.initial_size)?,
        size: size("discovery.sample-size", default.size)?,
        growth: match is_on("discovery.grow-sample")? {
            true => rate.unwrap_or(default.growth),
            false => 1.0,
        },
        dynamic: is_on("discovery.grow-sample.dynamic")?,
        is_spread: is_on("discovery.randomize")?,
    })
}
