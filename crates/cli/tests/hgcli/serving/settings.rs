//! Settings of `[server]` and wrong URLs: the same stock client with both servers.

use super::clients::run;
use super::*;

/// Both outputs of a client, without the port, and its exit code.
type Told = (String, String, Option<i32>);

/// Runs stock commands against one server after the other; in `words` the URL is `@`.
struct Course {
    directory: tempfile::TempDir,
    hg: Hg,
}

impl Course {
    /// A repository with two heads.
    fn new() -> Course {
        let directory = tempfile::tempdir().unwrap();
        let (hg, source) = (hg(), directory.path().join("source"));
        std::fs::create_dir(&source).unwrap();
        hg.ok(&source, &["init"]);
        hg.ok(&source, &["debugbuilddag", "+3<3+1"]);
        Course { directory, hg }
    }

    fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    fn ok(&self, words: &str) -> String {
        self.hg
            .ok(&self.source(), &words.split(' ').collect::<Vec<_>>())
    }

    /// A server of the repository, with these options.
    fn serve(&self, program: &Path, options: &[&str]) -> Serving {
        let usual = ["-p", "0", "-a", "127.0.0.1", "-A", "/dev/null"];
        Serving::start(program, &self.source(), &[&usual[..], options].concat())
    }

    /// The same is said to the client, whichever program serves, and it has the same at the end.
    fn same(&self, settings: &[&str], commands: &[&str]) -> Vec<Told> {
        let [theirs, ours] = programs().map(|(name, program)| {
            let options = settings.iter().flat_map(|setting| ["--config", setting]);
            let options: Vec<&str> = options.collect();
            let serving = self.serve(&program, &options);
            let work = self.directory.path().join(name);
            std::fs::create_dir(&work).unwrap();
            let told = commands.iter().map(|command| {
                let url = serving.url("");
                let command = command.replace('@', &url);
                let words: Vec<&str> = command.split(' ').collect();
                let outcome = run(&hg_program(), &work, &words);
                let plain = |text: &str| text.replace(&serving.port().to_string(), "PORT");
                (plain(&outcome.stdout), plain(&outcome.stderr), outcome.code)
            });
            let told: Vec<Told> = told.collect();
            std::fs::remove_dir_all(&work).unwrap();
            told
        });
        assert_eq!(theirs, ours, "{settings:?}");
        ours
    }
}

/// Prints what a clone has.
const LOOK: &str = "log -R c -T {node}\\n";

#[test]
fn a_wrong_url_leads_to_no_repository() {
    let course = Course::new();
    let commands = ["clone @/foo c", "clone @/foo/bar c", "id @/source", "id @/"];
    let told = course.same(&[], &commands);
    let codes: Vec<_> = told.iter().map(|told| told.2).collect();
    assert_eq!(codes, [Some(255), Some(255), Some(255), Some(0)]);
    let [theirs, ours] = programs().map(|(_, program)| {
        let options = ["-p", "0", "-a", "127.0.0.1", "-A", "/dev/null"];
        let serving = Serving::start(&program, &course.source(), &options);
        let mut client = serving.client();
        let paths = [
            "/foo?cmd=capabilities",
            "/foo/bar?cmd=listkeys&namespace=x",
            "/bundle-cache/x?cmd=heads",
            "/?cmd=heads",
            "//?cmd=heads",
        ];
        paths.map(|path| {
            let answer = client.request("GET", path, &[], b"").unwrap();
            let media = answer.header("content-type").map(str::to_owned);
            (answer.status, media, answer.body)
        })
    });
    assert_eq!(theirs, ours);
}

#[test]
fn full_bundles_can_be_switched_off() {
    let course = Course::new();
    let commands = [
        "clone -U @ c",
        "clone -U --pull -r 2 -r 3 @ c",
        "clone -U --config devel.legacy.exchange=bundle1 @ c",
        "clone -U -r 2 @ c",
        LOOK,
        "pull -R c",
        "clone -U -q --stream @ streamed",
    ];
    let told = course.same(&["server.disablefullbundle=yes"], &commands);
    assert!(told[0].1.contains("pull-based clones disabled"), "{told:?}");
    assert_eq!(told[5].2, Some(0));
    course.same(&["server.disablefullbundle=no"], &["clone -U @ c", LOOK]);
}

