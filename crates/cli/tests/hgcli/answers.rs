//! Questions that are answered by a file: what is asked, and `ui.promptecho`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

const ASKS: &str = "ui.interactive=1";
const ECHOES: &str = "ui.promptecho=1";

/// Two files on one side, of which the other changed one and removed the other.
fn disagreeing(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "f", "g"] {
        write(path, name, b"1\n");
    }
    commit(hg, path, "0");
    write(path, "a", b"2\n");
    commit(hg, path, "1");
    hg.ok(path, &["up", "-q", "0"]);
    hg.ok(path, &["rm", "a"]);
    commit(hg, path, "2");
}

#[test]
fn answers_are_echoed_on_demand() {
    let twin = Twin::writing(disagreeing);
    for answers in ["c\n", "\n", "x\nD\n", "u\n", ""] {
        twin.same_answering(
            &["merge", "1", "--config", ASKS, "--config", ECHOES],
            answers,
        );
        twin.same(&["update", "-q", "-C", "2"]);
    }
    let merge = ["merge", "1", "-y", "--config", ASKS, "--config", ECHOES];
    twin.same_answering(&merge, "c\n");
    twin.same(&["update", "-q", "-C", "2"]);
    twin.each(|path| write(path, "unknown", b"x\n"));
    for answers in ["n\n", "\n", ""] {
        let purge = ["purge", "--confirm", "--config", ASKS, "--config", ECHOES];
        twin.same_answering(
            &[&purge[..], &["--config", "extensions.purge="]].concat(),
            answers,
        );
    }
    twin.each(|path| write(path, "f", b"2\n"));
    let chosen = ["commit", "-i", "-m", "m", "--config", "ui.interface=text"];
    let chosen = [&chosen[..], &["--config", ASKS, "--config", ECHOES]].concat();
    twin.same_answering(&chosen, "?\nzz\n\nn\n");
}

#[test]
fn forget_asks_about_each_file() {
    let twin = Twin::writing(disagreeing);
    twin.all_same(&["forget -i -n f", "forget -i", "forget -i f"]);
    for answers in ["?\nn\ny\n", "s\n", "a\n", "x\nY\nN\n", ""] {
        twin.same(&["update", "-q", "-C", "."]);
        twin.same_answering(&["forget", "-i", "g", "f", "--config", ASKS], answers);
        twin.same(&["status"]);
    }
}

#[test]
fn resolve_asks_before_it_takes_all_files() {
    let twin = Twin::writing(disagreeing);
    twin.same(&["merge", "1"]);
    twin.each(|path| std::fs::create_dir(path.join("d")).unwrap());
    let asking = |words: &str, answers: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let settings = ["--config", "commands.resolve.confirm=1", "--config", ASKS];
        twin.same_answering(&[&words[..], &settings].concat(), answers);
        twin.same(&["resolve", "-l"]);
    };
    for words in ["resolve -a", "resolve -m", "resolve -u", "resolve -a -m"] {
        asking(words, "n\n");
        asking(words, "y\nn\n");
        asking(words, "");
    }
    asking("resolve -m a", "");
    asking("resolve -u -I a", "n\n");
}

#[test]
fn resolve_knows_files_by_their_names_from_the_root() {
    let twin = Twin::writing(disagreeing);
    twin.same(&["merge", "1"]);
    twin.each(|path| std::fs::create_dir(path.join("d")).unwrap());
    for words in [
        "resolve -m a",
        "resolve -m a nope",
        "resolve -m nope",
        "resolve --re-merge nope a",
        "resolve -m glob:a",
        "resolve -m relpath:a a",
        "resolve -l",
        "resolve -l --config ui.relative-paths=yes",
        "resolve -l -T {path}\\n",
        "resolve -m path:a path:nope",
        "resolve -l ../a",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        twin.same_in("d", &words);
    }
    twin.each(|path| write(path, "a", b"<<<<<<< x\n=======\n>>>>>>> y\n"));
    twin.same(&["resolve", "-u"]);
    let checks = ["--config", "commands.resolve.mark-check=abort"];
    let detailed = ["--config", "ui.detailed-exit-code=1"];
    twin.same(&[&["resolve", "-m"][..], &checks, &detailed].concat());
}
