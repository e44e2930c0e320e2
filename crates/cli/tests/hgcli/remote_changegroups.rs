//! Bundles with the URL of another bundle in them: that is fetched, measured and applied.

use super::Twin;
use super::clone_bundles::serve_files;
use sha1::{Digest, Sha1};
use std::net::TcpListener;
use std::path::Path;
use tempfile::TempDir;
use varve_testkit::peers::hg;
use varve_testkit::repos;

type Params<'a> = &'a [(&'a str, &'a str)];

/// A part of a bundle2 with mandatory parameters; the payload is at most one chunk.
pub(crate) fn part(name: &str, id: u32, params: Params<'_>, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![name.len() as u8];
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(&id.to_be_bytes());
    header.extend_from_slice(&[params.len() as u8, 0]);
    for (key, value) in params {
        header.extend_from_slice(&[key.len() as u8, value.len() as u8]);
    }
    for (key, value) in params {
        header.extend_from_slice(key.as_bytes());
        header.extend_from_slice(value.as_bytes());
    }
    let mut bytes = [&(header.len() as u32).to_be_bytes()[..], &header].concat();
    if !payload.is_empty() {
        bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// A bundle2 of these parts.
pub(crate) fn bundle(parts: &[Vec<u8>]) -> Vec<u8> {
    [&b"HG20\0\0\0\0"[..], &parts.concat(), &[0; 4]].concat()
}

/// A server of bundles of one repository: `v1`, `gzip`, `v2`, and `other`, which is none.
pub(crate) struct BundleHost {
    directory: TempDir,
    pub(crate) url: String,
}

impl BundleHost {
    pub(crate) fn new() -> BundleHost {
        let directory = tempfile::tempdir().unwrap();
        let (hg, source) = (hg(), directory.path().join("source"));
        std::fs::create_dir(&source).unwrap();
        hg.ok(&source, &["init"]);
        for text in ["one\n", "two\n", "three\n"] {
            repos::write(&source, "a", text.as_bytes());
            repos::commit(&hg, &source, text.trim());
        }
        for (kind, name) in [("none-v1", "v1"), ("gzip-v1", "gzip"), ("none-v2", "v2")] {
            let name = format!("../{name}");
            hg.ok(&source, &["bundle", "-q", "-a", "-t", kind, &name]);
        }
        std::fs::write(directory.path().join("other"), "no bundle at all").unwrap();
        let url = serve_files(directory.path().to_owned());
        BundleHost { directory, url }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.directory.path().join(name)).unwrap()
    }

    /// URL, length and digest of a file.
    pub(crate) fn facts(&self, name: &str) -> [String; 3] {
        let bytes = self.bytes(name);
        let digest = Sha1::digest(&bytes);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let url = format!("{}/{name}", self.url);
        [url, bytes.len().to_string(), digest]
    }
}

fn empty(hg: &varve_testkit::peers::Hg, root: &Path) {
    hg.ok(root, &["init"]);
}

/// Both programs apply a bundle with that part, say the same, and have the same then.
#[track_caller]
fn same(name: &str, params: Params<'_>) -> usize {
    let twin = Twin::writing(empty);
    let bytes = bundle(&[part(name, 0, params, b"")]);
    twin.each(|root| std::fs::write(root.join("b.hg"), &bytes).unwrap());
    twin.same(&["unbundle", "b.hg"]);
    let log = |root: &Path| hg().ok(root, &["log", "-T", "{node} {phase}\n"]);
    let ours = log(twin.ours());
    assert_eq!(ours, log(twin.theirs()), "{params:?}");
    assert!(!twin.ours().join(".hg/store/journal").exists());
    ours.lines().count()
}

const PART: &str = "REMOTE-CHANGEGROUP";

#[test]
fn what_a_url_leads_to_is_applied() {
    let host = BundleHost::new();
    for name in ["v1", "gzip"] {
        let [url, size, digest] = &host.facts(name);
        let plain = [("url", &url[..]), ("size", size)];
        assert_eq!(same(PART, &plain), 3, "{name}");
        let none = [&plain[..], &[("digests", "")]].concat();
        assert_eq!(same(PART, &none), 3, "{name}");
        let digests = [("digests", "sha1"), ("digest:sha1", &digest[..])];
        assert_eq!(same(PART, &[&plain[..], &digests].concat()), 3, "{name}");
        // Digests that are not announced do not count.
        assert_eq!(
            same(PART, &[&plain[..], &[("digest:md5", "no")]].concat()),
            3
        );
    }
}

#[test]
fn what_is_not_as_announced_leaves_nothing() {
    let host = BundleHost::new();
    for name in ["v1", "gzip"] {
        let [url, size, _] = &host.facts(name);
        for wrong in ["10", "100000", "-3"] {
            assert_eq!(same(PART, &[("url", url), ("size", wrong)]), 0, "{wrong}");
        }
        let plain = [("url", &url[..]), ("size", size)];
        for kind in ["md5", "sha1", "sha512"] {
            let key = format!("digest:{kind}");
            let digests = [("digests", kind), (&key[..], "00")];
            assert_eq!(same(PART, &[&plain[..], &digests].concat()), 0, "{kind}");
        }
    }
}

#[test]
fn parts_that_say_too_little_or_what_cannot_be() {
    let host = BundleHost::new();
    let [url, size, _] = &host.facts("v1");
    let (url, size) = (("url", &url[..]), ("size", &size[..]));
    let all: &[Params<'_>] = &[
        &[],
        &[size],
        &[url],
        &[url, ("size", "x")],
        &[url, ("size", "")],
        &[("url", "ftp://127.0.0.1/x")],
        &[("url", "file:///nowhere"), size],
        &[url, size, ("digests", "sha1")],
        &[url, size, ("digests", "sha256"), ("digest:sha256", "00")],
        &[url, size, ("digest:sha256", "00")],
        &[url, size, ("other", "1")],
    ];
    for params in all {
        assert_eq!(same(PART, params), 0);
    }
    assert_eq!(same("remote-changegroup", &[size]), 0);
    for name in ["v2", "other", "missing"] {
        let url = format!("{}/{name}", host.url);
        assert_eq!(same(PART, &[("url", &url), size]), 0);
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", free.local_addr().unwrap());
    drop(free);
    assert_eq!(same(PART, &[("url", &url), size]), 0);
}
