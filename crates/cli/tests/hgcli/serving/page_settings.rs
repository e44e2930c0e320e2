//! Settings of pages, compared with stock's: `[diff]`, `[annotate]` and `web.style`.

use super::*;
use std::os::unix::fs::PermissionsExt;
use varve_testkit::http::Answer;

/// Settings of one server after the other; together they have every key with an effect.
const SETTINGS: &[&[&str]] = &[
    &[],
    &["diff.git=1", "diff.showfunc=1", "annotate.ignorews=1"],
    &[
        "diff.git=1",
        "diff.nobinary=1",
        "diff.noprefix=1",
        "diff.unified=0",
        "experimental.extendedheader.index=7",
        "annotate.ignorewseol=1",
        "web.style=json",
    ],
    &[
        "diff.nodates=1",
        "diff.ignorews=1",
        "diff.ignoreblanklines=1",
        "annotate.ignorewsamount=1",
        "web.style=json",
        "--style=raw",
    ],
    &[
        "diff.ignorewseol=1",
        "diff.noprefix=1",
        "annotate.ignoreblanklines=x",
        "web.style=atom",
    ],
    &["diff.git=x", "annotate.unified=x", "web.style=rss"],
    &[
        "diff.git=1",
        "experimental.extendedheader.index=full",
        "diff.ignorewsamount=1",
        "annotate.nodates=x",
        "web.style=monoblue",
    ],
];

const ADDRESSES: &[&str] = &[
    "/raw-rev/1",
    "/raw-rev/2",
    "/raw-rev/3",
    "/raw-rev/4",
    "/raw-rev/0:4",
    "/raw-rev/3:4",
    "/json-rev/1",
    "/json-rev/4",
    "/raw-diff/1/place",
    "/raw-diff/1/moved",
    "/raw-diff/1/ex",
    "/json-diff/1/newbin",
    "/json-diff/2/f.c",
    "/raw-diff/2/f.c?git=1",
    "/json-comparison/2/f.c",
    "/json-annotate/2/f.c",
    "/raw-annotate/2/f.c?ignorews=1",
    "/json-annotate/2/f.c?ignorewseol=0",
    "/json-annotate/2/f.c?ignorewsamount=",
    "/raw-log?rev=all()",
    "/raw-log?rev=two",
    "/raw-log?rev=1",
    "/",
    "/log",
    "/shortlog",
    "/rev/2",
    "/file/1/f.c",
    "/file/1",
    "/file/1/nosuch",
    "/rawfile/1/f.c",
    "/file/1/f.c?style=raw",
    "/tags?style=bogus",
    "/bogus-tags?style=json",
    "/gitweb-tags?style=json",
    "/nosuch",
    "/annotate/1/f.c",
    "/archive/1.zip",
    "/json-",
    "/raw-",
    "/?cmd=file&node=1&file=f.c",
    "/?cmd=rawfile&node=1&file=f.c",
];

const FUNCTIONS: &str = "int main(void)\n{\n\ta = 1;\n\tb = 2;\n\tc = 3;\n\td = 4;\n\te = 5;\n}\n\nvoid g(void)\n{\n\
    \ta = 1;\n\tb = 2;\n\tc = 3;\n\td = 4;\n\te = 5;\n}\n";

/// Renames, copies, modes, blanks, empty files and contents that are no texts.
fn coast(directory: &Path) {
    let hg = hg();
    std::fs::create_dir_all(directory).unwrap();
    hg.ok(directory, &["init"]);
    let commit = |message: &str| {
        let date = format!("{} 0", message.len());
        hg.ok(
            directory,
            &["commit", "-qA", "-m", message, "-u", "bo", "-d", &date],
        );
    };
    let write = |name: &str, text: &str| repos::write(directory, name, text.as_bytes());
    for (name, text) in [
        ("f.c", FUNCTIONS),
        ("bin", "a\0b\n"),
        ("gone", "x\n"),
        ("moved", "m\nm2\nm3\n"),
        ("empty", ""),
        ("ex", "one\n"),
    ] {
        write(name, text);
    }
    commit("zero");
    hg.ok(directory, &["rename", "moved", "place"]);
    hg.ok(directory, &["rename", "bin", "no bin"]);
    hg.ok(directory, &["copy", "f.c", "g g.c"]);
    hg.ok(directory, &["remove", "gone", "empty"]);
    let changed = FUNCTIONS
        .replacen("c = 3", "c   =  3", 1)
        .replace("e = 5", "e = 55");
    write("f.c", &changed);
    write("g g.c", &format!("{changed}\n\n"));
    write("new", "new");
    write("new empty", "");
    write("newbin", "q\0z");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.join("ex"), mode).unwrap();
    commit("one");
    let blanks = changed
        .replace("d = 4;\n", "d = 4;  \n")
        .replacen("\te = 55", "\n\te = 55", 1);
    write("f.c", &blanks);
    commit("two");
    hg.ok(directory, &["update", "-q", "1"]);
    hg.ok(directory, &["rename", "f.c", "h h.c"]);
    write("h h.c", &format!("{changed}side\n"));
    commit("side of");
    hg.ok(directory, &["merge", "-q", "2", "--tool", ":local"]);
    commit("merged");
}

/// Status, type and body; of a failure only the status, and of pages for browsers no body.
fn told(server: &Serving, client: &mut Client, path: &str) -> (u16, String, String) {
    let answer: Answer = client.request("GET", path, &[], b"").unwrap();
    let media = answer.header("content-type").unwrap_or_default().to_owned();
    if answer.status == 500 {
        return (500, String::new(), String::new());
    }
    let body = match media.starts_with("text/html") {
        true => String::new(),
        false => answer.text().replace(&server.port().to_string(), "PORT"),
    };
    (
        answer.status,
        media,
        body.replace("localhost:", "127.0.0.1:"),
    )
}

#[test]
fn settings_change_the_bytes_as_in_stock() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("coast");
    coast(&source);
    for settings in SETTINGS {
        let mut options = vec![
            "-p",
            "0",
            "-a",
            "127.0.0.1",
            "-A",
            "/dev/null",
            "-n",
            "coast",
        ];
        for setting in *settings {
            let is_option = setting.starts_with("--");
            options.extend((!is_option).then_some("--config"));
            options.push(setting);
        }
        let [theirs, ours] = programs().map(|(_, program)| {
            let mut command = command(&program, &source, &options);
            Serving::spawn(command.env_remove("HGPLAIN"))
        });
        let mut clients = [theirs.client(), ours.client()];
        for address in ADDRESSES {
            let [their, our] = &mut clients;
            let expected = told(&theirs, their, address);
            assert_eq!(
                told(&ours, our, address),
                expected,
                "{settings:?} {address}"
            );
        }
    }
}

#[test]
fn settings_without_an_effect_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("small");
    repository(&source);
    for (setting, address, status, word) in [
        ("web.style=bogus", "/log", 501, "web.style"),
        ("web.style=bogus", "/json-log", 200, ""),
        (
            "experimental.xdiff=1",
            "/raw-rev/0",
            501,
            "experimental.xdiff",
        ),
    ] {
        let server = Serving::start(&our_hg(), &source, &["-p", "0", "--config", setting]);
        let answer = server.client().request("GET", address, &[], b"").unwrap();
        assert_eq!(answer.status, status, "{setting} {address}");
        assert!(answer.text().contains(word), "{setting}: {}", answer.text());
    }
}
