//! Pages of a repository in headless Chromium; the script lies in `tests/npm/pages/`. Pictures of all pages are made as those of
//! the console.

use super::Site;
use super::console::in_browser;
use crate::hgcli::serving::pages::lake;

/// One of each kind of page.
const ADDRESSES: &[&str] = &[
    "/",
    "/hg",
    "/hg/nosuch",
    "/hg/lake/",
    "/hg/lake/shortlog",
    "/hg/lake/log",
    "/hg/lake/log?rev=side",
    "/hg/lake/log?rev=no+such+words",
    "/hg/lake/graph",
    "/hg/lake/rev/1",
    "/hg/lake/rev/2",
    "/hg/lake/rev/3",
    "/hg/lake/rev/4",
    "/hg/lake/rev/nope",
    "/hg/lake/file/tip",
    "/hg/lake/file/3/s/t",
    "/hg/lake/file/3/long.c",
    "/hg/lake/file/3/p.png",
    "/hg/lake/file/tip/src/code.rs",
    "/hg/lake/annotate/tip/src/code.rs",
    "/hg/lake/annotate/3/long.c",
    "/hg/lake/diff/1/long.c",
    "/hg/lake/comparison/1/long.c",
    "/hg/lake/log/4/long.c",
    "/hg/lake/tags",
    "/hg/lake/bookmarks",
    "/hg/lake/branches",
    "/hg/lake/statistics",
    "/hg/lake/help",
    "/hg/lake/nosuch",
];

/// Has tokens of all kinds.
const CODE: &[u8] = b"//! Cores.\n\n#[derive(Debug)]\npub struct Core<'a> {\n    depth: f64, /* metres,\n    from the top */\n    name: &'a str,\n}\n\n\
    fn main() {\n    let core = Core { depth: 12.5, name: \"A\" };\n    println!(\"{core:?}\");\n}\n";

#[test]
fn pages_are_accessible() {
    let site = Site::new();
    let repository = site.repository("lake");
    let hg = lake(&repository);
    let node = hg.ok(&repository, &["log", "-r", "2", "-T", "{node}"]);
    varve_testkit::repos::write(&repository, "src/code.rs", CODE);
    hg.ok(
        &repository,
        &["commit", "-qA", "-m", "code", "-u", "bo", "-d", "11 0"],
    );
    let web = "[web]\ndescription = Lines & <marks>\ncontact = Ada\nallow-archive = zip gz\n";
    std::fs::write(repository.join(".hg/hgrc"), web).unwrap();
    let addresses = ADDRESSES.join(" ");
    let settings = [
        ("ADDRESSES", addresses.as_str()),
        ("NODE_OF_CHANGESET", node.as_str()),
    ];
    in_browser(&site, "pages/accessibility.js", &settings);
}
