//! A repository with real content and thousands of files: the corpus that speed is measured on.

use super::Site;
use varve_testkit::peers::{hg, small_corpus};

/// Tip of the repository that `bench/corpus/make_repo.py small` makes on every machine.
const TIP: &str = "2a6890934a5803777328b822c293e1d602fa479f";
const CHANGESETS: usize = 402;

#[test]
fn real_content_is_cloned_whole_by_pull_and_by_stream() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("corpus"));
    let made = small_corpus();
    let given = [made.to_str().unwrap(), source.to_str().unwrap()];
    std::fs::create_dir_all(site.path().join("repos")).unwrap();
    hg.ok(site.path(), &["clone", "-U", given[0], given[1]]);
    let server = site.serve();
    let log = ["log", "--debug", "-T", "{node} {phase} {p2node} {files}\n"];
    let expected = hg.ok(&source, &log);
    assert_eq!(expected.lines().count(), CHANGESETS);
    assert!(expected.starts_with(TIP), "the corpus has another tip");
    for way in ["--pull", "--stream"] {
        let clone = site.path().join(way);
        let url = server.url("/hg/corpus");
        hg.ok(
            site.path(),
            &["clone", "-U", way, &url, clone.to_str().unwrap()],
        );
        assert_eq!(hg.ok(&clone, &log), expected, "{way}");
        hg.ok(&clone, &["verify"]);
    }
}