#[test]
fn pulls_come_in_the_parts_of_a_manifest() {
    let course = Course::new();
    let nodes = course.ok("log -r 0:3 -T {node}\\n");
    let nodes: Vec<&str> = nodes.lines().collect();
    for (base, rev, spec) in [
        ("null", "0", "gzip-v2"),
        ("0", "1", "bzip2-v2"),
        ("1", "2", "none-v2"),
        ("0", "3", "none-v2"),
    ] {
        course.ok(&format!(
            "bundle -q --base {base} -r {rev} -t {spec} .hg/{rev}.hg"
        ));
    }
    let [zero, one, two, three] = nodes[..] else {
        panic!("{nodes:?}")
    };
    let parts = format!(
        "missing.hg heads={zero}\n\
         3.hg BUNDLESPEC=none-v2 heads={three} bases={zero}\n\
         2.hg BUNDLESPEC=none-v2 heads={two} bases={one}\n\
         1.hg BUNDLESPEC=bzip2-v2 heads={one} bases={zero}\n\
         0.hg BUNDLESPEC=none-packed1 heads={zero}\n\
         0.hg BUNDLESPEC=gzip-v2 heads={zero}\n"
    );
    let commands = [
        "clone -U @ c",
        LOOK,
        "clone -U -r 0 @ part",
        "incoming -R part -r 1",
        "pull -R part -r 1",
        "pull -R part -r 3",
        "verify -q -R c",
    ];
    let manifest = course.source().join(".hg/pullbundles.manifest");
    std::fs::write(&manifest, &parts).unwrap();
    let told = course.same(&[], &commands);
    assert_eq!(
        told[0].0.matches("adding changesets\n").count(),
        4,
        "{told:?}"
    );
    let told = course.same(&["server.pullbundle=no"], &commands);
    assert_eq!(
        told[0].0.matches("adding changesets\n").count(),
        1,
        "{told:?}"
    );
    // An entry that promises more than its bundle has.
    let lies = format!("0.hg heads={one} bases={zero}\n0.hg heads={zero}\n");
    std::fs::write(&manifest, lies).unwrap();
    let commands = ["clone -U -r 0 @ c", "pull -R c -r 1"];
    let told = course.same(&[], &commands);
    assert_eq!(told[1].2, Some(255), "{told:?}");
}

#[test]
fn inline_clone_bundles_have_a_directory_and_a_hook() {
    let course = Course::new();
    let other = course.source().join(".hg/other");
    std::fs::create_dir(&other).unwrap();
    course.ok("bundle -q -a -t zstd-v2 .hg/other/b.hg");
    course.ok("bundle -q -a -t zstd-v2 .hg/up.hg");
    let list = course.source().join(".hg/clonebundles.manifest");
    std::fs::write(&list, "peer-bundle-cache://b.hg BUNDLESPEC=zstd-v2\n").unwrap();
    let said = course.directory.path().join("said");
    let hook = format!(
        "hooks.pretransmit-inline-clone-bundle.x=echo $HG_HOOKTYPE $HG_CLONEBUNDLEPATH > {}",
        said.display()
    );
    let extension = "extensions.clonebundles=";
    let commands = ["clone -U @ c", LOOK];
    let whole = other.display();
    for root in [
        "other".to_owned(),
        "../.hg/other".to_owned(),
        whole.to_string(),
    ] {
        let root = format!("server.peer-bundle-cache-root={root}");
        let told = course.same(&[extension, &root, &hook], &commands);
        assert!(told[0].0.contains("finished applying"), "{told:?}");
        let told = std::fs::read_to_string(&said).unwrap();
        assert_eq!(told, "pretransmit-inline-clone-bundle b.hg\n");
    }
    let root = "server.peer-bundle-cache-root=other";
    let refusing = "hooks.pretransmit-inline-clone-bundle=exit 1";
    let told = course.same(&[extension, root, refusing], &["clone -U @ c"]);
    assert!(told[0].1.contains("HTTP Error 500"), "{told:?}");
    std::fs::write(&list, "peer-bundle-cache://../up.hg BUNDLESPEC=zstd-v2\n").unwrap();
    let told = course.same(&[extension, root], &["clone -U @ c"]);
    assert!(told[0].1.contains("error applying bundle"), "{told:?}");
}

