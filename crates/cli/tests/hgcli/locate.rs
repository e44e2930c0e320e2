//! `locate`.

use super::Twin;
use varve_testkit::repos;

#[test]
fn tracked_files_are_located_alike() {
    let twin = Twin::reading();
    twin.all_same(&[
        "locate",
        "locate -0",
        "locate -f",
        "locate README",
        "locate nope",
        "locate nope README",
        "locate dir",
        "locate c.txt",
        "locate path:dir",
        "locate -f -0 c.txt",
        "locate -r 0",
        "locate -r 0 nope c.txt",
        "locate -r null",
        "locate -r nope",
        "locate glob:*.txt",
        "locate *.txt",
        "locate re:x(",
        "locate ../x",
        "locate -X dir",
        "locate -I nope",
        "locate -I dir -I glob:**.d",
        "--cwd dir locate",
        "--cwd dir locate README",
        "--cwd dir locate c.txt README",
        "--cwd dir locate -I .",
        "--cwd dir locate -r 0 c.txt",
        "--cwd dir locate --config ui.relative-paths=yes",
        "--cwd dir locate c.txt --config ui.relative-paths=no",
        "-R / locate",
    ]);
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    twin.each(|root| std::fs::write(root.join("fresh"), "x").unwrap());
    twin.all_same(&["add fresh", "remove README", "locate README", "locate"]);
}
