//! Clone bundles: made by Varve, taken by stock `hg` from Varve's server and from `hg serve`.

use super::Site;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use varve_testkit::http::{Answer, Client};
use varve_testkit::peers::{Hg, Outcome, hg};
use varve_testkit::repos;
use varve_testkit::varve::Server;

/// A site with one repository, and a directory for clones.
struct Scene {
    site: Site,
    source: PathBuf,
    hg: Hg,
    work: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let site = Site::new();
        let (hg, source) = (hg(), site.repository("team/r"));
        repos::make(&hg, &source, repos::DEFAULT);
        Scene {
            site,
            source,
            hg,
            work: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs `varve clonebundle`.
    fn make(&self, options: &[&str]) -> Outcome {
        let mut command = Command::new(crate::VARVE);
        command.env("HGRCPATH", "").arg("clonebundle").args(options);
        Outcome::of(command.arg(&self.source), Path::new(crate::VARVE))
    }

    /// The list; empty if there is none.
    fn listed(&self) -> String {
        let path = self.source.join(".hg/clonebundles.manifest");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Names of the files in the directory of bundles.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.source.join(".hg/bundle-cache")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "varve.lock").collect();
        names.sort();
        names
    }

    fn commit(&self, name: &str) {
        repos::write(&self.source, name, name.as_bytes());
        repos::commit(&self.hg, &self.source, name);
    }

    /// Has `hg` clone, and compares with a clone without bundles; gives its output.
    fn cloned(&self, url: &str, options: &[&str]) -> String {
        let target = self.work.path().join("clone");
        let plain = self.work.path().join("plain");
        for directory in [&target, &plain] {
            let _ = std::fs::remove_dir_all(directory);
        }
        let said = self.hg.ok(
            self.work.path(),
            &[&["clone", url, "clone"], options].concat(),
        );
        let off = ["clone", url, "plain", "--config", "ui.clonebundles=no"];
        self.hg.ok(self.work.path(), &off);
        self.hg.ok(&target, &["verify", "-q"]);
        let history = |directory: &Path| {
            self.hg.ok(
                directory,
                &[
                    "log",
                    "--debug",
                    "-p",
                    "--git",
                    "-T",
                    "{node} {phase} {bookmarks}\n",
                ],
            )
        };
        assert_eq!(history(&target), history(&plain));
        said
    }
}

fn url(server: &Server) -> String {
    server.url("/hg/team/r")
}

fn told(server: &Server, command: &str) -> String {
    server
        .anonymous()
        .get(&format!("/hg/team/r?cmd={command}"))
        .text()
}

fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut client = server.anonymous();
    client.request(method, path, headers, b"").unwrap()
}

#[test]
fn hg_begins_with_a_bundle_and_pulls_the_rest() {
    let scene = Scene::new();
    repos::write(&scene.source, "large", &repos::noise(900_000, 7));
    repos::commit(&scene.hg, &scene.source, "large");
    let said = scene.make(&[]).success();
    assert_eq!(said.lines().count(), 2, "{said}");
    scene.commit("later");
    let server = scene.site.serve();
    let at = format!("{}/bundle-cache/varve-", url(&server));
    for (options, ending) in [(&[][..], "-zstd-v2.hg"), (&["--stream"], "-stream-v2.hg")] {
        let said = scene.cloned(&url(&server), options);
        let line = said
            .lines()
            .find(|line| line.starts_with("applying clone bundle"));
        let line = line.unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains(&at) && line.ends_with(ending), "{line}");
        assert!(
            said.contains("finished applying clone bundle\nsearching for changes\n"),
            "{said}"
        );
        assert!(
            said.contains("added 1 changesets with 1 changes to 1 files\n"),
            "{said}"
        );
    }
}

