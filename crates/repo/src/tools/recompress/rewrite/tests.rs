use super::*;
use crate::read::Repository;
use varve_base::Silent;
use varve_codec::EngineSetting;

const LOG: &str = "data/f.i";

/// A repository with the history of one file, and an empty directory for a new store.
fn made(new: &Path) -> Repository {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let repository = Repository::create(storage.clone(), Path::new("r")).unwrap();
    let path = repository.context().store().join(LOG);
    let setting = EngineSetting::ZSTD;
    let mut appender = Appender::open(&storage, &path, Content::File, setting).unwrap();
    let mut p1 = None;
    for text in ["one\n", "one\ntwo\n", "another"] {
        let (text, p2, link) = (text.as_bytes(), None, Rev(0));
        let (rev, _) = appender.add(&NewRevision { text, p1, p2, link }).unwrap();
        p1 = Some(rev);
    }
    appender.write().unwrap();
    storage.create_directory(&new.join("data")).unwrap();
    repository
}

#[test]
fn what_does_not_read_back_as_it_was_is_refused() {
    let new = Path::new("r/.hg/store.new");
    for redelta in [false, true] {
        let repository = made(new);
        let context = repository.context();
        let write = EngineSetting::ZSTD.into();
        let rewriter = Rewriter {
            context,
            new,
            how: &RecompressOptions { write, redelta },
            progress: &Silent,
            stop: &Interrupt::default(),
        };
        let log = StoredRevlog {
            index: LOG.into(),
            data: "data/f.d".into(),
            len: 0,
        };
        let mut tools = rewriter.tools().unwrap();
        let done = rewriter.rewrite(&log, &mut tools).unwrap();
        assert_eq!((done.revisions, done.has_data), (3, false));
        let old = Revlog::open(&context.storage, &context.store().join(LOG)).unwrap();
        let mut written = Unchecked {
            log,
            prints: Vec::new(),
        };
        let given = match redelta {
            true => rewriter.append_all(&old, &mut written, &mut tools),
            false => rewriter.repack(&old, &mut written, &mut tools),
        };
        let mut index = given.unwrap().index;
        rewriter.check(&old, &written, &mut tools).unwrap();
        // The end of a chunk that is stored plain.
        *index.last_mut().unwrap() ^= 1;
        context.storage.remove(&new.join(LOG)).unwrap();
        crate::tools::recompress::write_new(context, &new.join(LOG), &index).unwrap();
        let mut errors = vec![rewriter.check(&old, &written, &mut tools).unwrap_err()];
        errors.extend(redelta.then(|| rewriter.check_long(&written, 2).unwrap_err()));
        for error in errors {
            let said = error.to_string();
            assert!(said.contains("does not read back as it was"), "{said}");
        }
    }
}
