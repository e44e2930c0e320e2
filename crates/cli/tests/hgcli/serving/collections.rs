//! `--web-conf`: the repositories of a settings file, served by both programs.

use super::super::Twin;
use super::clients::run;
use super::*;
use std::os::unix::fs::symlink;
use varve_testkit::http::Answer;

/// Repositories of [`Tree`], of which each has another changeset.
const REPOSITORIES: [&str; 9] = [
    "a",
    "b",
    "dir/one",
    "dir/one/sub/in",
    "dir/two",
    "dir/deep/x",
    "dir/.hidden",
    "dir/sp ace/r%41",
    "outside",
];

/// Settings that name them in all ways; `@` is the directory.
const NAMES: &str = "[paths]\nva = a\nn/b = b\nall = dir/*\nrec = dir/**\nu/y/z = @/a\nempty =\n\
    /s/ = ./dir/../a/\ny//z = b\n../up = b\nva/in = b\n/ = plain/*\nva = outside\n*/w = a\nq = dir/deep/x/*\n\
    [collections]\n@/di = dir\ndir/deep/ = dir/deep\nelsewhere = b\n";

/// Lists of repositories, and paths that have none.
const LISTS: &[&str] = &[
    "/?style=raw",
    "/index?style=raw",
    "/?style=json",
    "/all?style=raw",
    "/all/?style=json",
    "/rec/index?style=raw",
    "/rec/one/index?style=raw",
    "/u/y?style=raw",
    "/va/index?style=raw",
    "/nope?style=raw",
    "/nope/index?style=raw",
    "/index/x?style=raw",
    "/index/?style=raw&style=json",
    "/?style=none",
    "/?cmd=capabilities",
    "/all?cmd=capabilities",
    "/nope",
];

/// Paths of repositories, well and badly written.
const PATHS: &[&str] = &[
    "/va",
    "/va/",
    "//va",
    "/%76a",
    "/va/in",
    "/va/x",
    "/va/../n/b",
    "/va/..",
    "/nope",
    "/n",
    "/n/b",
    "/n//b",
    "/n%2Fb",
    "/n/b%00",
    "/s",
    "/u/y/z",
    "/y/z",
    "/y//z",
    "/../up",
    "/up",
    "/all/one",
    "/all/one/sub/in",
    "/rec/one/sub/in",
    "/all/link",
    "/all/deep/linked",
    "/all/.hidden",
    "/all/two/loop",
    "/all/plain/self",
    "/rec/sp%20ace/r%2541",
    "/rec/sp%20ace/r%41",
    "/rec/sp+ace/r%2541",
    "/all/one/.hg/patches",
    "/all/one/.hg",
    "/first",
    "/second",
    "/third",
    "/%2A/w",
    "/q",
    "/dir/one",
    "/r/one",
    "/linked",
    "/elsewhere",
    "/empty",
    "/base",
    "/outside",
    "/index",
    "/VA",
];