#[test]
fn bundles_are_served_in_parts_with_tags() {
    let scene = Scene::new();
    repos::write(&scene.source, "large", &repos::noise(900_000, 7));
    repos::commit(&scene.hg, &scene.source, "large");
    scene.make(&[]).success();
    let server = scene.site.serve();
    let name = scene
        .files()
        .into_iter()
        .find(|name| name.contains("stream"))
        .unwrap();
    let bytes = std::fs::read(scene.source.join(".hg/bundle-cache").join(&name)).unwrap();
    let path = format!("/hg/team/r/bundle-cache/{name}");
    let whole = server.anonymous().get(&path);
    assert!(whole.body == bytes);
    let tag = whole.header("etag").unwrap().to_owned();
    let asked = |headers: &[(&str, &str)]| ask(&server, "GET", &path, headers);
    let part = asked(&[("range", "bytes=500000-800000")]);
    assert_eq!(part.status, 206);
    assert!(part.body == bytes[500_000..=800_000]);
    let range = format!("bytes 500000-800000/{}", bytes.len());
    assert_eq!(part.header("content-range"), Some(&*range));
    assert_eq!(
        asked(&[("range", "bytes=9-"), ("if-range", &tag)]).body,
        bytes[9..]
    );
    assert_eq!(
        asked(&[("range", "bytes=9-"), ("if-range", "\"x\"")]).status,
        200
    );
    assert_eq!(asked(&[("range", "bytes=99999999-")]).status, 416);
    assert_eq!(asked(&[("if-none-match", &tag)]).status, 304);
    let head = ask(&server, "HEAD", &path, &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(
        head.header("content-length"),
        Some(&*bytes.len().to_string())
    );
    for other in ["varve.lock", "..%2Fhgrc", "%2e%2e", "none"] {
        let path = format!("/hg/team/r/bundle-cache/{other}");
        assert_eq!(server.anonymous().get(&path).status, 404, "{other}");
    }
    std::fs::write(scene.source.join(".hg/hgrc"), "[web]\nallow-pull = no\n").unwrap();
    assert_eq!(server.anonymous().get(&path).status, 401);
}

#[test]
fn secret_changesets_are_not_sent() {
    let scene = Scene::new();
    repos::add_secret(&scene.hg, &scene.source);
    let made = scene.make(&[]);
    assert!(
        made.stderr.starts_with("no bundle of the store's files"),
        "{made}"
    );
    assert_eq!(scene.listed().lines().count(), 1);
    let server = scene.site.serve();
    let said = scene.cloned(&url(&server), &[]);
    assert!(said.contains("applying clone bundle"), "{said}");
    assert!(!scene.work.path().join("clone/secret.txt").exists());
    // Stock hg sends the same file itself.
    let theirs = scene.hg.serve_with(
        &scene.source,
        &["-A", "/dev/null", "--config", "extensions.clonebundles="],
    );
    let said = scene.cloned(theirs.url(), &[]);
    assert!(
        said.contains("applying clone bundle from peer-bundle-cache://varve-"),
        "{said}"
    );
    // Changesets that become secret later take the bundles with them.
    let file = format!("/hg/team/r/bundle-cache/{}", scene.files()[0]);
    assert_eq!(server.anonymous().get(&file).status, 200);
    scene.hg.ok(
        &scene.source,
        &["phase", "-f", "-s", "secret() or head() and not secret()"],
    );
    assert!(!told(&server, "capabilities").contains("clonebundles"));
    assert_eq!(told(&server, "clonebundles_manifest"), "");
    assert_eq!(server.anonymous().get(&file).status, 404);
}

#[test]
fn what_a_person_wrote_stays_and_is_served_as_it_is() {
    let scene = Scene::new();
    let written =
        "http://h.invalid/a.hg BUNDLESPEC=gzip-v2 site=far\npeer-bundle-cache://mine.hg\n";
    let path = scene.source.join(".hg/clonebundles.manifest");
    std::fs::write(&path, written).unwrap();
    let cache = scene.source.join(".hg/bundle-cache");
    std::fs::create_dir_all(&cache).unwrap();
    scene.hg.ok(
        &scene.source,
        &[
            "bundle",
            "-q",
            "-a",
            cache.join("mine.hg").to_str().unwrap(),
        ],
    );
    let refused = scene.make(&[]);
    assert_eq!(
        (refused.code, &*refused.stderr),
        (
            Some(255),
            "abort: clonebundles.manifest was written by hand, or by another program\n\
             (use --force to replace it)\n"
        )
    );
    let server = scene.site.serve();
    let theirs = scene.hg.serve_with(
        &scene.source,
        &["-A", "/dev/null", "--config", "extensions.clonebundles="],
    );
    let address = theirs
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let mut hgs = Client::new(address);
    for command in ["clonebundles", "clonebundles_manifest"] {
        assert_eq!(
            told(&server, command),
            hgs.get(&format!("/?cmd={command}")).text()
        );
    }
    assert_eq!(told(&server, "clonebundles_manifest"), written);
    // One that the server sends itself comes by a command.
    std::fs::write(&path, "peer-bundle-cache://mine.hg\n").unwrap();
    let said = scene.cloned(&url(&server), &[]);
    assert!(
        said.starts_with("applying clone bundle from peer-bundle-cache://mine.hg\n"),
        "{said}"
    );
    scene.make(&["--force", "-t", "gzip-v1"]).success();
    assert!(scene.listed().contains("gzip-v1.hg BUNDLESPEC=gzip-v1\n"));
    assert!(
        cache.join("mine.hg").is_file(),
        "only own bundles are removed"
    );
    for spec in ["v2", "none-packed1", "zstd-v3", "none-v2;stream=v3-exp"] {
        let said = scene.make(&["-t", spec]).failure();
        let words = format!("abort: bundles of type '{spec}' cannot be clone bundles\n");
        assert_eq!(said, words);
    }
}

#[test]
fn the_server_keeps_them_fresh() {
    let scene = Scene::new();
    let settings = "[clone-bundles]\nauto-generate.on-change = yes\ntrigger.revs = 2\n\
                    trigger.below-bundled-ratio = 0.0\n";
    std::fs::write(scene.source.join(".hg/hgrc"), settings).unwrap();
    let cache = scene.source.join(".hg/bundle-cache");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::write(
        cache.join("varve-1-0a-zstd-v2.hg.new"),
        "left by a killed server",
    )
    .unwrap();
    let server = scene.site.serve();
    let wait = |done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{}",
                server.printed()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    assert!(!told(&server, "capabilities").contains("clonebundles"));
    wait(&|| scene.files().len() == 3 && !scene.listed().is_empty());
    let first = scene.listed();
    assert!(told(&server, "capabilities").contains(" clonebundles "));
    scene.commit("one");
    told(&server, "capabilities");
    scene.commit("two");
    assert_eq!(scene.listed(), first, "one changeset is not enough");
    told(&server, "capabilities");
    wait(&|| scene.listed() != first && scene.files().len() == 3);
    let said = scene.cloned(&url(&server), &[]);
    assert!(
        said.contains("applying clone bundle") && said.contains("no changes found"),
        "{said}"
    );
    // Bundles with a changeset that became secret are made anew.
    scene.hg.ok(&scene.source, &["phase", "-f", "-s", "tip"]);
    let second = scene.listed();
    told(&server, "capabilities");
    wait(&|| scene.listed() != second && told(&server, "capabilities").contains(" clonebundles "));
    assert_eq!(scene.listed().lines().count(), 1, "{}", scene.listed());
    std::fs::write(
        scene.source.join(".hg/hgrc"),
        format!("{settings}upload-command = x\n"),
    )
    .unwrap();
    told(&server, "capabilities");
    server.printed_with("clone bundles of team/r: clone-bundles.upload-command is not supported");
}

#[test]
fn settings_of_the_repository_decide_about_answers() {
    let scene = Scene::new();
    let server = scene.site.serve();
    let set = |lines: &str| {
        std::fs::write(
            scene.source.join(".hg/hgrc"),
            format!("[server]\n{lines}\n"),
        )
        .unwrap();
    };
    let engine = |value: &str| {
        set(&format!("compressionengines = {value}"));
        let capabilities = told(&server, "capabilities");
        let word = capabilities
            .split(' ')
            .find(|word| word.starts_with("compression="));
        let word = word.map(str::to_owned).unwrap_or(capabilities);
        let reads = [
            ("x-hgproto-1", "0.1 0.2 comp=zstd,zlib,none"),
            ("x-hgarg-1", "bundlecaps=HG20"),
        ];
        let bundle = ask(&server, "GET", "/hg/team/r?cmd=getbundle", &reads);
        let len = usize::from(bundle.body[0]).min(8);
        (
            word,
            String::from_utf8_lossy(&bundle.body[1..=len]).into_owned(),
        )
    };
    let pair = |word: &str, engine: &str| (word.to_owned(), engine.to_owned());
    assert_eq!(engine(""), pair("compression=zstd,zlib", "zstd"));
    assert_eq!(engine("zlib,none"), pair("compression=zlib,none", "zlib"));
    assert_eq!(engine("none"), pair("compression=none", "none"));
    let refused = engine("lzma").0;
    let words = "server.compressionengines must be a list of zstd, zlib and none, not \"lzma\"\n";
    assert_eq!(refused, words);
    for (line, words) in [
        (
            "zliblevel = 77",
            "server.zliblevel must be a number from -1 to 9, not 77\n",
        ),
        (
            "zstdlevel = 0",
            "server.zstdlevel must be a number from 1 to 22, not 0\n",
        ),
        (
            "zstdlevel = x",
            "server.zstdlevel is not a valid integer ('x')\n",
        ),
        (
            "uncompressed = x",
            "server.uncompressed is not a boolean ('x')\n",
        ),
    ] {
        set(line);
        assert_eq!(told(&server, "capabilities"), words);
    }
    for line in ["bundle1 = no", "bundle1gd.pull = no", "bundle1.pull = no"] {
        set(line);
        let words = "incompatible Mercurial client; bundle2 required\n\
                     (see https://www.mercurial-scm.org/wiki/IncompatibleClient)\n";
        assert_eq!(told(&server, "getbundle"), words, "{line}");
    }
    set("bundle1gd = yes\nbundle1 = no");
    assert_ne!(told(&server, "getbundle").chars().next(), Some('i'));
    set("uncompressed = no");
    assert!(!told(&server, "capabilities").contains("stream"));
    repos::add_secret(&scene.hg, &scene.source);
    set("");
    assert!(!told(&server, "capabilities").contains("stream"));
    set("uncompressedallowsecret = yes");
    assert!(told(&server, "capabilities").contains("streamreqs="));
}
