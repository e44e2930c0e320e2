//! `set:` patterns beside the real ones.

use super::Twin;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos;

/// Files of every state, kind, size and way to end lines.
fn mixed(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for (name, content) in [
        ("m", &b"m\n"[..]),
        ("clean", b"c\n"),
        ("bin", b"b\0"),
        ("mixed", b"a\r\nb\n"),
        ("dos", b"a\r\n"),
        ("mac", b"a\rb"),
        ("big", &[b'x'; 2000]),
        ("ex", b"x\n"),
        ("rem", b"r\n"),
        ("del", b"del\n"),
        ("d/x.c", b"c\n"),
        ("d/y.h", b"h\n"),
        ("latin", b"\xff\xe9"),
        ("utf", b"\xc3\xa9"),
        ("con.txt", b"subs\n"),
        (".hgignore", b"syntax: glob\n*.o\n"),
    ] {
        repos::write(path, name, content);
    }
    std::fs::set_permissions(path.join("ex"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("clean", path.join("link")).unwrap();
    hg.ok(path, &["commit", "-qAm", "0", "-d", "0 0"]);
    repos::write(path, "tracked.o", b"ig\n");
    hg.ok(path, &["add", "tracked.o"]);
    hg.ok(path, &["copy", "m", "m2"]);
    hg.ok(path, &["commit", "-qm", "1", "-d", "0 0"]);
    repos::write(path, "m", b"m\nz\n");
    repos::write(path, "new", b"new\n");
    hg.ok(path, &["add", "new"]);
    hg.ok(path, &["copy", "clean", "copy"]);
    hg.ok(path, &["remove", "rem"]);
    std::fs::remove_file(path.join("del")).unwrap();
    repos::write(path, "unk", b"u\n");
    repos::write(path, "unkbin", b"u\0");
    repos::write(path, "ig.o", b"o\0");
    repos::write(path, "list", b"set:exec()\npath:m\n");
    for size in [1535, 1536, 1637, 1638, 2048] {
        repos::write(path, &format!("s{size}"), &vec![b'y'; size]);
    }
}

const EXPRESSIONS: &[&str] = &[
    "added()",
    "binary()",
    "clean()",
    "copied()",
    "deleted()",
    "missing()",
    "encoding(utf8)",
    "encoding('UTF-8')",
    "encoding(ascii)",
    "encoding('latin-1')",
    "encoding(foo)",
    "eol(dos)",
    "eol(unix)",
    "eol(mac)",
    "eol(foo)",
    "exec()",
    "grep(x)",
    "grep('^c$')",
    "grep('^z$')",
    "grep('^m')",
    "grep(r'\\.o')",
    "hgignore()",
    "ignored()",
    "modified()",
    "portable()",
    "not portable()",
    "removed()",
    "resolved()",
    "unresolved()",
    "symlink()",
    "tracked()",
    "unknown()",
    "revs(0, '**.c')",
    "revs('0:1', tracked())",
    "revs('wdir()', added())",
    "revs(0, binary())",
    "revs(1, tracked.o)",
    "revs(1, copied())",
    "revs(0, not tracked())",
    "revs(foo, m)",
    "revs(0)",
    "revs('foo(', m)",
    "status(0, 1, added())",
    "status(0, 1, clean())",
    "status(0, 'wdir()', modified())",
    "status(0, 'wdir()', added() or removed())",
    "status(0, 1)",
    "size(2)",
    "size('1k')",
    "size('>1k')",
    "size('>=.001MB')",
    "size('1 - 3')",
    "size(foo)",
    "size('1.5k')",
    "size('<1.5k')",
    "size('<=1.5k')",
    "size('2b')",
    "size('1 - 2 - 3')",
    "size()",
    "size(m, n)",
    "**.c",
    "d/*",
    "path:d",
    "d",
    "'re:.*c$'",
    "re:'m|bi.'",
    "glob:d",
    "rootfilesin:d",
    "filepath:m",
    "relpath:d",
    "*",
    "not *",
    "not tracked()",
    "tracked() - modified()",
    "m|clean",
    "! m & modified() or added()",
    "m and clean or d/*.c",
    "binary() and unknown()",
    "m-clean",
    "size('>0') & ignored()",
    "'d/x.c'",
    "'d/\\x79.h'",
    "r'd/x.c'",
    "'path:m' | 'glob:d/*'",
    "'set:added()'",
    "d/x.c + d/y.h - d/y.h",
    " m ",
    "listfile:list",
    "include:.hgignore",
    "foo()",
    "modifed()",
    "added(x)",
    "(",
    "(m",
    "m)",
    "a b",
    "m or",
    "m,",
    "-m",
    "a, b",
    "a:b",
    "path:",
    "$x",
    "'a",
    "(m|clean)(x)",
    "grep(x, y)",
    "eol()",
    "encoding()",
    "listfile:nope",
    "added",
    "",
];

#[test]
fn sets_are_the_same_in_the_working_directory_and_in_changesets() {
    let twin = Twin::writing(mixed);
    for expression in EXPRESSIONS {
        let set = format!("set:{expression}");
        twin.same(&["status", "-A", &set]);
        if expression.len() % 2 == 0 {
            twin.same(&["files", "-r", "1", &set]);
        }
    }
    twin.same(&["files", "set:binary() or added()"]);
    twin.same_in("d", &["status", "-A", "set:x.c | ../bin"]);
    twin.same_in("d", &["files", "set:**"]);
}

#[test]
fn commands_take_sets() {
    let twin = Twin::writing(mixed);
    for line in [
        &["diff", "--stat", "-c", "1", "set:added()"][..],
        &["diff", "--stat", "-r", "0", "set:modified()"],
        &["diff", "--stat", "set:copied()"],
        &["status", "--rev", "0", "--rev", "1", "set:added()"],
        &["status", "--change", "1", "set:added()"],
        &["status", "--rev", "0", "set:added()"],
        &["status", "-I", "set:added()"],
        &["status", "-X", "set:added()"],
        &["status", "-A", "listfile:list"],
        &["status", "-A", "include:.hgignore"],
        &["cat", "-r", "0", "set:size(2) & d/*"],
        &["revert", "-n", "set:modified()"],
        &["add", "-n", "set:unknown() and size(2)"],
        &["log", "-T", "{rev} ", "-r", "file('set:tracked()')"],
        &["log", "-T", "{rev} ", "-r", "file('set:added()')"],
        &["log", "-T", "{rev} ", "-r", "file('set:binary()')"],
        &["log", "-T", "{rev} ", "-r", "adds('set:size(3)')"],
        &["log", "-T", "{rev} ", "-r", "contains('set:size(3)')"],
        &["log", "-T", "{rev} ", "-r", "contains('set:binary()')"],
        &["log", "-T", "{rev} ", "-r", "file('set:foo()')"],
        &["log", "-T", "{rev} ", "-r", "none()"],
        &["log", "-T", "{rev} ", "-r", "none(x)"],
        &["forget", "set:added() - copied()"],
        &["remove", "set:symlink()"],
        &["status", "-C"],
        &[
            "commit",
            "-d",
            "0 0",
            "-m",
            "2",
            "set:copied() or removed()",
        ],
        &["status", "-C"],
    ] {
        twin.same(line);
    }
}
