//! Other repositories as a client sees them: a real `hg serve` over HTTP, and one on this machine.

use crate::client::Served;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_exchange::ExchangeError;
use varve_exchange::LocalPeer;
use varve_exchange::client::discovery::discover;
use varve_exchange::client::peer::{HttpOptions, HttpPeer, Remote};
use varve_exchange::client::pull::BundleRequest;
use varve_exchange::format::bundle::{Bundle, open_bundle};
use varve_exchange::format::limits::BundleLimits;
use varve_exchange::server::wire::WireSettings;
use varve_repo::{Node, Repository, ViewFilter};
use varve_testkit::peers::HgServer;

fn repository(path: &Path) -> Repository {
    Repository::open(Arc::new(DiskStorage::new(path)), Path::new("")).unwrap()
}

fn http(url: &str) -> Result<Remote, ExchangeError> {
    Remote::connect(Box::new(
        HttpPeer::new(url, &HttpOptions::default()).unwrap(),
    ))
}

fn local(path: &Path) -> Remote {
    let peer = LocalPeer::new(repository(path), WireSettings::default());
    Remote::connect(Box::new(peer)).unwrap()
}

fn serve(served: &Served) -> HgServer {
    served.hg.serve(&served.source())
}

/// Three changesets on two branches, and a bookmark.
fn small() -> Served {
    let served = Served::empty();
    served.commit("one", &[("a", "1\n")]);
    served.commit("two", &[("a", "2\n")]);
    served.hg(&["update", "-q", "0"]);
    served.commit("three", &[("b", "3\n")]);
    served.hg(&["bookmark", "-r", "1", "mark \u{e4}"]);
    served
}

#[test]
fn commands_have_the_same_answers_near_and_far() {
    let served = small();
    let server = serve(&served);
    let node = |rev: &str| Node::from_hex(served.node(rev).as_bytes()).unwrap();
    let unknown = Node([7; 20]);
    for mut remote in [http(server.url()).unwrap(), local(&served.source())] {
        let mut heads = remote.heads().unwrap();
        heads.sort_unstable();
        let mut expected = [node("1"), node("2")];
        expected.sort_unstable();
        assert_eq!(heads, expected);
        let nodes = [node("0"), unknown, node("2")];
        let look = remote.heads_and_known(&nodes).unwrap();
        assert_eq!((look.heads.len(), look.known), (2, vec![true, false, true]));
        assert_eq!(
            remote.bookmarks().unwrap()["mark \u{e4}".as_bytes()],
            node("1")
        );
        // More than fits into one header.
        let many: Vec<Node> = (1..151).map(|byte| Node([byte; 20])).collect();
        assert_eq!(remote.known(&many).unwrap(), [false; 150]);
        assert_eq!(remote.lookup(b"default").unwrap(), node("2"));
        let error = remote.lookup(b"nix & no").unwrap_err().to_string();
        assert_eq!(error, "unknown revision 'nix & no'");
        let marks = remote.list_keys("bookmarks").unwrap();
        assert_eq!(marks["mark \u{e4}".as_bytes()], node("1").to_hex());
    }
}

#[test]
fn bundles_come_whole() {
    let served = small();
    let server = serve(&served);
    let old = served
        .hg
        .with_config(&["experimental.bundle2-advertise=false"]);
    let old = old.serve(&served.source());
    for (name, mut remote) in [
        ("far", http(server.url()).unwrap()),
        ("near", local(&served.source())),
        ("old", http(old.url()).unwrap()),
    ] {
        let heads = remote.heads().unwrap();
        let request = BundleRequest {
            heads,
            ..BundleRequest::default()
        };
        let mut bundle = Vec::new();
        remote
            .bundle(&request)
            .unwrap()
            .read_to_end(&mut bundle)
            .unwrap();
        if name == "old" {
            assert!(!remote.capabilities().has("bundle2"));
            bundle.splice(0..0, *b"HG10UN");
        }
        let opened = open_bundle(&bundle[..], BundleLimits::default()).unwrap();
        assert_eq!(matches!(opened, Bundle::Bundle10(_)), name == "old");
        served.init(name);
        served.unbundle(name, &bundle);
        let target = served.directory.path().join(name);
        let count = served.hg.ok(&target, &["log", "-T", "."]);
        assert_eq!(count, "...");
    }
}

#[test]
fn what_is_no_repository_is_told() {
    let told = |url: &str| http(url).err().unwrap().to_string();
    // A closed port: it was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    assert_eq!(
        told(&format!("http://{address}/")),
        "error: Connection refused"
    );
    let served = small();
    let server = serve(&served);
    let page = told(&format!("{}file/tip/a", server.url()));
    assert!(
        page.contains("HTTP Error") || page.contains("does not appear"),
        "{page}"
    );
    assert!(HttpPeer::new("nothing", &HttpOptions::default()).is_err());
    let odd = HttpOptions {
        authorities: Some(b"-----BEGIN CERTIFICATE-----\n???".to_vec()),
        ..HttpOptions::default()
    };
    assert!(HttpPeer::new("https://host/", &odd).is_err());
}

/// Both sides get changesets of their own on top of a shared history; discovery must find exactly
/// the shared changesets.
#[test]
fn what_both_have_is_found() {
    let served = Served::empty();
    for number in 0..12 {
        served.commit(
            &format!("shared {number}"),
            &[("a", &format!("{number}\n"))],
        );
    }
    served.hg(&["update", "-q", "5"]);
    served.commit("shared head", &[("b", "1\n")]);
    let directory = served.directory.path().to_owned();
    for (round, shared) in ["0", "3", "11", "12", "11+12", "9"].iter().enumerate() {
        let name = format!("own{round}");
        let own = directory.join(&name);
        let mut line = vec!["clone", "-q", "source", &name];
        line.extend(shared.split('+').flat_map(|rev| ["-r", rev]));
        served.hg.ok(&directory, &line);
        for number in 0..round {
            std::fs::write(own.join("c"), format!("{number}\n")).unwrap();
            served
                .hg
                .ok(&own, &["commit", "-A", "-m", &format!("own {number}")]);
        }
        let server = serve(&served);
        for mut remote in [http(server.url()).unwrap(), local(&served.source())] {
            let view = repository(&own).view_for(ViewFilter::Visible).unwrap();
            let found = discover(&view, &mut remote, None).unwrap();
            let mut expected: Vec<String> = served
                .hg(&[
                    "log",
                    "-r",
                    &format!("heads(::({shared}))"),
                    "-T",
                    "{node}\n",
                ])
                .lines()
                .map(str::to_owned)
                .collect();
            expected.sort_unstable();
            let mut common: Vec<String> = found.common_heads.iter().map(Node::to_string).collect();
            common.sort_unstable();
            assert_eq!(common, expected, "{shared}");
            assert_eq!(found.incoming, *shared != "11+12", "{shared}");
            assert!(found.questions <= 2, "{shared}: {}", found.questions);
            assert!(!found.is_unrelated(view.changelog().len()));
        }
    }
}
