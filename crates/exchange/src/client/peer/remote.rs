//! The commands of the wire protocol, as calls.

use super::{Login, PeerArgs, PeerCapabilities, Transport};
use crate::ExchangeError;
use crate::Spool;
use crate::client::sampling::SamplingSettings;
use crate::format::batch::{escape, unescape};
use crate::format::clone_bundle_manifest::CloneBundleManifest;
use crate::format::part::list_keys;
use percent_encoding::percent_decode;
use std::collections::BTreeMap;
use std::io::Read;
use varve_revlog::Node;

/// A repository elsewhere.
pub struct Remote {
    transport: Box<dyn Transport>,
    capabilities: PeerCapabilities,
    listener: Option<DebugListener>,
    traces_requests: bool,
    traces_progress: bool,
    sampling: SamplingSettings,
}

/// Gets the lines of Mercurial's `--verbose` or `--debug` output about requests.
pub type DebugListener = Box<dyn FnMut(&str) + Send>;

/// Names and changesets of bookmarks.
pub type Bookmarks = BTreeMap<Vec<u8>, Node>;

/// Answer to the first request of discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadsAndKnown {
    /// All heads.
    pub heads: Vec<Node>,
    /// For each node that was asked about, whether it is there.
    pub known: Vec<bool>,
}

impl Remote {
    /// Asks for the capabilities of the other side.
    ///
    /// # Errors
    /// The repository cannot be reached, refuses, or is none.
    pub fn connect(mut transport: Box<dyn Transport>) -> Result<Remote, ExchangeError> {
        let answer = transport.call("capabilities", &[])?;
        let capabilities = PeerCapabilities::parse(&answer);
        transport.set_capabilities(&capabilities);
        Ok(Remote {
            transport,
            capabilities,
            listener: None,
            traces_requests: false,
            traces_progress: false,
            sampling: SamplingSettings::default(),
        })
    }

    /// Sends the lines about discovery that `--verbose` shows to `listener`.
    pub fn set_listener(&mut self, listener: DebugListener) {
        self.listener = Some(listener);
    }

    /// Sends the listener the debug lines about all later requests, too.
    pub fn trace_requests(&mut self) {
        self.traces_requests = true;
    }

    /// Changes how later comparisons take their samples.
    pub fn set_sampling(&mut self, sampling: SamplingSettings) {
        self.sampling = sampling;
    }

    pub(crate) fn sampling(&self) -> SamplingSettings {
        self.sampling
    }

    /// True if only short questions can be asked.
    pub(crate) fn limits_arguments(&self) -> bool {
        self.transport.limits_arguments()
    }

    /// Makes counts of questions debug lines, too.
    pub fn trace_progress(&mut self) {
        self.traces_progress = true;
    }

    pub(crate) fn debug_progress(&mut self, words: impl FnOnce() -> String) {
        if self.traces_progress {
            self.debug(words);
        }
    }

    pub(crate) fn debug(&mut self, words: impl FnOnce() -> String) {
        if let (Some(listener), true) = (&mut self.listener, self.traces_requests) {
            listener(&words());
        }
    }

    pub(crate) fn note(&mut self, words: &str) {
        if let Some(listener) = &mut self.listener {
            listener(words);
        }
    }

    pub(crate) fn debug_command(&mut self, command: &str) {
        if self.transport.is_remote() {
            self.debug(|| format!("sending {command} command\n"));
        }
    }

