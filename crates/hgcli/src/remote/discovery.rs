//! Settings and trace of discovery, for each connection.

use crate::context::Config;
use crate::ui::{Abort, Ui};
use varve_exchange::client::peer::Remote;
use varve_exchange::client::sampling::SamplingSettings;

/// Gives a connection `devel.discovery.*`, and prints its trace as verbosely as the command prints.
///
/// # Errors
/// A setting has a wrong value.
pub(crate) fn attend(ui: &Ui, config: &Config, remote: &mut Remote) -> Result<(), Abort> {
    ui.trace(remote);
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
