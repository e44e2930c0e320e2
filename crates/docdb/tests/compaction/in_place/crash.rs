//! Every state that a power cut could have left.

use super::*;
use varve_testkit::Recorder;

#[test]
fn no_cut_between_commits_and_holes_loses_anything() {
    let disk = Recorder::default();
    let db = open(disk.clone(), 512);
    fill(&db);
    cold(&db, 30);
    hot(&db, "hot", 12);
    let expected = sample::documents(&db.snapshot());
    disk.acknowledge();
    let done = run(&db).expect("most of it stays");
    assert!(done.before > done.after, "{done:?}");
    disk.acknowledge();
    let rev = put_rev(&db, r#"{"_id":"after"}"#);
    disk.acknowledge();
    let (mut opened, mut with_holes) = (0, 0);
    let images = disk.for_each_image(24, |image| {
        if image.acknowledged == 0 {
            return;
        }
        opened += 1;
        let storage = image.storage;
        with_holes += usize::from(zeros(&storage) > 8192);
        let db = open(storage.clone(), 512);
        let mut found = sample::documents(&db.snapshot());
        let after = found.remove("after");
        assert!(after.is_some() || image.acknowledged < 3, "{}", image.cut);
        assert!(after.is_none_or(|text| text.contains(rev.split_once('-').unwrap().1)));
        assert_eq!(found, expected, "{}", image.cut);
        // It goes on where it was.
        put_rev(&db, r#"{"_id":"later"}"#);
        run(&db);
        let mut now = sample::documents(&db.snapshot());
        assert!(now.remove("later").is_some());
        now.remove("after");
        assert_eq!(now, expected, "{}", image.cut);
    });
    assert!(
        opened > 300 && with_holes > 20,
        "{opened} of {images} images, {with_holes}"
    );
}
