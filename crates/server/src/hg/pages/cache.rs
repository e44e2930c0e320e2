//! Pages that were made, with their tags: as long as these are right, the pages need not be made again. The oldest go first.

use crate::http::Body;
use crate::{Answer, Request};
use hyper::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Bytes of all pages that a server of one repository, or of a directory, keeps.
const MOST_BYTES: usize = 16 << 20;
/// The same for each repository of a collection, of which there may be thousands.
const MOST_BYTES_IN_COLLECTION: usize = 1 << 20;
/// Bytes of a page that is kept.
const LONGEST: usize = 512 << 10;
/// Bytes that a page takes beside its body and its key, about.
const OVERHEAD: usize = 1 << 10;

/// All that a page depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PageKey(Arc<str>);

impl PageKey {
    pub(super) fn new(repository: &str, request: &Request, tag: &str) -> PageKey {
        let origin = request.origin();
        let parts = [
            repository,
            &origin,
            &request.mount,
            &request.raw_path,
            &request.raw_query,
            tag,
        ];
        PageKey(parts.join("\0").into())
    }
}

#[derive(Debug)]
struct CachedPage {
    headers: HeaderMap,
    reason: Option<&'static str>,
    body: Vec<u8>,
}

/// The kept pages of the repositories of one registry.
#[derive(Debug)]
pub(in crate::hg) struct PageCache(Mutex<CachedPages>);

#[derive(Debug)]
struct CachedPages {
    most_bytes: usize,
    pages: HashMap<PageKey, Arc<CachedPage>>,
    /// Keys, the oldest first.
    order: VecDeque<PageKey>,
    bytes: usize,
}

impl PageCache {
    pub(in crate::hg) fn new(is_in_collection: bool) -> PageCache {
        PageCache(Mutex::new(CachedPages {
            most_bytes: match is_in_collection {
                true => MOST_BYTES_IN_COLLECTION,
                false => MOST_BYTES,
            },
            pages: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
        }))
    }

    pub(super) fn get(&self, key: &PageKey) -> Option<Answer> {
        let page = Arc::clone(self.0.lock().pages.get(key)?);
        let mut answer = Answer::whole(StatusCode::OK, "", page.body.clone());
        answer.headers = page.headers.clone();
        answer.reason = page.reason;
        Some(answer)
    }

    /// Keeps an answer, if it is a whole page of no great length.
    pub(super) fn insert(&self, key: PageKey, answer: &Answer) {
        let Body::Whole(body) = &answer.body else {
            return;
        };
        if answer.status != StatusCode::OK || body.len() > LONGEST {
            return;
        }
        let page = CachedPage {
            headers: answer.headers.clone(),
            reason: answer.reason,
            body: body.clone(),
        };
        self.0.lock().insert(key, page);
    }
}

impl CachedPages {
    fn insert(&mut self, key: PageKey, page: CachedPage) {
        let size = |key: &PageKey, page: &CachedPage| page.body.len() + 2 * key.0.len() + OVERHEAD;
        self.bytes += size(&key, &page);
        match self.pages.insert(key.clone(), Arc::new(page)) {
            // Two requests made it at the same time.
            Some(before) => self.bytes -= size(&key, &before),
            None => self.order.push_back(key),
        }
        while self.bytes > self.most_bytes {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some(page) = self.pages.remove(&oldest) {
                self.bytes -= size(&oldest, &page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> PageKey {
        PageKey(name.into())
    }

    fn page(len: usize) -> Answer {
        let answer = Answer::whole(StatusCode::OK, "text/html", vec![b'x'; len]);
        answer.with_header("etag", "W/\"1\"")
    }

    #[test]
    fn pages_are_kept_until_there_are_too_many() {
        let cache = PageCache::new(false);
        cache.insert(key("long"), &page(LONGEST + 1));
        let mut missing = page(1);
        missing.status = StatusCode::NOT_FOUND;
        cache.insert(key("missing"), &missing);
        assert!(cache.get(&key("long")).is_none() && cache.get(&key("missing")).is_none());
        let count = MOST_BYTES / LONGEST;
        for number in 0..count {
            cache.insert(key(&number.to_string()), &page(LONGEST));
        }
        assert!(cache.get(&key("0")).is_none());
        let last = cache.get(&key(&(count - 1).to_string())).unwrap();
        assert_eq!(last.whole_body().map(<[u8]>::len), Some(LONGEST));
        assert_eq!(last.headers["etag"], "W/\"1\"");
        let kept = cache.0.lock();
        assert!(kept.bytes <= MOST_BYTES && kept.pages.len() == kept.order.len());
    }

    #[test]
    fn a_page_that_was_made_twice_counts_once() {
        let cache = PageCache::new(true);
        for _ in 0..3 {
            cache.insert(key("a"), &page(100));
        }
        let kept = cache.0.lock();
        assert_eq!((kept.pages.len(), kept.order.len()), (1, 1));
        assert_eq!(kept.bytes, 100 + 2 + OVERHEAD);
    }
}