    pub(super) fn call(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Vec<u8>, ExchangeError> {
        self.debug_command(command);
        self.transport.call(command, args)
    }

    /// Capabilities of the other side.
    pub fn capabilities(&self) -> &PeerCapabilities {
        &self.capabilities
    }

    /// Whether obsolescence markers can be had, and in the form in which they are stored here.
    pub fn has_markers(&self) -> bool {
        let versions = self.capabilities.bundle2("obsmarkers");
        versions.is_some_and(|known| known.iter().any(|version| version == "V1"))
    }

    /// Heads, and which of `nodes` the other side has, in one question where it can be one.
    ///
    /// # Errors
    /// As of [`Transport::call`], or the answer is none.
    pub fn heads_and_known(&mut self, nodes: &[Node]) -> Result<HeadsAndKnown, ExchangeError> {
        self.debug(|| "query 1; heads\n".to_owned());
        if !self.capabilities.has("batch") {
            return Ok(HeadsAndKnown {
                heads: self.heads()?,
                known: self.known(nodes)?,
            });
        }
        let mut commands = b"heads ;known nodes=".to_vec();
        escape(&joined(nodes), &mut commands);
        let mut answers = self.batch(commands, 2)?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        Ok(HeadsAndKnown {
            heads: parse_nodes("heads", &next())?,
            known: parse_known(&next(), nodes.len())?,
        })
    }

    /// The changesets that names stand for there, and its bookmarks, in one question where it can
    /// be one.
    ///
    /// # Errors
    /// As of [`Remote::lookup`].
    pub fn lookup_all(&mut self, names: &[&[u8]]) -> Result<(Vec<Node>, Bookmarks), ExchangeError> {
        if !self.capabilities.has("batch") {
            let bookmarks = self.bookmarks()?;
            let nodes = names.iter().map(|name| self.lookup(name));
            return Ok((nodes.collect::<Result<_, _>>()?, bookmarks));
        }
        let mut commands = b"listkeys namespace=bookmarks".to_vec();
        for name in names {
            commands.extend_from_slice(b";lookup key=");
            escape(name, &mut commands);
        }
        self.debug_listing("bookmarks");
        let answers = self.batch(commands, 1 + names.len())?;
        let mut answers = answers.iter();
        let keys = answers.next().map_or(&[][..], Vec::as_slice);
        self.debug_listed("bookmarks", keys.len());
        let bookmarks = list_keys::bookmarks(list_keys::decode(keys));
        let is_remote = self.transport.is_remote();
        let nodes = answers.map(|answer| parse_lookup(answer, is_remote));
        Ok((nodes.collect::<Result<_, _>>()?, bookmarks))
    }

    /// Sends several commands at once; gives as many answers.
    fn batch(&mut self, commands: Vec<u8>, count: usize) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let answer = self.call("batch", &[("cmds", commands)])?;
        let answers = answer.split(|byte| *byte == b';').map(unescape);
        let answers: Vec<Vec<u8>> = answers.collect();
        match answers.len() == count {
            true => Ok(answers),
            false => Err(unexpected("batch", &answer)),
        }
    }

    /// All heads.
    ///
    /// # Errors
    /// As of [`Transport::call`], or the answer is none.
    pub fn heads(&mut self) -> Result<Vec<Node>, ExchangeError> {
        let answer = self.call("heads", &[])?;
        // An empty repository has the null changeset as its head, an empty part of one has none.
        match answer.is_empty() && !self.transport.is_remote() {
            true => Ok(Vec::new()),
            false => parse_nodes("heads", &answer),
        }
    }

    /// Which of `nodes` the other side has.
    ///
    /// # Errors
    /// As of [`Transport::call`], or the answer is none.
    pub fn known(&mut self, nodes: &[Node]) -> Result<Vec<bool>, ExchangeError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.call("known", &[("nodes", joined(nodes))])?;
        parse_known(&answer, nodes.len())
    }

    /// The answer to arguments that the other side only sends back.
    ///
    /// # Errors
    /// As of [`Transport::call`].
    pub fn echo_arguments(&mut self, args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        self.debug_command("debugwireargs");
        self.call("debugwireargs", args)
    }

    /// The changeset that a name stands for there.
    ///
    /// # Errors
    /// As of [`Transport::call`]; [`ExchangeError::UnknownRevision`].
    pub fn lookup(&mut self, name: &[u8]) -> Result<Node, ExchangeError> {
        let answer = self.call("lookup", &[("key", name.to_vec())])?;
        parse_lookup(&answer, self.transport.is_remote())
    }

    /// Heads of each branch.
    ///
    /// # Errors
    /// As of [`Transport::call`], or the answer is none.
    pub fn branchmap(&mut self) -> Result<BTreeMap<Vec<u8>, Vec<Node>>, ExchangeError> {
        let answer = self.call("branchmap", &[])?;
        let lines = answer
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut branches = BTreeMap::new();
        for line in lines {
            let blank = line.iter().position(|byte| *byte == b' ');
            let blank = blank.ok_or_else(|| unexpected("branchmap", &answer))?;
            let name: Vec<u8> = percent_decode(&line[..blank]).collect();
            let heads = parse_nodes("branchmap", &line[blank + 1..])?;
            // Servers before 1.4 send names in their own encoding, mostly Latin-1.
            if std::str::from_utf8(&name).is_err() {
                let converted: String = name.iter().copied().map(char::from).collect();
                branches.insert(converted.into_bytes(), heads.clone());
            }
            branches.insert(name, heads);
        }
        Ok(branches)
    }

    /// The keys of a namespace such as `bookmarks`, with their values.
    ///
    /// # Errors
    /// As of [`Transport::call`].
    pub fn list_keys(
        &mut self,
        namespace: &str,
    ) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, ExchangeError> {
        let (shown, namespace) = (namespace, namespace.as_bytes().to_vec());
        self.debug_listing(shown);
        let answer = self.call("listkeys", &[("namespace", namespace)])?;
        self.debug_listed(shown, answer.len());
        Ok(list_keys::decode(&answer))
    }

    fn debug_listing(&mut self, namespace: &str) {
        match self.transport.is_remote() {
            true => self.debug(|| format!("preparing listkeys for \"{namespace}\"\n")),
            false => self.debug(|| format!("listing keys for \"{namespace}\"\n")),
        }
    }

    fn debug_listed(&mut self, namespace: &str, len: usize) {
        if self.transport.is_remote() {
            self.debug(|| format!("received listkey for \"{namespace}\": {len} bytes\n"));
        }
    }

    /// Names and changesets of the bookmarks there.
    ///
    /// # Errors
    /// As of [`Transport::call`].
    pub fn bookmarks(&mut self) -> Result<BTreeMap<Vec<u8>, Node>, ExchangeError> {
        Ok(list_keys::bookmarks(self.list_keys("bookmarks")?))
    }

    /// Name and password for later requests.
    pub fn log_in(&mut self, login: Login) {
        self.transport.log_in(login);
    }

    /// Sends a bundle to be stored, and gives the answer as it comes.
    ///
    /// # Errors
    /// As of [`Transport::unbundle`].
    pub fn unbundle(&mut self, bundle: &mut Spool) -> Result<Box<dyn Read + Send>, ExchangeError> {
        self.transport.unbundle(bundle)
    }

    /// The list of clone bundles; `None` if the other side has none.
    ///
    /// # Errors
    /// As of [`Transport::call`].
    pub fn clone_bundles(&mut self) -> Result<Option<CloneBundleManifest>, ExchangeError> {
        let commands = ["clonebundles_manifest", "clonebundles"];
        let known = commands
            .into_iter()
            .find(|command| self.capabilities.has(command));
        let list = known.map(|command| self.transport.call(command, &[]));
        Ok(list.transpose()?.map(CloneBundleManifest::new))
    }

    /// Sends a command whose answer is long.
    ///
    /// # Errors
    /// As of [`Transport::stream`].
    pub(crate) fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        self.debug_command(command);
        self.transport.stream(command, args)
    }

    /// A clone bundle that the other side sends itself.
    ///
    /// # Errors
    /// As of [`Transport::stream`].
    pub fn clone_bundle(&mut self, name: &str) -> Result<Box<dyn Read + Send>, ExchangeError> {
        let path = [("path", name.as_bytes().to_vec())];
        let mut answer = self.transport.stream("get_cached_bundle_inline", &path)?;
        let len = read_varint(&mut answer)?;
        Ok(Box::new(answer.take(len)))
    }
}

