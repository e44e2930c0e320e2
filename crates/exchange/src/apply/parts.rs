//! The parts of a bundle2, each applied as its type says.

use super::{Application, BundleEvent, StreamApplier};
use crate::ExchangeError;
use crate::format::bundle20::{PartPayload, PartReader};
use crate::format::changegroup::ChangegroupReader;
use crate::format::part::reply::Reply;
use crate::format::part::{
    Part, PartHeader, PartType, bookmarks, changegroup, error, phase_heads, read_whole, tags_fnodes,
};
use std::sync::Arc;

impl Application<'_> {
    pub(super) fn apply_parts(&mut self, mut parts: PartReader<'_>) -> Result<(), ExchangeError> {
        let output = Arc::clone(&self.interrupting_output);
        parts.on_interruption(move |interruption| {
            let is_output = interruption.header.part_type() == Some(PartType::Output);
            let mut output = output.lock();
            output.extend(is_output.then_some(interruption.payload));
        });
        self.debug_beginning(parts.parameters().len());
        let mut count = 0_usize;
        while let Some(part) = parts.next_part()? {
            count += 1;
            if let Some(push) = &self.options.push {
                push.output.begin_part(&part.header);
            }
            let has_tags = part.header.part_type() == Some(PartType::TagsFnodes);
            self.check_and_apply(part)?;
            self.send_interrupting_output();
            match parts.end_part()? {
                0 => {}
                len => self.debug(|| {
                    format!("bundle2-input-part: total payload size {len}\n").into_bytes()
                }),
            }
            if let Some(size) = self.stream_applied.take() {
                (self.options.on_event)(BundleEvent::StreamApplied(size));
            }
            if has_tags {
                // Mercurial prints this at the end of the part.
                self.debug(|| b"ignoring incomplete received .hgtags fnodes data\n".to_vec());
            }
        }
        self.debug(|| format!("bundle2-input-bundle: {count} parts total\n").into_bytes());
        if let Some(push) = &self.options.push {
            push.output.end_parts();
        }
        Ok(())
    }

    fn debug_beginning(&mut self, params: usize) {
        let params = match params {
            0 => String::new(),
            params => format!("{params} params "),
        };
        self.debug(|| format!("bundle2-input-bundle: {params}with-transaction\n").into_bytes());
    }

    /// Applies a part of a known type, skips an unknown advisory one, refuses an unknown mandatory one.
    fn check_and_apply(&mut self, part: Part<PartPayload<'_, '_>>) -> Result<(), ExchangeError> {
        let Part { header, payload } = part;
        let part_type = header.part_type();
        if self.options.only_history
            && !matches!(
                part_type,
                Some(PartType::Changegroup | PartType::PhaseHeads)
            )
        {
            return Ok(());
        }
        let Some(part_type) = part_type.filter(|part_type| self.applies(*part_type)) else {
            return match header.is_mandatory() {
                true => Err(header.unknown()),
                false => Ok(()),
            };
        };
        match header.check_mandatory(part_type.parameters()) {
            Err(_) if !header.is_mandatory() => return Ok(()),
            checked => checked?,
        }
        let summary = || format!("bundle2-input-part: {} supported\n", header.debug_summary());
        self.debug(|| summary().into_bytes());
        self.apply_part(part_type, &header, payload)
    }

    /// Whether parts of this type are known where this bundle comes from.
    fn applies(&self, part_type: PartType) -> bool {
        match part_type {
            PartType::RemoteChangegroup => self.options.downloads.is_some(),
            PartType::ListKeys => self.options.pull.is_some(),
            PartType::ReplyChangegroup
            | PartType::ReplyObsmarkers
            | PartType::ReplyPushKey
            | PartType::ErrorPushKey => false,
            _ => !part_type.is_of_pushes() || self.options.push.is_some(),
        }
    }

    fn apply_part(
        &mut self,
        part_type: PartType,
        header: &PartHeader,
        mut payload: PartPayload<'_, '_>,
    ) -> Result<(), ExchangeError> {
        let mut whole = || read_whole(&mut payload);
        match part_type {
            PartType::Changegroup => self.changegroup_part(header, payload)?,
            PartType::RemoteChangegroup => self.remote_changegroup(header)?,
            PartType::PhaseHeads => self.phase_heads_part(&whole()?)?,
            PartType::ListKeys => self.listed_keys(header, &whole()?),
            // The bookmarks of a pull come in a list of keys as well.
            PartType::Bookmarks if self.options.pull.is_some() => {
                bookmarks::decode(&whole()?)?;
            }
            PartType::Bookmarks => self.bookmarks_part(&whole()?)?,
            PartType::Stream2 => self.stream_part(header, payload)?,
            PartType::TagsFnodes => self.tagged = tags_fnodes::decode(&whole()?),
            PartType::Obsmarkers => self.obsmarkers_part(header, &whole()?)?,
            PartType::ReplyCaps => {
                if let Some(push) = &mut self.options.push {
                    push.replies.enable();
                }
            }
            PartType::CheckHeads => self.check_heads(&whole()?)?,
            PartType::CheckUpdatedHeads => self.check_updated_heads(&whole()?)?,
            PartType::CheckPhases => self.check_phases(&whole()?)?,
            PartType::CheckBookmarks => self.check_bookmarks(&whole()?)?,
            PartType::PushKey => self.pushkey_part(header)?,
            PartType::PushVars => self.pushvars_part(header),
            PartType::Output => (self.options.on_event)(BundleEvent::RemoteOutput(&whole()?)),
            PartType::ErrorAbort | PartType::ErrorUnsupportedContent | PartType::ErrorPushRaced => {
                let error = error::decode(header);
                return Err(error.map_or_else(|| header.unknown(), ExchangeError::from));
            }
            // Branches are read from the history itself. The others are never applied.
            PartType::BranchCache
            | PartType::ReplyChangegroup
            | PartType::ReplyObsmarkers
            | PartType::ReplyPushKey
            | PartType::ErrorPushKey => {}
        }
        Ok(())
    }

    fn changegroup_part(
        &mut self,
        header: &PartHeader,
        payload: PartPayload<'_, '_>,
    ) -> Result<(), ExchangeError> {
        let parameters = changegroup::decode(header)?;
        let reader = ChangegroupReader::new(payload, parameters.version);
        let heads = self.changegroup(reader, true, parameters.target_phase)?;
        if let Some(push) = &mut self.options.push {
            push.replies.add(header, Reply::Changegroup { heads });
        }
        Ok(())
    }

    fn phase_heads_part(&mut self, payload: &[u8]) -> Result<(), ExchangeError> {
        let heads = phase_heads::decode(payload)?;
        if self.options.pull.is_some() && self.has_phases(&heads)? {
            return Ok(());
        }
        let receiver = self.receiver()?;
        for (phase, nodes) in heads {
            receiver.lower_phases(phase, &nodes);
        }
        Ok(())
    }

    fn bookmarks_part(&mut self, payload: &[u8]) -> Result<(), ExchangeError> {
        let moves = bookmarks::decode(payload)?;
        self.announce_bookmarks(&moves)?;
        self.receiver()?.bookmarks(&moves);
        Ok(())
    }

    fn obsmarkers_part(
        &mut self,
        header: &PartHeader,
        payload: &[u8],
    ) -> Result<(), ExchangeError> {
        if !self.options.takes_markers {
            return Err(ExchangeError::MarkersNotEnabled);
        }
        let new = self.receiver()?.markers(payload)?;
        if let Some(push) = &mut self.options.push {
            push.replies.add(header, Reply::Obsmarkers { new });
        }
        Ok(())
    }

    /// Variables for hooks; their names are in upper case there.
    fn pushvars_part(&self, header: &PartHeader) {
        let hooks = self.options.push.as_ref().and_then(|push| push.hooks);
        if let Some(hooks) = hooks {
            let all = header.advisory.iter();
            let upper = all.map(|(name, value)| (name.to_ascii_uppercase(), value.clone()));
            hooks.set_push_vars(upper.collect());
        }
    }

    fn stream_part(
        &mut self,
        header: &PartHeader,
        mut payload: PartPayload<'_, '_>,
    ) -> Result<(), ExchangeError> {
        let Some(lock) = self.lock.take() else {
            return Err(ExchangeError::StreamIntoHistory);
        };
        self.debug(|| b"applying stream bundle\n".to_vec());
        let on_event = &mut self.options.on_event;
        let repository = self.options.repository;
        let applier = StreamApplier {
            repository,
            stop: self.options.stop,
            on_event: &mut |event| on_event(BundleEvent::Stream(event)),
        };
        let (size, lock) = applier.apply_part(lock, header, &mut payload)?;
        self.lock = Some(lock);
        self.stream_applied = Some(size);
        // With other requirements than before.
        self.streamed = Some(repository.reopen()?);
        Ok(())
    }
}
