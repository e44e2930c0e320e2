//! A client without HTTP: asks [`respond`] and gives bundles to a real `hg`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_codec::{CodecId, Expander};
use varve_exchange::server::wire::{
    ClientMedia, ReadHooks, WireRequest, WireResponse, WireSettings, respond,
};
use varve_repo::Repository;
use varve_testkit::peers::{Hg, hg};

/// Bundle2 capabilities as a client quotes them, up to the changegroup versions.
const CAPS: &str = "HG20,bundle2=HG20%0Abookmarks%0Alistkeys%0Aphases%3Dheads%0Astream%3Dv2";

/// The null node in hex.
pub const NULL: &str = "0000000000000000000000000000000000000000";

/// No answer of these tests is larger.
const LIMIT: usize = 100 << 20;

/// A directory with a repository `source` that is served.
pub struct Served {
    pub directory: tempfile::TempDir,
    pub hg: Hg,
}

impl Served {
    /// An empty repository.
    pub fn empty() -> Self {
        let served = Served::nothing();
        served.hg.ok(served.directory.path(), &["init", "source"]);
        served
    }

    /// A directory where `source` is still to be made.
    pub fn nothing() -> Self {
        Served {
            directory: tempfile::tempdir().unwrap(),
            hg: hg(),
        }
    }

    pub fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    /// Runs `hg` in the source.
    pub fn hg(&self, arguments: &[&str]) -> String {
        self.hg.ok(&self.source(), arguments)
    }

    /// Writes files and commits everything.
    pub fn commit(&self, message: &str, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = self.source().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.hg(&["commit", "-A", "-m", message]);
    }

    /// The full node of a revision of the source.
    pub fn node(&self, rev: &str) -> String {
        self.hg(&["log", "-r", rev, "-T", "{node}"])
    }

    pub fn ask(&self, command: &str, args: &[(&str, &str)]) -> WireResponse {
        self.ask_as(command, args, ClientMedia::default())
    }

    pub fn ask_as(
        &self,
        command: &str,
        args: &[(&str, &str)],
        accepts: ClientMedia,
    ) -> WireResponse {
        let storage = Arc::new(DiskStorage::new(self.directory.path()));
        let repo = Repository::open(storage, Path::new("source")).unwrap();
        let pair = |(key, value): &(&str, &str)| ((*key).into(), (*value).into());
        let request = WireRequest {
            command: command.to_owned(),
            args: args.iter().map(pair).collect(),
            accepts,
        };
        respond(
            &repo,
            &request,
            &WireSettings::default(),
            &ReadHooks::default(),
        )
        .unwrap()
    }

    /// Content type and text of a short answer.
    pub fn text(&self, command: &str, args: &[(&str, &str)]) -> (&'static str, String) {
        match self.ask(command, args) {
            WireResponse::Whole { content_type, body } => {
                (content_type, String::from_utf8(body).unwrap())
            }
            WireResponse::Stream { .. } => panic!("{command} answered with a stream"),
        }
    }

    /// A bundle with the changegroup versions and arguments given, expanded.
    pub fn bundle(&self, versions: &str, args: &[(&str, &str)]) -> Vec<u8> {
        let caps = format!("{CAPS}%0Achangegroup%3D{}", versions.replace(',', "%2C"));
        let mut args = args.to_vec();
        args.push(("bundlecaps", &caps));
        expanded(self.ask("getbundle", &args))
    }

    /// A new repository `name` without changesets, beside the source.
    pub fn init(&self, name: &str) -> PathBuf {
        self.hg.ok(self.directory.path(), &["init", name]);
        self.directory.path().join(name)
    }

    /// Gives a bundle to the repository `name` and has the whole of it verified.
    pub fn unbundle(&self, name: &str, bundle: &[u8]) {
        let file = self.directory.path().join("bundle.hg");
        std::fs::write(&file, bundle).unwrap();
        let target = self.directory.path().join(name);
        self.hg.ok(&target, &["unbundle", "../bundle.hg"]);
        self.hg.ok(&target, &["verify"]);
    }

    /// Everything that a log says about the changesets that `name` has.
    pub fn log(&self, name: &str) -> String {
        let target = self.directory.path().join(name);
        let template = "{node} {p1node} {p2node} {phase} {branch} {date|hgdate} {author}\n{desc}\n";
        self.hg.ok(
            &target,
            &[
                "log",
                "--git",
                "-p",
                "-r",
                "sort(all(), node)",
                "-T",
                template,
            ],
        )
    }
}

/// The whole body of a streamed answer in its zlib form of old clients.
pub fn expanded(response: WireResponse) -> Vec<u8> {
    let (content_type, body) = collected(response);
    assert_eq!(content_type, "application/mercurial-0.1");
    expand(CodecId::Zlib, &body)
}

pub fn expand(codec: CodecId, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Expander::new()
        .expand(codec, body, LIMIT, &mut bytes)
        .unwrap();
    bytes
}

/// Content type and bytes of a streamed answer as sent.
pub fn collected(response: WireResponse) -> (&'static str, Vec<u8>) {
    match response {
        WireResponse::Whole { body, .. } => {
            panic!("no stream but {:?}", String::from_utf8_lossy(&body))
        }
        WireResponse::Stream {
            content_type, body, ..
        } => {
            let mut bytes = Vec::new();
            body.send(&mut bytes).unwrap();
            (content_type, bytes)
        }
    }
}
