//! `[chttpd] trusted_proxies` and `allowed_hosts`: which proxies are believed, and which names a server answers to.

use crate::{ConfigError, Ini, Setting};
use std::net::IpAddr;

/// Which of the things that a request says about its own way are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// `trusted_proxies`: their `X-Forwarded-Proto`, `-Host` and `-For` are believed; default none.
    pub proxies: Vec<Network>,
    /// `allowed_hosts`: names in `Host`, besides `localhost` and IP addresses. Without the setting every name is
    /// allowed, unless the server listens on a loopback address.
    pub hosts: Option<Vec<String>>,
}

/// An address, or all addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Leading bits that count.
    bits: u32,
}

impl Network {
    /// Reads `10.0.0.1`, `10.0.0.0/8` or `fd00::/8`.
    fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        (bits <= most).then_some(Network { address, bits })
    }

    /// Whether the address is one of these. An IPv4 address counts also where it is written as IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (known, width) = number(self.address);
        let (given, other) = number(address.to_canonical());
        let unused = width - self.bits;
        width == other && (unused == 128 || known >> unused == given >> unused)
    }
}

/// The bits of an address, and how many there are.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    }
}

pub(crate) fn read(ini: &Ini) -> Result<Trust, ConfigError> {
    let of = |key| ini.get("chttpd", key);
    let proxies = of("trusted_proxies").map_or(Ok(Vec::new()), networks)?;
    let hosts = of("allowed_hosts").map(|setting| {
        let names = setting.list().into_iter();
        names.map(|name| name.to_ascii_lowercase()).collect()
    });
    Ok(Trust { proxies, hosts })
}

fn networks(setting: &Setting) -> Result<Vec<Network>, ConfigError> {
    let words = setting.list();
    let networks = words.iter().map(|word| Network::parse(word)).collect();
    let networks: Option<Vec<_>> = networks;
    networks.ok_or_else(|| setting.refuse("a list of IP addresses and networks such as 10.0.0.0/8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn trust(text: &str) -> Result<Trust, String> {
        let ini = Ini::parse(Path::new("varve.ini"), &format!("[chttpd]\n{text}")).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn networks_hold_the_addresses_that_begin_alike() {
        let proxies = trust("trusted_proxies = 10.0.0.0/8, 192.0.2.7, fd00::/8 [::1]")
            .unwrap()
            .proxies;
        let is_trusted = |address: &str| {
            let address = address.parse().unwrap();
            proxies.iter().any(|network| network.contains(address))
        };
        for known in [
            "10.255.0.1",
            "192.0.2.7",
            "fd12::1",
            "::1",
            "::ffff:10.1.2.3",
        ] {
            assert!(is_trusted(known), "{known}");
        }
        for untrusted in ["11.0.0.1", "192.0.2.8", "fe00::1", "::2", "127.0.0.1"] {
            assert!(!is_trusted(untrusted), "{untrusted}");
        }
        let all = trust("trusted_proxies = 0.0.0.0/0 ::/0").unwrap().proxies;
        assert!(all[0].contains("1.2.3.4".parse().unwrap()));
        assert!(
            !all[0].contains("::1".parse().unwrap()) && all[1].contains("::1".parse().unwrap())
        );
    }

    #[test]
    fn only_named_proxies_are_trusted() {
        assert_eq!(trust(""), Ok(Trust::default()));
        let hosts = trust("allowed_hosts = Db.Example, *").unwrap().hosts;
        assert_eq!(hosts.unwrap(), ["db.example", "*"]);
        for wrong in ["proxy", "10.0.0.0/33", "::/129", "10.0.0.0/x"] {
            let told = trust(&format!("trusted_proxies = {wrong}")).unwrap_err();
            let words = "a list of IP addresses and networks such as 10.0.0.0/8";
            assert!(told.contains(words), "{told}");
        }
    }
}
