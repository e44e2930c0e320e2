//! The parts of a bundle2, each as its kind says.

use super::remote_changegroup::OF_REMOTE;
use super::{Applying, News};
use crate::ExchangeError;
use crate::apply::StreamArrival;
use crate::format::bundle20::{Part, PartHeader, PartPayload, PartReader};
use crate::format::changegroup::{ChangegroupReader, Version};
use crate::format::input::read_into;
use std::io::Read;
use std::sync::Arc;
use varve_repo::{Node, Phase};

/// Longest payload of a part that is read whole, besides markers: bookmarks, phases.
const LONGEST: usize = 256 << 20;

/// Parts that only a push may have.
const OF_PUSHES: &[&[u8]] = &[
    b"replycaps",
    b"check:heads",
    b"check:updated-heads",
    b"check:phases",
    b"check:bookmarks",
    b"pushkey",
    b"pushvars",
];

/// Parameters of a key.
const OF_PUSHKEY: &[&str] = &["namespace", "key", "old", "new"];

/// Parameters of a changegroup that are understood.
const OF_CHANGEGROUP: &[&str] = &["version", "nbchanges", "targetphase"];

impl Applying<'_> {
    pub(super) fn parts(&mut self, mut parts: PartReader<'_>) -> Result<(), ExchangeError> {
        let heard = Arc::clone(&self.heard);
        parts.on_interruption(move |interruption| {
            let is_output = interruption.header.kind() == b"output";
            let mut heard = heard.lock();
            heard.extend(is_output.then_some(interruption.payload));
        });
        self.tell_beginning(parts.parameters().len());
        let mut count = 0_usize;
        while let Some(part) = parts.next_part()? {
            count += 1;
            if let Some(pushed) = &self.how.pushed {
                pushed.words.begin_part(&part.header);
            }
            let has_tags = part.header.kind() == *b"hgtagsfnodes";
            self.part(part)?;
            self.tell_heard();
            match parts.end_part()? {
                0 => {}
                len => self.debug(|| {
                    format!("bundle2-input-part: total payload size {len}\n").into_bytes()
                }),
            }
            if let Some(load) = self.loaded.take() {
                (self.how.tell)(News::Loaded(load));
            }
            if has_tags {
                // Mercurial says so when it comes to the end.
                self.debug(|| b"ignoring incomplete received .hgtags fnodes data\n".to_vec());
            }
        }
        self.debug(|| format!("bundle2-input-bundle: {count} parts total\n").into_bytes());
        if let Some(pushed) = &self.how.pushed {
            pushed.words.end_parts();
        }
        Ok(())
    }

    fn tell_beginning(&mut self, params: usize) {
        let params = match params {
            0 => String::new(),
            params => format!("{params} params "),
        };
        self.debug(|| format!("bundle2-input-bundle: {params}with-transaction\n").into_bytes());
    }

    fn part(&mut self, part: Part<'_, '_>) -> Result<(), ExchangeError> {
        let Part { header, payload } = part;
        let known: &[&str] = match &header.kind()[..] {
            b"changegroup" => OF_CHANGEGROUP,
            b"phase-heads" if self.how.only_history => &[],
            _ if self.how.only_history => return Ok(()),
            b"phase-heads" | b"bookmarks" | b"obsmarkers" | b"hgtagsfnodes" => &[],
            b"cache:rev-branch-cache" => &[],
            b"remote-changegroup" if self.how.downloads.is_some() => OF_REMOTE,
            b"stream2" => &["bytecount", "filecount", "requirements"],
            b"output" => &["in-reply-to"],
            b"listkeys" if self.how.pulled.is_some() => &["namespace"],
            b"error:abort" => &["message", "hint"],
            b"error:unsupportedcontent" => &["parttype", "params"],
            b"error:pushraced" => &["message"],
            kind if self.how.pushed.is_some() && OF_PUSHES.contains(&kind) => match kind {
                b"pushkey" => OF_PUSHKEY,
                _ => &[],
            },
            _ if header.is_mandatory() => return Err(header.unknown()),
            _ => return Ok(()),
        };
        match header.check_mandatory(known) {
            Err(_) if !header.is_mandatory() => return Ok(()),
            checked => checked?,
        }
        self.debug(|| format!("bundle2-input-part: {} supported\n", outline(&header)).into_bytes());
        self.known_part(&header, payload)
    }

    fn known_part(
        &mut self,
        header: &PartHeader,
        mut payload: PartPayload<'_, '_>,
    ) -> Result<(), ExchangeError> {
        let source = self.how.source;
        match &header.kind()[..] {
            b"changegroup" => {
                let version = version_of(header)?;
                let reader = ChangegroupReader::new(payload, version);
                let heads = self.changegroup(reader, true, target_phase(header)?)?;
                if let Some(pushed) = &mut self.how.pushed {
                    pushed.replies.changegroup(header, heads);
                }
            }
            b"remote-changegroup" => self.remote_changegroup(header)?,
            b"phase-heads" => {
                let heads = phase_heads(&read_whole(&mut payload)?)?;
                if self.how.pulled.is_some() && self.has_phases(&heads)? {
                    return Ok(());
                }
                let receiver = self.receiver(source)?;
                for (phase, nodes) in heads {
                    receiver.lower_phases(phase, &nodes);
                }
            }
            b"listkeys" => {
                let keys = read_whole(&mut payload)?;
                self.listed_keys(header, &keys);
            }
            // The same as in a list of keys, with which it comes.
            b"bookmarks" if self.how.pulled.is_some() => {
                let _ = bookmarks(&read_whole(&mut payload)?)?;
            }
            b"bookmarks" => {
                let moves = bookmarks(&read_whole(&mut payload)?)?;
                self.announce_bookmarks(&moves)?;
                self.receiver(source)?.bookmarks(&moves);
            }
            b"stream2" => self.stream(header, payload)?,
            b"hgtagsfnodes" => self.tagged = tag_files(&read_whole(&mut payload)?),
            b"obsmarkers" => {
                let bytes = read_whole(&mut payload)?;
                if !self.how.takes_markers {
                    return Err(ExchangeError::MarkersNotEnabled);
                }
                let new = self.receiver(source)?.markers(&bytes)?;
                if let Some(pushed) = &mut self.how.pushed {
                    pushed.replies.markers(header, new);
                }
            }
            b"replycaps" => {
                if let Some(pushed) = &mut self.how.pushed {
                    pushed.replies.are_wanted();
                }
            }
            b"check:heads" => self.check_heads(&read_whole(&mut payload)?)?,
            b"check:updated-heads" => self.check_updated_heads(&read_whole(&mut payload)?)?,
            b"check:phases" => self.check_phases(&read_whole(&mut payload)?)?,
            b"check:bookmarks" => self.check_bookmarks(&read_whole(&mut payload)?)?,
            b"pushkey" => self.pushed_key(header)?,
            b"pushvars" => {
                let hooks = self.how.pushed.as_ref().and_then(|pushed| pushed.hooks);
                if let Some(hooks) = hooks {
                    let all = header.advisory.iter();
                    let upper = all.map(|(name, value)| (name.to_ascii_uppercase(), value.clone()));
                    hooks.set_push_vars(upper.collect());
                }
            }
            b"output" => (self.how.tell)(News::Remote(&read_whole(&mut payload)?)),
            b"error:abort" | b"error:unsupportedcontent" | b"error:pushraced" => {
                return Err(remote_error(header));
            }
            // Of branches: those are read from the history itself.
            _ => {}
        }
        Ok(())
    }
}