/// Seven bits a byte, the lowest first.
fn read_varint(from: &mut impl Read) -> Result<u64, ExchangeError> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let mut byte = [0];
        if from.read(&mut byte).map_err(ExchangeError::Broken)? == 0 {
            return Err(ExchangeError::StreamEnded {
                got: 0,
                expected: 1,
            });
        }
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            break;
        }
    }
    Ok(number)
}

fn parse_lookup(answer: &[u8], is_remote: bool) -> Result<Node, ExchangeError> {
    let line = answer.strip_suffix(b"\n").unwrap_or(answer);
    if let Some(words) = line.strip_prefix(b"0 ") {
        return Err(ExchangeError::LookupRefused {
            message: String::from_utf8_lossy(words).into_owned(),
            is_remote,
        });
    }
    let node = line.strip_prefix(b"1 ").and_then(Node::from_hex);
    node.ok_or_else(|| unexpected("lookup", answer))
}

pub(crate) fn joined(nodes: &[Node]) -> Vec<u8> {
    let hex: Vec<_> = nodes.iter().map(Node::to_hex).collect();
    let hex: Vec<&[u8]> = hex.iter().map(|hex| &hex[..]).collect();
    hex.join(&b' ')
}

pub(super) fn parse_nodes(
    command: &'static str,
    answer: &[u8],
) -> Result<Vec<Node>, ExchangeError> {
    let line = answer.strip_suffix(b"\n").unwrap_or(answer);
    let words = line.split(|byte| *byte == b' ');
    let nodes = words.map(|word| Node::from_hex(word).ok_or_else(|| unexpected(command, answer)));
    nodes.collect()
}

fn parse_known(answer: &[u8], count: usize) -> Result<Vec<bool>, ExchangeError> {
    if answer.len() != count {
        return Err(unexpected("known", answer));
    }
    let flags = answer.iter().map(|byte| match byte {
        b'0' => Ok(false),
        b'1' => Ok(true),
        _ => Err(unexpected("known", answer)),
    });
    flags.collect()
}

pub(crate) fn unexpected(command: &'static str, answer: &[u8]) -> ExchangeError {
    let start = answer.get(..100).unwrap_or(answer);
    ExchangeError::UnexpectedAnswer {
        command,
        answer: String::from_utf8_lossy(start).into_owned(),
    }
}
