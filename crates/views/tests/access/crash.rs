//! Power cuts: an index is whole or older to all its readers, and never wrong to one of them.

use super::{memory, open, refresh, user, with_access};
use crate::common::{ask, replicate};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_base::Storage;
use varve_docdb::{Database, Viewer};
use varve_testkit::Recorder;
use varve_views::IndexSnapshot;

const DESIGN: &str =
    r#"{"views":{"v":{"map":"function (d) { emit(d.k, d.n); }","reduce":"_sum"}}}"#;

fn viewers() -> [Viewer; 3] {
    [Viewer::ALL, user("ann", &["team"]), user("bob", &[])]
}

/// Everything that admins and two users see.
fn seen(view: &IndexSnapshot) -> String {
    let each = viewers().map(|viewer| {
        let own = view.clone().as_seen_by(&viewer);
        ask(&own, "v?reduce=false").unwrap() + &ask(&own, "v?group=true").unwrap()
    });
    each.join("\n")
}

/// Changes readers, contents and conflicts of some documents.
fn edit(db: &Database, round: u64) {
    let readers = [r#""ann""#, r#""ann","bob""#, r#""team","ann""#, r#""bob""#];
    let documents: Vec<String> = (0..24u64)
        .filter(|n| round == 0 || n % 3 == round % 3)
        .map(|n| {
            let (generation, deleted) = (round + 1, round > 0 && n % 8 == 0);
            let digest = if n % 5 == 0 { "b" } else { "a" };
            let names = readers[((n + round) % 4) as usize];
            let key = (n * 7 + round) % 5;
            format!(
                r#"{{"_id":"d{n:02}","_rev":"{generation}-{digest}{round}","_deleted":{deleted},"_access":[{names}],"k":{key},"n":{n}}}"#
            )
        })
        .collect();
    replicate(db, &documents);
}

#[test]
fn no_power_cut_leaves_rows_to_wrong_readers() {
    let db = with_access(memory());
    let recorder = Recorder::default();
    let mut states = BTreeMap::new();
    let index = || open(Arc::new(recorder.clone()), DESIGN, 0);
    for round in 0..4 {
        edit(&db, round);
        let view = refresh(&index(), &db, &Viewer::ALL);
        states.insert(view.update_seq(), seen(&view));
    }
    let nothing = r#"{"total_rows":0,"offset":0,"rows":[]}{"rows":[]}"#;
    states.insert(0, [nothing; 3].join("\n"));
    let newest = states.values().next_back().unwrap();
    assert_eq!(states.len(), 5);
    let images = recorder.for_each_image(32, |image| {
        let storage: Arc<dyn Storage> = Arc::new(image.storage);
        let index = open(storage, DESIGN, 0);
        let found = index.current(&db.snapshot()).unwrap();
        let expected = states.get(&found.update_seq());
        assert_eq!(Some(&seen(&found)), expected, "{}", image.cut);
        let built = refresh(&index, &db, &Viewer::ALL);
        assert_eq!(&seen(&built), newest, "{}", image.cut);
    });
    assert!(images > 100, "only {images} images");
}
