//! Histories, old revisions and lists of attachments, each where nothing else moves.

use super::*;

/// A document of which a part of its history is the only thing that stands where it was.
#[test]
fn a_part_of_a_history_is_moved_alone() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 4096);
    cold(&db, COLD);
    hot(&db, "hot", 30);
    let ids = |last: &str| {
        let older = (1..40).rev().map(|id| format!("\"{id:02}\""));
        let ids: Vec<_> = std::iter::once(format!("\"{last}\""))
            .chain(older)
            .collect();
        format!(r#"{{"start":40,"ids":[{}]}}"#, ids.join(","))
    };
    let parted = |last: &str| {
        let revisions = ids(last);
        format!(r#"{{"_id":"dense-15-parted","_rev":"40-{last}","_revisions":{revisions},"x":1}}"#)
    };
    replicate(&db, &[&parted("aa")]);
    hot(&db, "hot", 30);
    // The branch that stays stands among others that stay.
    let dense = |number: u32| {
        let text = noise(900, 900 + number);
        format!(r#"{{"_id":"dense-{number}","_rev":"1-a","text":"{text}"}}"#)
    };
    let mut texts: Vec<_> = (0..30).map(dense).collect();
    texts.insert(15, parted("bb"));
    replicate(&db, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let gone: Rev = "40-aa".parse().unwrap();
    db.purge([("dense-15-parted".to_owned(), vec![gone])].into())
        .unwrap();
    let (before, place) = (answers(&db.snapshot()), places(&db)["dense-15-parted"]);
    run(&db).expect("most of it stays");
    assert_eq!(places(&db)["dense-15-parted"], place);
    assert_eq!(answers(&db.snapshot()), before);
    assert_whole(&storage);
}

/// Every revision of which the database says that it has it.
fn read_all_revisions(db: &Database) -> usize {
    let snapshot = db.snapshot();
    let mut read = 0;
    for row in snapshot.all_docs(IdRange::ALL, Direction::Forward).unwrap() {
        let document = snapshot.document(row.unwrap().id()).unwrap().unwrap();
        let leaf = document.winner().unwrap().0.clone();
        for node in document.tree().path(&leaf) {
            let Some((_, stored)) = document.revision(&node.rev) else {
                continue;
            };
            let mut text = Vec::new();
            snapshot.body(stored, &mut text).unwrap();
            for attachment in snapshot.attachments(stored).unwrap() {
                snapshot.attachment_data(&attachment, &mut text).unwrap();
            }
            read += 1;
        }
    }
    read
}

#[test]
fn old_revisions_and_lists_are_looked_at_as_well() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 4096);
    let text = |number: u32| noise(900, 300 + number);
    // Old bodies stand among garbage, new ones and attachments among needed data, and lists of attachments the other
    // way round.
    let mut revs = Vec::new();
    for number in 0..20 {
        hot(&db, "hot", 3);
        revs.push(put_rev(
            &db,
            &format!(r#"{{"_id":"cold-00{number:02}a","n":{number}}}"#),
        ));
    }
    let data = "AAECAwQF".repeat(120);
    let dense = (0..COLD).flat_map(|number| {
        let file = format!(r#"{{"it":{{"data":"{data}","content_type":"image/png"}}}}"#);
        let cold = format!(r#"{{"_id":"cold-{number:04}","text":"{}"}}"#, text(number));
        let own = format!(r#""text":"{}","_attachments":{file}"#, text(number + 500));
        let second = revs
            .get(number as usize)
            .map(|rev| format!(r#"{{"_id":"cold-{number:04}a","_rev":"{rev}",{own}}}"#));
        [Some(cold), second].into_iter().flatten()
    });
    let edits = dense.map(|text| edit(&text)).collect();
    let done = db.update(edits, Mode::Interactive).unwrap();
    for (number, outcome) in done
        .into_iter()
        .map(Result::unwrap)
        .filter(|it| it.rev.generation == 2)
        .enumerate()
    {
        hot(&db, "hot", 3);
        if number % 2 == 0 {
            let (id, rev) = (outcome.id, outcome.rev);
            let stub = r#"{"it":{"stub":true}}"#;
            put_rev(
                &db,
                &format!(r#"{{"_id":"{id}","_rev":"{rev}","_attachments":{stub}}}"#),
            );
        }
    }
    let before = (answers(&db.snapshot()), read_all_revisions(&db));
    run(&db).expect("most of it stays");
    assert_eq!(answers(&db.snapshot()), before.0);
    let now = read_all_revisions(&db);
    assert!(now < before.1 - 20, "{now} of {}", before.1);
    assert_whole(&storage);
}