#[test]
fn no_bookmarks_are_no_part() {
    let course = Course::new();
    let parts = |told: Vec<Told>| -> Vec<String> {
        let lines = told[0].0.lines();
        let kept = lines.filter(|line| line.contains("bundle2-input-part: \"bookmarks\""));
        kept.map(str::to_owned).collect()
    };
    let seen = |options: &str| {
        programs().map(|(name, program)| {
            let serve = ["-p", "0", "-a", "127.0.0.1", "-A", "/dev/null"];
            let serving = Serving::start(&program, &course.source(), &serve);
            let url = serving.url("");
            let into = format!("{name}{}", options.len());
            let mut words = vec!["clone", "-U", "--debug", &url, &into];
            words.extend(options.split(' ').filter(|word| !word.is_empty()));
            let outcome = run(&hg_program(), course.directory.path(), &words);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            parts(vec![(outcome.stdout, outcome.stderr, outcome.code)])
        })
    };
    for options in ["", "--stream"] {
        let [theirs, ours] = seen(options);
        assert_eq!(theirs, ours);
        assert!(ours.is_empty(), "{ours:?}");
    }
    course.ok("bookmark -r 1 mark");
    let [theirs, ours] = seen("--pull --noupdate");
    assert_eq!(theirs, ours);
    assert_eq!(ours.len(), 1);
}

#[test]
fn exchange_as_of_old_versions_is_refused_by_name() {
    let course = Course::new();
    let source = course.source();
    for word in ["bundle1", "phases"] {
        let config = format!("devel.legacy.exchange={word}");
        for command in ["pull", "push", "incoming", "outgoing"] {
            let words = [command, "--config", &config, "."];
            let outcome = run(&our_hg(), &source, &words);
            let expected = format!("abort: {config} is not supported\n");
            assert_eq!((outcome.stderr, outcome.code), (expected, Some(255)));
        }
    }
}

/// Capabilities about streams and races that a server has under a setting.
fn offers(course: &Course, program: &Path, setting: &str) -> Vec<String> {
    let serving = course.serve(program, &["--config", setting]);
    let answer = serving
        .client()
        .request("GET", "/?cmd=capabilities", &[], b"");
    let text = String::from_utf8(answer.unwrap().body).unwrap();
    let words = text.split(' ').flat_map(|word| word.split("%0A"));
    let told = ["stream", "checkheads", "httpheader"];
    let told = words.filter(|word| told.iter().any(|start| word.starts_with(start)));
    told.map(str::to_owned).collect()
}

#[test]
fn streams_and_races_are_offered_alike() {
    let course = Course::new();
    for setting in [
        "server.preferuncompressed=no",
        "server.preferuncompressed=yes",
        "server.bundle2.stream=no",
        "server.concurrent-push-mode=strict",
        "server.concurrent-push-mode=check-related",
        "server.maxhttpheaderlen=77",
        "server.uncompressed=no",
    ] {
        let [theirs, ours] = programs().map(|(_, program)| offers(&course, &program, setting));
        assert_eq!(theirs, ours, "{setting}");
    }
}

#[test]
fn clients_stream_where_the_server_prefers_it() {
    let course = Course::new();
    let [(_, stock), (_, ours)] = programs();
    let preferred = "server.preferuncompressed=yes";
    for server in [&stock, &ours] {
        let serving = course.serve(server, &["--config", preferred]);
        for client in [&stock, &ours] {
            let first = |options: &[&str]| {
                let target = tempfile::tempdir().unwrap();
                let url = serving.url("/");
                let line = [&["clone", "-U"][..], options, &[&url[..], "c"]].concat();
                let told = run(client, target.path(), &line);
                assert_eq!(told.code, Some(0), "{told:?}");
                told.stdout.lines().next().map(str::to_owned)
            };
            assert_eq!(first(&[]).as_deref(), Some("streaming all changes"));
            assert_eq!(
                first(&["--pull"]).as_deref(),
                Some("requesting all changes")
            );
            assert_eq!(first(&["-r", "0"]).as_deref(), Some("adding changesets"));
        }
    }
}

#[test]
fn what_a_server_cannot_act_on_is_refused_by_name() {
    let course = Course::new();
    let [_, (_, ours)] = programs();
    for setting in [
        "view=immutable",
        "validate=yes",
        "streamunbundle=yes",
        "bookmarks-pushkey-compat=no",
    ] {
        let (key, _) = setting.split_once('=').unwrap();
        let setting = format!("server.{setting}");
        let log = course.directory.path().join(key);
        let log = log.to_str().unwrap();
        let serving = course.serve(&ours, &["-E", log, "--config", &setting]);
        let told = run(&hg_program(), &course.source(), &["id", &serving.url("/")]);
        assert_ne!(told.code, Some(0), "{setting}");
        let logged = std::fs::read_to_string(log).unwrap();
        assert!(
            logged.contains(&format!("server.{key} is not ")),
            "{logged}"
        );
    }
}
