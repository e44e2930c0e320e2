//! Where a repository is served: hosts and ports as Mercurial's users name them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use varve_config::hgrc::Hgrc;
use varve_hgcli::arguments::Matches;
use varve_hgcli::ui::user::host as full_name;
use varve_hgcli::ui::{Abort, system_words};

/// The default port.
const PORT: u16 = 8000;
/// The port that a URL of HTTP need not name.
const USUAL_PORT: u16 = 80;
/// Which service has which port.
const SERVICES: &str = "/etc/services";

/// Address of `-a`, `-p` and `-6`, or else of `[web]`.
#[derive(Debug)]
pub(super) struct Listening {
    /// As typed; empty for all addresses of this machine.
    host: String,
    /// 0 for any free one.
    pub(super) port: u16,
    is_v6: bool,
}

impl Listening {
    pub(super) fn read(config: &Hgrc, matches: &Matches) -> Result<Listening, Abort> {
        let ipv6 = config.boolean("web", "ipv6", false);
        Ok(Listening {
            is_v6: matches.flag("ipv6") || ipv6.map_err(Abort::Setting)?,
            port: port(&super::alone::setting(config, matches, "port"))?,
            host: super::alone::setting(config, matches, "address"),
        })
    }

    /// The address of the host.
    pub(super) fn address(&self) -> Result<IpAddr, Abort> {
        if self.host.is_empty() {
            return Ok(match self.is_v6 {
                true => Ipv6Addr::UNSPECIFIED.into(),
                false => Ipv4Addr::UNSPECIFIED.into(),
            });
        }
        let found = (&self.host[..], self.port).to_socket_addrs();
        let mut found = found.map_err(|error| self.refused(&lookup_words(&error)))?;
        let fits = found.find(|address| address.is_ipv6() == self.is_v6);
        fits.map(|address| address.ip()).ok_or_else(|| {
            self.refused(match self.host.parse::<IpAddr>() {
                Ok(_) => "Address family for hostname not supported",
                Err(_) => "No address associated with hostname",
            })
        })
    }

    /// Why nothing can be served there.
    pub(super) fn refused(&self, words: &str) -> Abort {
        let Listening { host, port, .. } = self;
        Abort::new(format!("cannot start server at '{host}:{port}': {words}"))
    }

    /// The URL of the server.
    pub(super) fn url(&self, bound: SocketAddr, prefix: &str) -> String {
        let host = match self.host.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => full_name(""),
            _ => full_name(&self.host),
        };
        let mut url = match host.contains(':') {
            true => format!("http://[{host}]"),
            false => format!("http://{host}"),
        };
        if bound.port() != USUAL_PORT {
            url.push_str(&format!(":{}", bound.port()));
        }
        url.push('/');
        if !prefix.is_empty() {
            url.push_str(prefix.trim_matches('/'));
            url.push('/');
        }
        url
    }
}

/// The address that is listened on, as Mercurial shows it.
pub(super) fn shown(bound: SocketAddr) -> String {
    match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => format!("*:{}", bound.port()),
        _ => bound.to_string(),
    }
}

/// A number or the name of a service; nothing is the usual port.
fn port(typed: &str) -> Result<u16, Abort> {
    if typed.is_empty() {
        return Ok(PORT);
    }
    if let Ok(number) = typed.trim().parse::<i64>() {
        let words = || Abort::new(format!("port {number} is not from 0 to 65535"));
        return u16::try_from(number).map_err(|_| words());
    }
    let services = std::fs::read(SERVICES).unwrap_or_default();
    let found = of_service(typed, &String::from_utf8_lossy(&services));
    let words = || Abort::new(format!("no port number associated with service '{typed}'"));
    found.ok_or_else(words)
}

/// `NAME PORT/PROTOCOL OTHER_NAME... # COMMENT` in each line.
fn of_service(name: &str, services: &str) -> Option<u16> {
    services.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let (first, place) = (words.next()?, words.next()?);
        let mut names = words.chain([first]);
        let port = place.split('/').next()?.parse().ok();
        port.filter(|_| names.any(|other| other == name))
    })
}

/// The system's words about a name that it does not find.
fn lookup_words(error: &io::Error) -> String {
    let words = system_words(error);
    let told = words.split_once("information: ").map(|(_, told)| told);
    told.unwrap_or(&words).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_all_their_names() {
        let services = "# names\nhttp\t\t80/tcp\t\twww web # World Wide Web\nx 7/udp\nbad\n";
        assert_eq!(of_service("http", services), Some(80));
        assert_eq!(of_service("web", services), Some(80));
        assert_eq!(of_service("x", services), Some(7));
        for unknown in ["World", "80", "bad", ""] {
            assert_eq!(of_service(unknown, services), None, "{unknown}");
        }
    }

    #[test]
    fn ports_are_numbers_in_any_form_that_python_reads() {
        for (typed, expected) in [("", 8000), ("0", 0), (" 17 ", 17), ("+80", 80)] {
            assert_eq!(port(typed).unwrap(), expected, "{typed}");
        }
        for (typed, words) in [
            ("70000", "abort: port 70000 is not from 0 to 65535"),
            ("-1", "abort: port -1 is not from 0 to 65535"),
            ("0x0", "abort: no port number associated with service '0x0'"),
        ] {
            assert_eq!(port(typed).unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn a_url_names_what_must_be_named() {
        let url = |host: &str, port: u16, prefix: &str| {
            let listening = Listening {
                host: host.to_owned(),
                port: 0,
                is_v6: false,
            };
            listening.url(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), prefix)
        };
        assert_eq!(url("192.0.2.1", 80, ""), "http://192.0.2.1/");
        assert_eq!(
            url("2001:db8::1", 81, "/x/y/"),
            "http://[2001:db8::1]:81/x/y/"
        );
        assert_eq!(shown("0.0.0.0:8".parse().unwrap()), "*:8");
        assert_eq!(shown("[::]:8".parse().unwrap()), "[::]:8");
    }
}
