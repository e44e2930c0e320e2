//! Clones that begin with a clone bundle: both programs from `hg serve`, whose manifest names files
//! of a server that serves nothing else.

use super::store_streams::same_but_time;
use super::{Both, Twin};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use varve_testkit::peers::{Hg, HgServer, hg};

/// A repository that is served, bundles of a part of it, and where both programs clone to.
struct Scene {
    hg: Hg,
    served: HgServer,
    source: PathBuf,
    /// Address of the server of files.
    files: String,
    twin: Twin,
    _directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let (hg, source) = (hg(), directory.path().join("source"));
        std::fs::create_dir(&source).unwrap();
        let run = |words: &str| hg.ok(&source, &words.split(' ').collect::<Vec<_>>());
        run("init");
        for number in 0..5 {
            std::fs::write(source.join("f"), format!("{number}\n")).unwrap();
            hg.ok(
                &source,
                &["commit", "-A", "-m", "change", "-d", &format!("{number} 0")],
            );
            if number == 3 {
                for spec in ["gzip-v1", "zstd-v2", "none-v2", "streamv2"] {
                    run(&format!("bundle -q -a -t {spec} ../{spec}"));
                }
                run("debugcreatestreamclonebundle ../packed");
            }
        }
        run("bookmark -r 1 mark");
        let whole = std::fs::read(directory.path().join("none-v2")).unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes);
        write("cut", &whole[..whole.len() / 2]).unwrap();
        write("words", b"these are no changesets\n").unwrap();
        std::fs::create_dir(source.join(".hg/bundle-cache")).unwrap();
        std::fs::write(source.join(".hg/bundle-cache/inline"), &whole).unwrap();
        let extension = ["-A", "/dev/null", "--config", "extensions.clonebundles="];
        Scene {
            served: hg.serve_with(&source, &extension),
            files: serve_files(directory.path().to_owned()),
            source,
            hg,
            twin: Twin::writing(|_, root| std::fs::create_dir_all(root).unwrap()),
            _directory: directory,
        }
    }

    /// Writes the manifest; `@` stands for the server of files.
    fn list(&self, lines: &[&str]) {
        let lines = lines.iter().map(|line| format!("{line}\n"));
        let text = lines.collect::<String>().replace('@', &self.files);
        std::fs::write(self.source.join(".hg/clonebundles.manifest"), text).unwrap();
    }

    /// Both clone, are told the same, and have the same.
    fn same(&self, options: &str) {
        let options = options.split(' ').filter(|word| !word.is_empty());
        let words: Vec<&str> = ["clone", self.served.url(), "clone"].into_iter().collect();
        let words: Vec<&str> = words.into_iter().chain(options).collect();
        let end = |root: &Path| {
            let clone = root.join("clone");
            let found = clone.is_dir().then(|| {
                self.hg.ok(&clone, &["verify", "-q"]);
                let look = ["log", "-p", "-T", "{node} {phase} {bookmarks}\n"];
                self.hg.ok(&clone, &look) + &self.hg.ok(&clone, &["status"])
            });
            let _ = std::fs::remove_dir_all(clone);
            found
        };
        same_but_time(&self.twin, &words);
        assert_eq!(end(self.twin.ours()), end(self.twin.theirs()), "{words:?}");
    }
}

/// Serves the files of a directory, one request per connection; gives the address.
pub(super) fn serve_files(directory: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            while !lines.next().unwrap().unwrap().is_empty() {}
            let name = first.split(' ').nth(1).unwrap().trim_start_matches('/');
            let (status, bytes) = match std::fs::read(directory.join(name)) {
                Ok(bytes) => ("200 OK", bytes),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let len = bytes.len();
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n");
            stream
                .write_all(&[head.as_bytes(), &bytes].concat())
                .unwrap();
        }
    });
    format!("http://{address}")
}

