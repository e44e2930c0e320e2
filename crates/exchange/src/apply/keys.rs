//! Keys that somebody elsewhere sets: bookmarks, phases, obsolescence markers.

use super::Applying;
use crate::ExchangeError;
use crate::apply::{objection_to, set_key};
use crate::format::bundle20::PartHeader;
use varve_repo::Node;
use varve_repo::hooks::PushKey;

impl Applying<'_> {
    /// Hooks learn of bookmarks that come in a part of their own as if each was set as a key.
    pub(super) fn announce_bookmarks(
        &mut self,
        moves: &[(Vec<u8>, Node)],
    ) -> Result<(), ExchangeError> {
        if self.how.pushed.is_none() {
            return Ok(());
        }
        let source = self.how.source;
        let receiver = self.receiver(source)?;
        let hex = |node: Option<&Node>| {
            let node = node.filter(|node| !node.is_null());
            node.map(|node| node.to_hex().to_vec()).unwrap_or_default()
        };
        for (name, node) in moves {
            if !node.is_null() && receiver.phase(node).is_none() {
                return Err(ExchangeError::UnknownRevision(node.to_string()));
            }
            let key = PushKey {
                namespace: b"bookmarks".to_vec(),
                key: name.clone(),
                old: hex(receiver.bookmark(name)),
                new: hex(Some(node)),
            };
            receiver.add_pushkey(&key, None);
        }
        Ok(())
    }

    /// A key that comes as such.
    pub(super) fn pushed_key(&mut self, header: &PartHeader) -> Result<(), ExchangeError> {
        let value = |name: &'static str| {
            let missing = || ExchangeError::MissingArgument {
                command: "pushkey".to_owned(),
                name,
            };
            header.value(name).map(<[u8]>::to_vec).ok_or_else(missing)
        };
        let key = PushKey {
            namespace: value("namespace")?,
            key: value("key")?,
            old: value("old")?,
            new: value("new")?,
        };
        let (source, takes_markers) = (self.how.source, self.how.takes_markers);
        let receiver = self.receiver(source)?;
        receiver.add_pushkey(&key, Some(header.id));
        let objection = objection_to(&key);
        let done = match objection {
            Some(_) => false,
            None => set_key(receiver, &key, takes_markers)?,
        };
        if let (Some(words), Some(pushed)) = (objection, &self.how.pushed) {
            pushed.words.say("", words.as_bytes());
        }
        if !done && header.is_mandatory() {
            return Err(ExchangeError::KeyRefused {
                part: header.id,
                key,
            });
        }
        if let Some(pushed) = &mut self.how.pushed {
            pushed.replies.key(header, done);
        }
        Ok(())
    }
}