impl Applying<'_> {
    fn stream(
        &mut self,
        header: &PartHeader,
        mut payload: PartPayload<'_, '_>,
    ) -> Result<(), ExchangeError> {
        let Some(lock) = self.lock.take() else {
            return Err(ExchangeError::StreamIntoHistory);
        };
        self.debug(|| b"applying stream bundle\n".to_vec());
        let tell = &mut self.how.tell;
        let repository = self.how.repository;
        let arrival = StreamArrival {
            repository,
            stop: self.how.stop,
            tell: &mut |news| tell(News::Stream(news)),
        };
        let (load, lock) = arrival.part(lock, header, &mut payload)?;
        self.lock = Some(lock);
        self.loaded = Some(load);
        // With other requirements than before.
        self.streamed = Some(repository.reopen()?);
        Ok(())
    }
}

/// A part as Mercurial shows it: its name, and how many parameters there are, where it says of both
/// sorts how many of the first there are.
pub(crate) fn outline(header: &PartHeader) -> String {
    let mut line = format!("\"{}\"", String::from_utf8_lossy(&header.kind()));
    if !header.is_mandatory() {
        line += " (advisory)";
    }
    let [mandatory, advisory] = header.counts();
    let kinds = [(mandatory, "mandatory"), (advisory, "advisory")];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: String = kinds
        .map(|(_, kind)| format!(" {mandatory} {kind}"))
        .collect();
    if !kinds.is_empty() {
        line += &format!(" (params:{kinds})");
    }
    line
}

