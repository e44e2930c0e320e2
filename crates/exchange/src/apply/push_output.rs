//! Text for a client while its push is applied.

use super::BundleEvent;
use crate::format::part::{PartHeader, PartType};
use parking_lot::{Mutex, MutexGuard};
use std::fmt;

/// Text for the client, each piece about a part of its bundle or about the whole push. Without a listener it is
/// kept for the answer.
#[derive(Default)]
pub struct PushOutput {
    state: Mutex<OutputState>,
    listener: Option<OutputListener>,
}

/// Gets text at once, instead of in the answer.
type OutputListener = Box<dyn Fn(&[u8]) + Send + Sync>;

impl fmt::Debug for PushOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushOutput")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct OutputState {
    in_bundle2: bool,
    /// Number of the part that is being applied.
    current: Option<u32>,
    /// Numbers of the parts with changesets and with keys, whose hooks run after the last part.
    changes: Option<u32>,
    keys: Option<u32>,
    pieces: CollectedOutput,
}

/// Text in order, each piece with the number of the part that it is about.
#[derive(Debug, Default)]
pub(crate) struct CollectedOutput(Vec<(Option<u32>, Vec<u8>)>);

impl PushOutput {
    /// Output that `listener` gets at once, and that is not in the answer.
    pub fn to_listener(listener: impl Fn(&[u8]) + Send + Sync + 'static) -> PushOutput {
        PushOutput {
            state: Mutex::default(),
            listener: Some(Box::new(listener)),
        }
    }

    /// Whether a listener gets the text.
    pub(crate) fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    /// Adds text of a hook of this name; of an empty name it is about the part that is being applied.
    pub fn write(&self, hook: &str, text: &[u8]) {
        if let Some(listener) = &self.listener {
            return listener(text);
        }
        let mut state = self.state();
        let about = match hook {
            // Mercurial drops the output of this hook before the first part of a bundle2.
            "pretxnopen" if state.in_bundle2 => return,
            "pretxnchangegroup" => state.changes,
            "prepushkey" => state.keys,
            _ => state.current,
        };
        match state.pieces.0.last_mut() {
            Some((last, all)) if *last == about => all.extend_from_slice(text),
            _ => state.pieces.0.push((about, text.to_vec())),
        }
    }

    /// Adds text about the whole push.
    pub fn write_about_push(&self, text: &[u8]) {
        self.end_parts();
        self.write("", text);
    }

    /// Adds the text of an event for a client.
    pub(crate) fn on_event(&self, event: BundleEvent<'_>) {
        match event {
            BundleEvent::Step(step) => self.write("", format!("{step}\n").as_bytes()),
            // Pushed bundles have none of these.
            BundleEvent::Stream(_)
            | BundleEvent::StreamApplied(_)
            | BundleEvent::Bookmark(_)
            | BundleEvent::Question(_)
            | BundleEvent::Debug(_) => {}
            BundleEvent::RemoteOutput(text) => {
                for line in text.split_inclusive(|byte| *byte == b'\n') {
                    let line = line.strip_suffix(b"\n").unwrap_or(line);
                    self.write("", &[b"remote: ", line, b"\n"].concat());
                }
            }
        }
    }

    pub(crate) fn set_in_bundle2(&self, in_bundle2: bool) {
        self.state().in_bundle2 = in_bundle2;
    }

    /// Text from here on is about this part.
    pub(crate) fn begin_part(&self, header: &PartHeader) {
        let mut state = self.state();
        state.current = Some(header.id);
        match header.part_type() {
            Some(PartType::Changegroup | PartType::RemoteChangegroup) => {
                state.changes = state.current;
            }
            Some(PartType::Bookmarks | PartType::PushKey) => state.keys = state.current,
            _ => {}
        }
    }

    /// Text from here on is about the whole push.
    pub(crate) fn end_parts(&self) {
        self.state().current = None;
    }

    /// Removes and returns the text so far.
    pub(crate) fn collect(&self) -> CollectedOutput {
        std::mem::take(&mut self.state().pieces)
    }

    fn state(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock()
    }
}

impl CollectedOutput {
    /// All pieces, joined.
    pub(crate) fn joined(&self) -> Vec<u8> {
        let pieces = self.0.iter().map(|(_, text)| &text[..]);
        pieces.collect::<Vec<_>>().concat()
    }

    /// The text about a part, or about the whole push.
    pub(crate) fn about(&self, part: Option<u32>) -> Vec<u8> {
        let pieces = self.0.iter().filter(|(about, _)| *about == part);
        let pieces = pieces.map(|(_, text)| &text[..]);
        pieces.collect::<Vec<_>>().concat()
    }

    /// Numbers of the parts that there is text about.
    pub(crate) fn parts(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|(about, _)| *about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn part(id: u32, part_type: PartType) -> PartHeader {
        PartHeader {
            id,
            ..PartHeader::mandatory(part_type)
        }
    }

    #[test]
    fn text_is_about_the_part_that_is_applied_and_hooks_about_theirs() {
        let output = PushOutput::default();
        output.set_in_bundle2(true);
        output.write("pretxnopen", b"dropped");
        output.begin_part(&part(3, PartType::Changegroup));
        output.on_event(BundleEvent::Step("adding changesets"));
        output.begin_part(&part(4, PartType::Bookmarks));
        output.write("", b"four\n");
        output.end_parts();
        output.write("pretxnchangegroup", b"hook of 3\n");
        output.write("prepushkey", b"hook of 4\n");
        output.write("pretxnclose", b"end\n");
        let text = output.collect();
        assert_eq!(text.about(Some(3)), b"adding changesets\nhook of 3\n");
        assert_eq!(text.about(Some(4)), b"four\nhook of 4\n");
        assert_eq!(text.about(None), b"end\n");
        assert!(text.parts().eq([3, 4, 3, 4]));
        assert_eq!(output.collect().joined(), b"");
    }

    #[test]
    fn output_of_the_other_side_is_marked_line_by_line() {
        let output = PushOutput::default();
        output.on_event(BundleEvent::RemoteOutput(b"a\nb"));
        output.on_event(BundleEvent::Debug(b"dropped"));
        output.write_about_push(b"done\n");
        assert_eq!(output.collect().joined(), b"remote: a\nremote: b\ndone\n");
    }

    #[test]
    fn a_listener_gets_everything_and_nothing_is_kept() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let output = PushOutput::to_listener(move |text| into.lock().extend_from_slice(text));
        assert!(output.has_listener());
        output.set_in_bundle2(true);
        output.write("pretxnopen", b"a");
        output.write("", b"b");
        assert_eq!(*heard.lock(), b"ab");
        assert_eq!(output.collect().joined(), b"");
    }
}
