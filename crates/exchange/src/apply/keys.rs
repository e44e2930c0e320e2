//! Keys that a client sets: bookmarks, phases, obsolescence markers.

use super::Application;
use super::{objection_to, set_key};
use crate::ExchangeError;
use crate::format::part::bookmarks::BookmarkRecord;
use crate::format::part::reply::Reply;
use crate::format::part::{PartHeader, pushkey};
use varve_repo::Node;
use varve_repo::hooks::PushKey;

impl Application<'_> {
    /// Registers the bookmarks of a part with the hooks of keys, each as if it was pushed as a key.
    pub(super) fn announce_bookmarks(
        &mut self,
        moves: &[BookmarkRecord],
    ) -> Result<(), ExchangeError> {
        if self.options.push.is_none() {
            return Ok(());
        }
        let receiver = self.receiver()?;
        let hex = |node: Option<&Node>| node.map(|node| node.to_hex().to_vec()).unwrap_or_default();
        for (name, node) in moves {
            if let Some(node) = node.filter(|node| !receiver.takes_bookmark_at(node)) {
                return Err(ExchangeError::UnknownRevision(node.to_string()));
            }
            let key = PushKey {
                namespace: b"bookmarks".to_vec(),
                key: name.clone(),
                old: hex(receiver.bookmark(name)),
                new: hex(node.as_ref()),
            };
            receiver.add_pushkey(&key, None);
        }
        Ok(())
    }

    pub(super) fn pushkey_part(&mut self, header: &PartHeader) -> Result<(), ExchangeError> {
        let key = pushkey::decode(header)?;
        let takes_markers = self.options.takes_markers;
        let receiver = self.receiver()?;
        receiver.add_pushkey(&key, Some(header.id));
        let objection = objection_to(&key);
        let done = match objection {
            Some(_) => false,
            None => set_key(receiver, &key, takes_markers)?,
        };
        if let (Some(words), Some(push)) = (objection, &self.options.push) {
            push.output.write("", words.as_bytes());
        }
        if !done && header.is_mandatory() {
            return Err(ExchangeError::KeyRefused {
                part: header.id,
                key,
            });
        }
        if let Some(push) = &mut self.options.push {
            push.replies.add(header, Reply::PushKey { done });
        }
        Ok(())
    }
}