fn version_of(header: &PartHeader) -> Result<Version, ExchangeError> {
    let name = header.value("version").unwrap_or(b"01");
    let name = String::from_utf8_lossy(name);
    Version::named(&name)
        .map_err(|_| ExchangeError::UnknownBundleFeature(format!("changegroup - version='{name}'")))
}

fn target_phase(header: &PartHeader) -> Result<Phase, ExchangeError> {
    match header.value("targetphase") {
        None | Some(b"1") => Ok(Phase::Draft),
        Some(b"0") => Ok(Phase::Public),
        Some(b"2") => Ok(Phase::Secret),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            let feature = format!("changegroup - targetphase='{other}'");
            Err(ExchangeError::UnknownBundleFeature(feature))
        }
    }
}

fn read_whole(payload: &mut PartPayload<'_, '_>) -> Result<Vec<u8>, ExchangeError> {
    let mut bytes = Vec::new();
    match read_into(payload, LONGEST, &mut bytes) {
        Err(ExchangeError::StreamEnded { expected, .. }) if expected == LONGEST => Ok(bytes),
        other => other.and_then(|()| {
            let reason = format!("a part has more than {LONGEST} bytes");
            Err(ExchangeError::DamagedBundle(reason))
        }),
    }
}

/// The changesets in records of a changeset and its `.hgtags`; what such a file says is read from the
/// history itself.
pub(super) fn tag_files(bytes: &[u8]) -> Vec<Node> {
    let (records, _) = bytes.as_chunks::<{ 2 * Node::LEN }>();
    let changesets = records.iter().filter_map(|record| record.first_chunk());
    changesets.map(|node| Node(*node)).collect()
}

pub(super) fn damaged(what: &str) -> ExchangeError {
    ExchangeError::DamagedBundle(format!("the part {what} is cut or makes no sense"))
}

/// Records of u32 phase and node.
pub(crate) fn phase_heads(bytes: &[u8]) -> Result<Vec<(Phase, Vec<Node>)>, ExchangeError> {
    let mut heads = [Phase::Public, Phase::Draft, Phase::Secret].map(|phase| (phase, Vec::new()));
    let (records, rest) = bytes.as_chunks::<24>();
    for record in records {
        let (number, node) = record.split_at(4);
        let place = heads.iter_mut().find(|(phase, _)| {
            let number: Option<&[u8; 4]> = number.first_chunk();
            number.map(|bytes| u32::from_be_bytes(*bytes)) == Some(u32::from(phase.number()))
        });
        match (place, node.first_chunk()) {
            (Some((_, nodes)), Some(node)) => nodes.push(Node(*node)),
            _ => return Err(damaged("phase-heads")),
        }
    }
    match rest {
        [] => Ok(heads.into()),
        _ => Err(damaged("phase-heads")),
    }
}

/// Records of node, u16 length, and name; a node of ones, given as the null node, removes the
/// bookmark.
pub(crate) fn bookmarks(mut bytes: &[u8]) -> Result<Vec<(Vec<u8>, Node)>, ExchangeError> {
    const GONE: [u8; 20] = [0xff; 20];
    let mut moves = Vec::new();
    while !bytes.is_empty() {
        let mut node = [0; 20];
        let mut len = [0; 2];
        let mut name = Vec::new();
        let read = bytes
            .read_exact(&mut node)
            .and_then(|()| bytes.read_exact(&mut len));
        read.map_err(|_| damaged("bookmarks"))?;
        read_into(&mut bytes, u16::from_be_bytes(len).into(), &mut name)
            .map_err(|_| damaged("bookmarks"))?;
        if name.contains(&b'\n') {
            return Err(damaged("bookmarks"));
        }
        moves.push((name, Node(if node == GONE { [0; 20] } else { node })));
    }
    Ok(moves)
}

fn remote_error(header: &PartHeader) -> ExchangeError {
    let text = |name| header.value(name).map(String::from_utf8_lossy);
    let message = text("message").unwrap_or_default().into_owned();
    match &header.kind()[..] {
        b"error:unsupportedcontent" => {
            let mut feature = text("parttype").unwrap_or_default().into_owned();
            if let Some(params) = text("params") {
                feature += " - ";
                feature += &params.split('\0').collect::<Vec<_>>().join(", ");
            }
            ExchangeError::UnknownBundleFeature(feature)
        }
        b"error:pushraced" => ExchangeError::RemoteAbort {
            message: format!("push failed:\n'{message}'"),
            hint: None,
        },
        _ => ExchangeError::RemoteAbort {
            message,
            hint: text("hint").map(|hint| hint.into_owned()),
        },
    }
}