const STREAM: &str = "@/streamv2 BUNDLESPEC=none-v2;stream=v2;requirements%3D\
                      generaldelta%2Crevlog-compression-zstd%2Crevlogv1%2Csparserevlog";

#[test]
fn bundles_of_every_kind_come_and_then_the_rest() {
    let scene = Scene::new();
    let kinds = [
        "@/zstd-v2 BUNDLESPEC=zstd-v2",
        "@/gzip-v1 BUNDLESPEC=gzip-v1",
        "@/none-v2",
        STREAM,
        "@/packed BUNDLESPEC=none-packed1;requirements%3Dgeneraldelta%2Crevlogv1%2Csparserevlog",
        "peer-bundle-cache://inline BUNDLESPEC=none-v2",
    ];
    for kind in kinds {
        scene.list(&[kind]);
        for options in ["", "-U", "-q", "--stream"] {
            scene.same(options);
        }
    }
    scene.list(&kinds);
    for options in [
        "-u 1",
        "-r 2",
        "-b default",
        "--config ui.clonebundles=no",
        "--config ui.clonebundles=perhaps",
    ] {
        scene.same(options);
    }
    for preferred in [
        "VERSION=v1",
        "COMPRESSION=none",
        "COMPRESSION=x,VERSION=packed1",
        "junk",
    ] {
        scene.same(&format!("--config ui.clonebundleprefers={preferred}"));
    }
    let hooks = "--config hooks.changegroup=echo\tCG\t$HG_SOURCE\t$HG_URL \
                 --config hooks.pretxnchangegroup=echo\tPRE\t$HG_SOURCE \
                 --config hooks.incoming=echo\tIN\t$HG_SOURCE\t$HG_NODE";
    scene.same(hooks);
}

#[test]
fn what_does_not_suit_is_passed_over() {
    let scene = Scene::new();
    scene.list(&[]);
    scene.same("");
    let unfit = [
        "ftp://h/a BUNDLESPEC=gzip-v2",
        "@/a BUNDLESPEC=v2",
        "@/b BUNDLESPEC=gzip-v9",
        "@/c BUNDLESPEC=none-v2;stream=v2;requirements%3Dunheard",
        "@/d BUNDLESPEC=gzip-v2 REQUIREDRAM=99999GB",
        "@/e BUNDLESPEC=gzip-v2 REQUIREDRAM=much",
        "@/f BUNDLESPEC=gzip-v2;what",
        "@/g BUNDLESPEC=zstd-v1",
    ];
    scene.list(&unfit);
    scene.same("");
    scene.same("--stream");
    let words = ["clone", "-U", scene.served.url(), "there", "--debug"];
    let Both { theirs, ours } = scene.twin.run(&words);
    let filtered = |said: String| {
        let lines = said.lines().map(str::to_owned);
        let told = |line: &String| line.starts_with("filtering") || line.contains("bundle spec");
        lines.filter(told).collect::<Vec<String>>()
    };
    let theirs = filtered(theirs.stdout);
    assert_eq!(filtered(ours.stdout), theirs);
    assert_eq!(theirs.len(), unfit.len(), "{theirs:?}");
}

#[test]
fn a_bundle_that_does_not_come_ends_the_clone_unless_all_may_be_pulled() {
    let scene = Scene::new();
    for line in [
        "@/none BUNDLESPEC=gzip-v2",
        "http://127.0.0.1:1/x BUNDLESPEC=gzip-v2",
        "@/words BUNDLESPEC=none-v2",
        "peer-bundle-cache://none BUNDLESPEC=none-v2",
    ] {
        scene.list(&[line]);
        scene.same("");
        scene.same("--config ui.clonebundlefallback=yes");
    }
    // How far it came is told where the bytes stand that were read last, which differs.
    scene.list(&["@/cut BUNDLESPEC=none-v2"]);
    let clone = ["clone", scene.served.url(), "clone"];
    scene.twin.same_but_output(&clone);
    scene
        .twin
        .each(|root| assert!(!root.join("clone").exists()));
}
