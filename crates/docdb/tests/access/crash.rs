//! Every state a power cut could have left.

use super::{changed, create, listed, put_rev, seen_by, user};
use crate::verify::sample::findings;
use crate::{PATH, options};
use std::path::Path;
use std::sync::Arc;
use varve_docdb::Database;
use varve_testkit::Recorder;

#[test]
fn no_cut_parts_documents_from_their_readers() {
    let disk = Recorder::default();
    let db = create(disk.clone());
    disk.acknowledge();
    let (ann, bob) = (user("ann"), user("bob"));
    for number in 0..4 {
        put_rev(
            &db,
            &ann,
            &format!(r#"{{"_id":"a{number}","_access":["ann"]}}"#),
        );
        disk.acknowledge();
        put_rev(
            &db,
            &bob,
            &format!(r#"{{"_id":"b{number}","_access":["bob","ann"]}}"#),
        );
        disk.acknowledge();
    }
    let images = disk.for_each_image(300, |image| {
        let storage = Arc::new(image.storage);
        let db = match Database::open(storage.clone(), Path::new(PATH), &options()) {
            Ok(db) => db,
            Err(error) => return assert_eq!(image.acknowledged, 0, "{error}: {}", image.cut),
        };
        assert!(db.snapshot().has_access(), "{}", image.cut);
        let all = listed(&db.snapshot()).len();
        assert!(all + 1 >= image.acknowledged, "{}", image.cut);
        let bobs = listed(&seen_by(&db, &bob)).len();
        let anns = changed(&seen_by(&db, &ann), 0).len();
        assert_eq!((anns, bobs), (all, all / 2), "{}", image.cut);
        let (_, found) = findings(storage.as_ref(), PATH).unwrap();
        assert_eq!(found, [], "{}", image.cut);
    });
    assert!(images > 500, "only {images} images");
}
