//! What is said while a push is taken in.

use crate::apply::News;
use crate::format::bundle20::PartHeader;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;

/// Words for the other side, each about a part of the bundle or about the whole.
#[derive(Default)]
pub struct PushWords {
    said: Mutex<Said>,
    /// Who hears all at once, instead of in the answer.
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(&[u8]) + Send + Sync>;

impl fmt::Debug for PushWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushWords")
            .field("said", &self.said)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Said {
    in_bundle2: bool,
    /// The part that is worked on.
    now: Option<u32>,
    /// The parts that brought changesets and keys; their hooks are asked later.
    changes: Option<u32>,
    keys: Option<u32>,
    words: Words,
}

/// All that was said, in order, unless it has been heard.
#[derive(Debug, Default)]
pub(super) struct Words(Vec<(Option<u32>, Vec<u8>)>);

impl PushWords {
    /// Words that are heard as soon as they are said, and do not stand in the answer.
    pub fn heard_by(listener: impl Fn(&[u8]) + Send + Sync + 'static) -> PushWords {
        PushWords {
            said: Mutex::default(),
            listener: Some(Box::new(listener)),
        }
    }

    /// Whether they are heard at once.
    pub(super) fn are_heard(&self) -> bool {
        self.listener.is_some()
    }

    /// Something is said by a hook of that kind, or by nobody special if it is empty.
    pub fn say(&self, kind: &str, words: &[u8]) {
        if let Some(listener) = &self.listener {
            return listener(words);
        }
        let mut said = self.said();
        let about = match kind {
            // Before the first part there is nobody who listens.
            "pretxnopen" if said.in_bundle2 => return,
            "pretxnchangegroup" => said.changes,
            "prepushkey" => said.keys,
            _ => said.now,
        };
        match said.words.0.last_mut() {
            Some((last, all)) if *last == about => all.extend_from_slice(words),
            _ => said.words.0.push((about, words.to_vec())),
        }
    }

    /// Something is said of the whole push.
    pub fn say_of_all(&self, words: &[u8]) {
        self.end_parts();
        self.say("", words);
    }

    /// What is heard while a bundle is applied.
    pub(super) fn hear(&self, news: News<'_>) {
        match news {
            News::Step(step) => self.say("", format!("{step}\n").as_bytes()),
            // These do not come by pushes.
            News::Stream(_) | News::Loaded(_) | News::Bookmark(_) | News::Debug(_) => {}
            News::Remote(words) => {
                for line in words.split_inclusive(|byte| *byte == b'\n') {
                    let line = line.strip_suffix(b"\n").unwrap_or(line);
                    self.say("", &[b"remote: ", line, b"\n"].concat());
                }
            }
        }
    }

    pub(super) fn of_bundle2(&self, in_bundle2: bool) {
        self.said().in_bundle2 = in_bundle2;
    }

    /// What is said from here on is about this part.
    pub(crate) fn begin_part(&self, header: &PartHeader) {
        let mut said = self.said();
        said.now = Some(header.id);
        match &header.kind()[..] {
            b"changegroup" | b"remote-changegroup" => said.changes = said.now,
            b"bookmarks" | b"pushkey" => said.keys = said.now,
            _ => {}
        }
    }

    /// What is said from here on is about the whole.
    pub(crate) fn end_parts(&self) {
        self.said().now = None;
    }

    /// All that has been said so far.
    pub(super) fn take(&self) -> Words {
        std::mem::take(&mut self.said().words)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock()
    }
}

impl Words {
    /// All of it.
    pub(super) fn joined(&self) -> Vec<u8> {
        let words = self.0.iter().map(|(_, words)| &words[..]);
        words.collect::<Vec<_>>().concat()
    }

    /// What was said about a part, or about the whole.
    pub(super) fn about(&self, part: Option<u32>) -> Vec<u8> {
        let words = self.0.iter().filter(|(about, _)| *about == part);
        let words = words.map(|(_, words)| &words[..]);
        words.collect::<Vec<_>>().concat()
    }

    /// The parts that something was said about.
    pub(super) fn parts(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|(about, _)| *about)
    }
}
