//! `files` and `cat`.

use super::Twin;

#[test]
fn tracked_files_are_listed_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "files",
        "files -v",
        "files -0",
        "files -T json",
        "--cwd dir files -T {path}|{path|relpath}\\n",
        "--cwd dir files -r 0 -T {path}|{size}|{path|relpath}\\n",
        "files -v -T json README",
        "files nope",
        "files nope README",
        "files dir",
        "files -r 0",
        "files -r 0 -v",
        "files -r 0 nope dir feature.txt",
        "files -r null",
        "files -r nope",
        "files glob:*.txt",
        "files glob:**.txt",
        "files re:.*\\.i$",
        "files re:x(",
        "files -X dir -X re:^.{20}",
        "files -I nope",
        "files -I dir -I glob:**.d",
        "--config ui.relative-paths=no --cwd dir files",
        "--cwd dir files",
        "--cwd dir files -r 0 ..",
        "--cwd dir files -r 0 path:dir relglob:*.txt",
    ]);
}

#[test]
fn contents_are_printed_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "cat README",
        "cat --decode README",
        "cat README nope",
        "cat README README",
        "cat -r 0 feature.txt",
        "cat -r 0 glob:*.txt",
        "cat -r 0 dir",
        "cat -r 1 link",
        "cat -r 99 README",
        "cat -r null README",
        "cat -X README README",
        "cat dir/../README",
        "cat /nope",
        "cat ../x",
        "cat .hg/x",
        "cat re:x(",
        "cat glob:nope*",
        "cat -o %x README",
        "cat -o x% README",
        "cat -o - README",
        "cat -T json README link small.bin",
        "--cwd dir cat c.txt -T json",
        "--cwd dir cat ../README nope",
    ]);
    twin.same(&["cat", "looks like metadata", "docs/README copy"]);
    twin.same_but_output(&["cat"]);
}

#[test]
fn contents_are_written_to_files_of_the_same_names() {
    let twin = Twin::writing(|hg, path| {
        varve_testkit::repos::make(hg, path, varve_testkit::repos::DEFAULT);
    });
    let form = "../out/%%-%b-%h-%H-%R-%m/%d/%s-%p";
    twin.same(&["cat", "-r", "0", "-o", form, "README", "dir"]);
    let names = |root: &std::path::Path| {
        let out = root.parent().unwrap().join("out");
        let mut found = std::process::Command::new("find");
        let found = found.current_dir(out).args([".", "-type", "f"]).output();
        let mut lines: Vec<_> = found
            .unwrap()
            .stdout
            .split(|b| *b == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        lines.sort();
        lines
    };
    let (theirs, ours) = (names(twin.theirs()), names(twin.ours()));
    assert_eq!(theirs, ours);
    assert_eq!(ours.len(), 4, "three files and the end");
}
