//! `export`.

use super::Twin;
use std::collections::BTreeMap;
use std::path::Path;
use varve_testkit::repos;

#[test]
fn patches_are_printed_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "export",
        "export 0",
        "export 0 0 1",
        "export -r 0 -r 1 2",
        "export all()",
        "export -g all()",
        "export -a all()",
        "export --nodates all()",
        "export --switch-parent all()",
        "export --switch-parent -g merge()",
        "export --debug tip",
        "export -v 0",
        "export -v 0 1 -o -",
        "export -q 0",
        "export null",
        "export -T json 0:2",
        "export -T {user}|{date|isodate}|{branch}|{node}|{desc}\\n{diff} 1",
        "export -T {rev}:{parents}:{tags}\\n --switch-parent all()",
        "export -T {rev}{nosuch}\\n null",
        "export --config diff.git=yes --config diff.nobinary=yes all()",
        "export --config diff.noprefix=yes --config diff.unified=0 0:3",
        "export nope",
        "export none()",
        "export -B nope",
        "export -B nope -r 0",
        "export -o %x 0",
        "export -o x% 0",
        "export -o nope/x 0",
        "-R / export",
    ]);
}

/// Contents of the files beside the repository whose names begin with `out-`.
fn written(root: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(root.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.starts_with("out-"));
    let text = |name: &String| {
        let bytes = std::fs::read(root.parent().unwrap().join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    names.map(|name| (name.clone(), text(&name))).collect()
}

#[test]
fn files_have_the_same_names_and_patches() {
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    twin.each(|root| {
        std::fs::write(
            root.parent().unwrap().join("out-once"),
            "old\n".repeat(9999),
        )
        .unwrap();
    });
    twin.all_same(&[
        "export -v -o ../out-once 0 1 2",
        "export -v -o ../out-%n-of-%N-%m-%R-%r-%b-%h-%%-%H.patch all()",
        "export -o ../out-%R%r-%m null",
        "bookmark -r 2 low",
        "bookmark -r tip high",
        "export -B high",
        "export -B high -g 0 -o ../out-bookmark",
    ]);
    let (theirs, ours) = (written(twin.theirs()), written(twin.ours()));
    assert_eq!(theirs, ours);
    assert!(ours.len() > 5 && ours["out-once"].starts_with("# HG"));
}

#[test]
fn templates_in_names_are_refused() {
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    let ours = twin.run(&["export", "-o", "{rev}", "0"]).ours;
    assert_eq!(ours.code, Some(10));
    let reason = "abort: templates in the names of output files are not supported\n";
    assert_eq!(ours.stderr, reason);
    assert!(!twin.ours().join("{rev}").exists());
}
