//! The address at which this server answers, by which it recognises URLs of its own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListeningAddress {
    /// Address and port.
    pub(crate) socket: SocketAddr,
    /// Whether all connections are TLS.
    pub(crate) is_encrypted: bool,
    /// The path below which everything is: nothing, or `/a/b`.
    pub(crate) prefix: String,
}

impl ListeningAddress {
    /// The protocol of its URLs.
    pub(crate) fn scheme(&self) -> &'static str {
        match self.is_encrypted {
            true => "https",
            false => "http",
        }
    }

    /// The URL by which this machine reaches it, without a slash at its end.
    pub(crate) fn url(&self) -> String {
        let mut socket = self.socket;
        match socket.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => socket.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => socket.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("{}://{socket}{}", self.scheme(), self.prefix)
    }

    /// Whether a connection from this machine to `to` arrives here.
    pub(crate) fn takes(&self, to: SocketAddr) -> bool {
        if to.port() != self.socket.port() {
            return false;
        }
        let (own, asked) = (self.socket.ip(), to.ip().to_canonical());
        match own {
            _ if own.to_canonical() == asked => true,
            // It takes connections of both families.
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => is_of_this_machine(asked),
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => asked.is_ipv4() && is_of_this_machine(asked),
            _ => false,
        }
    }
}

/// Whether an address belongs to this machine: no socket can be bound to another one's.
pub(crate) fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(socket: &str) -> ListeningAddress {
        ListeningAddress {
            socket: socket.parse().unwrap(),
            is_encrypted: false,
            prefix: String::new(),
        }
    }

    fn takes(own: &str, to: &str) -> bool {
        address(own).takes(to.parse().unwrap())
    }

    #[test]
    fn the_url_leads_here_also_from_a_listener_on_all_addresses() {
        for (socket, url) in [
            ("192.0.2.1:5984", "http://192.0.2.1:5984"),
            ("0.0.0.0:1", "http://127.0.0.1:1"),
            ("[::]:1", "http://[::1]:1"),
        ] {
            assert_eq!(address(socket).url(), url);
        }
        let below = ListeningAddress {
            is_encrypted: true,
            prefix: "/a/b".to_owned(),
            ..address("127.0.0.1:1")
        };
        assert_eq!(below.url(), "https://127.0.0.1:1/a/b");
    }

    #[test]
    fn only_addresses_of_this_machine_and_of_the_listener_lead_here() {
        assert!(takes("127.0.0.1:1", "127.0.0.1:1"));
        assert!(takes("0.0.0.0:1", "127.0.0.2:1"));
        assert!(takes("[::]:1", "127.0.0.1:1") && takes("[::]:1", "[::1]:1"));
        assert!(takes("127.0.0.1:1", "[::ffff:127.0.0.1]:1"));
        for (own, to) in [
            ("127.0.0.1:1", "127.0.0.1:2"),
            ("127.0.0.1:1", "127.0.0.2:1"),
            ("127.0.0.1:1", "[::1]:1"),
            ("0.0.0.0:1", "[::1]:1"),
            // Documentation's own, which no machine has.
            ("0.0.0.0:1", "192.0.2.1:1"),
            ("[::]:1", "[2001:db8::1]:1"),
        ] {
            assert!(!takes(own, to), "{own} {to}");
        }
    }
}