/// A directory with repositories, links and loops.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        let directory = tempfile::tempdir().unwrap();
        let (hg, root) = (hg(), directory.path());
        let base = root.join("base");
        std::fs::create_dir(&base).unwrap();
        hg.ok(&base, &["init"]);
        // One repository has one head for each of the others.
        for name in REPOSITORIES {
            repos::write(&base, "a", name.as_bytes());
            repos::commit(&hg, &base, name);
        }
        for (at, name) in REPOSITORIES.iter().enumerate() {
            let target = root.join(name);
            std::fs::create_dir_all(&target).unwrap();
            copy(&base.join(".hg"), &target.join(".hg"));
            let bookmark = format!("bookmark{at} ");
            let node = hg.ok(&base, &["log", "-r", &at.to_string(), "-T", "{node}"]);
            let text = format!("{node} {}\n", bookmark.trim());
            std::fs::write(target.join(".hg/bookmarks"), text).unwrap();
        }
        let one = root.join("dir/one/.hg");
        std::fs::create_dir(one.join("patches")).unwrap();
        copy(&base.join(".hg"), &one.join("patches/.hg"));
        std::fs::create_dir_all(root.join("dir/plain/none")).unwrap();
        std::fs::create_dir(root.join("plain")).unwrap();
        for (to, link) in [
            ("../outside", "dir/link"),
            ("..", "dir/two/loop"),
            (".", "dir/plain/self"),
            ("../..", "dir/plain/up"),
            ("../../b", "dir/deep/linked"),
            ("nowhere", "dir/dangling"),
            ("../a/.hg/requires", "dir/file"),
            ("../dir/one", "plain/first"),
            ("../b", "plain/second"),
            ("second", "plain/third"),
        ] {
            symlink(to, root.join(link)).unwrap();
        }
        std::fs::write(
            root.join("b/.hg/hgrc"),
            "[web]\nname = b<e>e\ndescription = d \"\\ é€😀 &'/\u{7f}<x>\n[ui]\nusername = Bob <b@x>\n",
        )
        .unwrap();
        std::fs::write(
            root.join("dir/one/.hg/hgrc"),
            "[web]\ncontact = ann\ndescription = Abc\nlabels = x, \"y z\" <é>\n",
        )
        .unwrap();
        Tree(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes the settings file.
    fn configure(&self, text: &str) {
        let text = text.replace('@', self.path().to_str().unwrap());
        std::fs::write(self.path().join("conf"), text).unwrap();
    }

    /// Both servers.
    fn serve(&self, options: &[&str]) -> [Serving; 2] {
        let usual = ["-p", "0", "-a", "127.0.0.1", "-A", "/dev/null"];
        let options = [&usual[..], &["--web-conf", "conf"], options].concat();
        programs().map(|(_, program)| Serving::start(&program, self.path(), &options))
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Status, type and body of an answer; pages differ, and so do failures and refusals.
fn seen(answer: &Answer) -> (u16, String, String) {
    let media = answer.header("content-type").unwrap_or_default();
    if [401, 500].contains(&answer.status) {
        return (answer.status, String::new(), String::new());
    }
    let body = match media.starts_with("text/html") {
        true => String::new(),
        false => answer.text(),
    };
    (answer.status, media.to_lowercase(), body)
}

/// The answers of our server, which are those of the other one.
fn same(servers: &[Serving; 2], paths: &[&str]) -> Vec<(u16, String, String)> {
    let [theirs, ours] = [0, 1].map(|at: usize| {
        let mut client = servers[at].client();
        let mut get = |path: &&str| client.request("GET", path, &[], b"").unwrap();
        paths
            .iter()
            .map(|path| seen(&get(path)))
            .collect::<Vec<_>>()
    });
    for ((path, theirs), ours) in paths.iter().zip(&theirs).zip(&ours) {
        assert_eq!(theirs, ours, "{path}");
    }
    ours
}

/// A command whose answer tells one repository of [`Tree`] from another.
fn bookmarks(path: &str) -> String {
    format!("{path}?cmd=listkeys&namespace=bookmarks")
}

#[test]
fn the_same_names_lead_to_the_same_repositories() {
    let tree = Tree::new();
    tree.configure(NAMES);
    let servers = tree.serve(&[]);
    let listed = same(&servers, LISTS);
    assert!(listed[0].2.lines().count() > 40, "{}", listed[0].2);
    for key in [
        "name",
        "-name",
        "contact",
        "-description",
        "lastchange",
        "other",
    ] {
        same(&servers, &[&format!("/all?style=raw&sort={key}")]);
    }
    let paths = PATHS.iter().map(|path| bookmarks(path));
    let paths = paths.collect::<Vec<_>>();
    let answers = same(
        &servers,
        &paths.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let served = answers.iter().filter(|answer| answer.0 == 200);
    assert!(served.count() >= 20, "{answers:?}");
}

#[test]
fn settings_of_the_file_count_at_once() {
    let tree = Tree::new();
    let paths = "[paths]\nx = dir/*\nva = a\nd/e/f = b\nd/g = a\n[web]\nrefreshinterval = 0\n";
    tree.configure(paths);
    let servers = tree.serve(&[]);
    let lists = [
        "/?style=raw",
        "/d?style=raw",
        "/x/?style=raw",
        "/x?style=json",
        "/?style=json",
        "/",
    ];
    let heads = "/va?cmd=heads";
    for setting in [
        "descend = no",
        "collapse = yes",
        "baseurl = http://h.example:80/b%20b/",
        "style = raw",
        "hidden = yes",
        "allow_read = x",
        "deny_read = x",
        "allow_read = *",
        "allow-pull = no",
        "name = all",
    ] {
        tree.configure(&format!("{paths}{setting}\n"));
        for serving in &servers {
            // Mercurial's first answer has the base of the settings before.
            serving.client().get("/");
        }
        same(&servers, &[&lists[..], &[heads]].concat());
    }
}

#[test]
fn settings_of_repositories_count_at_once() {
    let tree = Tree::new();
    let paths = "[paths]\nx = dir/*\nva = a\nd/e/f = b\nd/g = a\n[web]\nrefreshinterval = 0\n";
    tree.configure(paths);
    let servers = tree.serve(&[]);
    let hgrc = |name: &str, text: &str| {
        std::fs::write(tree.path().join(name).join(".hg/hgrc"), text).unwrap();
    };
    hgrc("dir/two", "[web]\nhidden = yes\n");
    hgrc("dir/one", "[web]\nallow_read = ada\n");
    hgrc("a", "[web]\nname = me\n");
    for name in ["nostore", "none"] {
        let target = tree.path().join("dir").join(name);
        std::fs::create_dir(&target).unwrap();
        copy(&tree.path().join("a/.hg"), &target.join(".hg"));
    }
    std::fs::remove_dir_all(tree.path().join("dir/nostore/.hg/store")).unwrap();
    std::fs::remove_file(tree.path().join("dir/none/.hg/store/00changelog.i")).unwrap();
    std::fs::create_dir_all(tree.path().join("dir/share/.hg")).unwrap();
    std::fs::write(
        tree.path().join("dir/share/.hg/requires"),
        "share-safe\nrelshared\n",
    )
    .unwrap();
    std::fs::write(
        tree.path().join("dir/share/.hg/sharedpath"),
        "../../../outside/.hg",
    )
    .unwrap();
    let read = same(
        &servers,
        &[
            "/?style=json",
            "/x?style=raw",
            "/x/two?cmd=heads",
            "/x/one?cmd=heads",
        ],
    );
    assert_eq!((read[2].0, read[3].0), (200, 401));
    // What a directory hides is hidden below it if only the directory is shown.
    tree.configure(
        "[paths]\nx = dir/**\nw/y = dir/one/sub/in\nw/sub/in = dir/one/sub/in\nv/deep/x = dir/deep/x\n\
         [web]\nrefreshinterval = 0\ncollapse = yes\n",
    );
    for hidden in ["hidden = yes", "allow_read = ada", "hidden = no\nname = me"] {
        hgrc("dir/one", &format!("[web]\n{hidden}\n"));
        same(
            &servers,
            &["/?style=json", "/x?style=json", "/x/one/index?style=raw"],
        );
    }
    tree.configure(paths);
    let servers = tree.serve(&["-n", "typed", "--prefix", "p q/r"]);
    let answers = same(
        &servers,
        &[
            "/p%20q/r?style=json",
            "/p%20q/r/x?style=raw",
            "/p%20q/r/va?cmd=heads",
        ],
    );
    assert!(answers[0].2.contains("\"typed\""), "{}", answers[0].2);
    for serving in &servers {
        let mut client = serving.client();
        let mut status = |path| client.request("GET", path, &[], b"").unwrap().status;
        assert_eq!(
            ["/va?cmd=heads", "/?style=raw"].map(&mut status),
            [404, 404]
        );
    }
}

#[test]
fn names_follow_the_disk() {
    let tree = Tree::new();
    let file =
        |interval| format!("[paths]\nx = dir/*\nva = a\n[web]\nrefreshinterval = {interval}\n");
    tree.configure(&file(1000));
    let slow = tree.serve(&[]);
    tree.configure(&file(-1));
    let servers = tree.serve(&[]);
    let new = ["/x/new?cmd=heads", "/x/index?style=raw"];
    assert_eq!(same(&servers, &new)[0].0, 404);
    std::fs::create_dir(tree.path().join("dir/new")).unwrap();
    copy(&tree.path().join("a/.hg"), &tree.path().join("dir/new/.hg"));
    assert_eq!(same(&servers, &new)[0].0, 200);
    assert_eq!(same(&slow, &new)[0].0, 404, "the interval has not passed");
    std::fs::remove_dir_all(tree.path().join("dir/new")).unwrap();
    assert_eq!(same(&servers, &new)[0].0, 404);
    // Another repository in the place of one that was read before.
    let heads = "/va?cmd=heads";
    let before = same(&servers, &[heads]);
    tree.configure(&file(0).replace("va = a", "va = other\nwas = a"));
    std::fs::create_dir(tree.path().join("other")).unwrap();
    hg().ok(&tree.path().join("other"), &["init"]);
    let after = same(&servers, &[heads, "/was?cmd=heads"]);
    assert!(after[0] != before[0] && after[1] == before[0]);
    for broken in [
        "bad",
        "[paths]\nva = a\nm = none\n",
        "[paths]\nva = a\nm = none/*\n",
    ] {
        tree.configure(&format!("{broken}\n[web]\nrefreshinterval = 0\n"));
        assert_eq!(
            same(&servers, &[heads, "/?style=raw"])[0].0,
            500,
            "{broken}"
        );
    }
    std::fs::remove_file(tree.path().join("conf")).unwrap();
    assert_eq!(same(&servers, &[heads])[0].0, 500);
    tree.configure(&file(0));
    assert_eq!(same(&servers, &[heads]), before);
}

#[test]
fn a_client_works_with_named_repositories() {
    let tree = Tree::new();
    tree.configure(
        "[paths]\nn/b = b\nall = dir/**\n[web]\npush_ssl = no\nallow-push = *\n[phases]\npublish = no\n\
         [hooks]\nchangegroup = echo url $HG_URL\n",
    );
    std::fs::write(
        tree.path().join("dir/two/.hg/hgrc"),
        "[web]\nallow-push = ann\n[phases]\npublish = yes\n",
    )
    .unwrap();
    let commands = [
        "id @/n/b",
        "id @/n/b/",
        "id -B @/all/one/sub/in",
        "id @/nope",
        "id @/n/b/x",
        "clone @/nope c",
        "clone @/n/b c",
        "clone -q -U @/all/sp%20ace/r%2541 u",
        "-R c branch -q pushed",
        "-R c commit -q -d 2000-01-01 -m pushed -u ada",
        "-R c bookmark mine",
        "-R c push --new-branch -B mine",
        "-R c phase -r tip",
        "-R c incoming @/all/one",
        "-R c push --new-branch @/all/two",
        "-R c push -r 0 @/all/one",
        "-R c phase -r .",
        "-R u pull -q @/all/two",
        "-R u phase -r tip",
        "id @/n/b",
    ];
    let before = tree.path().join("before");
    std::fs::create_dir(&before).unwrap();
    copy(&tree.path().join("b"), &before);
    let [theirs, ours] = programs().map(|(name, program)| {
        let options = [
            "-p",
            "0",
            "-a",
            "127.0.0.1",
            "-A",
            "/dev/null",
            "--web-conf",
            "conf",
        ];
        let serving = Serving::start(&program, tree.path(), &options);
        let work = tree.path().join(name);
        std::fs::create_dir(&work).unwrap();
        let told = commands.map(|command| {
            let command = command.replace('@', &serving.url(""));
            let words: Vec<&str> = command.split(' ').collect();
            let outcome = run(&hg_program(), &work, &words);
            let plain = |text: &str| text.replace(&serving.port().to_string(), "PORT");
            (plain(&outcome.stdout), plain(&outcome.stderr), outcome.code)
        });
        std::fs::remove_dir_all(tree.path().join("b")).unwrap();
        copy(&before.join("b"), &tree.path().join("b"));
        told
    });
    for ((command, theirs), ours) in commands.iter().zip(&theirs).zip(&ours) {
        assert_eq!(theirs, ours, "{command}");
    }
    assert!(
        ours[11].1.is_empty() && ours[11].0.contains("url remote:http:127.0.0.1:"),
        "{:?}",
        ours[11]
    );
}

#[test]
fn refused_starts_are_told_alike() {
    let twin = Twin::reading();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    for (option, value) in [
        ("--web-conf", "none".to_owned()),
        ("--webdir-conf", "none".to_owned()),
        ("--web-conf", ".".to_owned()),
        ("--web-conf", file("bad", "x\n")),
        ("--web-conf", file("missing", "[paths]\nm = none/\n")),
        ("--web-conf", file("home", "[paths]\n/a/b/ = ~/x\n")),
        ("--web-conf", file("star", "[paths]\nm = a*\n")),
        ("--web-conf", file("pattern", "[paths]\nm = /none/./x/*\n")),
        ("--web-conf", file("file", "[paths]\nm = .hg/requires/**\n")),
        (
            "--web-conf",
            file("collection", "[collections]\nm = none\n"),
        ),
        ("--web-conf", file("nothing", "[collections]\nm =\n")),
    ] {
        twin.same(&["serve", "-p", "0", option, &value]);
    }
    let good = file("good", "[paths]\nm = .\n");
    twin.same(&["-R", "none", "serve", "-p", "0", "--web-conf", &good]);
    twin.same(&["serve", "-p", "0", "-d", "--web-conf", "none"]);
    let missing = file("missing", "[paths]\nm = none\n");
    twin.same(&["serve", "-p", "0", "-d", "--web-conf", &missing]);
    twin.same(&["serve", "-p", "0", "-S", "--web-conf", &good]);
    twin.same(&[
        "serve",
        "-p",
        "0",
        "--web-conf",
        "none",
        "--webdir-conf",
        &good,
    ]);
}

#[test]
fn a_daemon_has_the_settings_of_the_file() {
    let tree = Tree::new();
    let [theirs, ours] = programs().map(|(name, program)| {
        tree.configure(&format!(
            "[paths]\nx/y = ../a\n[web]\nport = 0\naddress = 127.0.0.1\nprefix = pre\n\
             accesslog = {name}.log\nerrorlog = {name}.errors\n"
        ));
        let options = ["-d", "--pid-file", "pid", "--webdir-conf", "../conf"];
        let work = tree.path().join("dir");
        let mut command = command(&program, &work, &options);
        let output = command.env("EMAIL", "ann <a@x>").output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let id: u32 = std::fs::read_to_string(work.join("pid"))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let mut client = Client::new(&format!("127.0.0.1:{}", port(&out)));
        let paths = ["/pre/x/y?cmd=heads", "/pre/x?style=json", "/x/y?cmd=heads"];
        let answers = paths.map(|path| client.request("GET", path, &[], b"").unwrap());
        let answers =
            answers.map(|answer| (answer.status, (answer.status == 200).then(|| answer.text())));
        let begun = std::time::Instant::now();
        kill("TERM", id);
        while Path::new(&format!("/proc/{id}")).exists() {
            assert!(begun.elapsed().as_secs() < 60);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let log = std::fs::read_to_string(work.join(format!("{name}.log"))).unwrap();
        let errors = std::fs::read_to_string(work.join(format!("{name}.errors"))).unwrap();
        let out = out.replace(&port(&out).to_string(), "PORT");
        (out, output.status.code(), answers, masked(&log), errors)
    });
    assert_eq!(theirs, ours);
}
