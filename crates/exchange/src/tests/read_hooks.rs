//! Hooks about what clients read: which are called, in which order, and the effect of a refusal.

use super::history::History;
use crate::server::wire::{
    ReadHooks, ReaderLocation, StreamBody, TYPE_ERROR, WireRequest, WireResponse, WireSettings,
    respond,
};
use crate::{ExchangeError, LocalPeer};
use parking_lot::Mutex;
use std::sync::Arc;
use varve_repo::Repository;
use varve_repo::hooks::{HookArgs, HookRefusal, Hooks, PushVars, RollbackStage};

/// Records the calls of all kinds, and refuses one.
#[derive(Debug, Default)]
struct RecordingHooks {
    refused: &'static str,
    calls: Mutex<Vec<String>>,
}

impl RecordingHooks {
    fn record(&self, kind: &str, args: &HookArgs) {
        let args = args.iter();
        let args = args.map(|(key, value)| format!(" {key}={}", String::from_utf8_lossy(value)));
        let call = format!("{kind}{}", args.collect::<String>());
        self.calls.lock().push(call);
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock())
    }
}

impl Hooks for RecordingHooks {
    fn has_hook(&self, kind: &str) -> bool {
        kind.ends_with("outgoing") || kind.ends_with("listkeys")
    }

    fn run_now(&self, kind: &'static str, args: &HookArgs, _: bool) -> Result<(), HookRefusal> {
        self.record(kind, args);
        match kind == self.refused {
            true => Err(HookRefusal::of_program(format!("{kind} refuses"))),
            false => Ok(()),
        }
    }

    fn notify(&self, kind: &str, args: &HookArgs) {
        self.record(kind, args);
    }

    fn run_later(&self, kind: &'static str, args: HookArgs) {
        self.record(kind, &args);
    }

    fn set_push_vars(&self, _: PushVars) {}

    fn on_rollback(&self, _: RollbackStage) {}
}

fn recording(refused: &'static str) -> Arc<RecordingHooks> {
    Arc::new(RecordingHooks {
        refused,
        ..RecordingHooks::default()
    })
}

fn line_of_three() -> (History, Repository) {
    let history = History::line(3);
    let repository = history.repository(&history.closure(&[2]));
    (history, repository)
}

fn ask(
    repository: &Repository,
    hooks: &Arc<RecordingHooks>,
    (command, args): (&str, &[(&str, &str)]),
) -> Result<WireResponse, ExchangeError> {
    let args = args.iter();
    let request = WireRequest {
        command: command.to_owned(),
        args: args
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        ..WireRequest::default()
    };
    let hooks = ReadHooks::new(hooks.clone(), ReaderLocation::Elsewhere);
    respond(repository, &request, &WireSettings::default(), &hooks)
}

const BUNDLE2: (&str, &str) = (
    "bundlecaps",
    "HG20,bundle2=HG20%0Alistkeys%0Achangegroup%3D02",
);

#[test]
fn outgoing_is_called_when_the_changegroup_is_written_and_keys_before_that() {
    let (history, repository) = line_of_three();
    let hooks = recording("");
    let root = history.node(0).to_string();
    let args = [BUNDLE2, ("common", &root), ("listkeys", "bookmarks,foo")];
    let response = ask(&repository, &hooks, ("getbundle", &args)).unwrap();
    let planned = [
        "preoutgoing source=serve",
        "prelistkeys namespace=bookmarks",
        "listkeys namespace=bookmarks values={}",
        "prelistkeys namespace=foo",
        "listkeys namespace=foo values={}",
    ];
    assert_eq!(hooks.calls(), planned);
    let WireResponse::Stream { body, .. } = response else {
        panic!("a bundle is streamed");
    };
    body.send(&mut Vec::new()).unwrap();
    let first = history.node(1);
    assert_eq!(
        hooks.calls(),
        [format!("outgoing node={first} source=serve")]
    );
}

#[test]
fn a_bundle_without_changesets_calls_no_hook_about_them_but_in_the_old_form() {
    let (history, repository) = line_of_three();
    let hooks = recording("");
    let tip = history.node(2).to_string();
    let send = |args: &[(&str, &str)]| {
        let WireResponse::Stream { body, .. } =
            ask(&repository, &hooks, ("getbundle", args)).unwrap()
        else {
            panic!("a bundle is streamed");
        };
        body.send(&mut Vec::new()).unwrap();
        hooks.calls()
    };
    assert!(send(&[BUNDLE2, ("common", &tip)]).is_empty());
    assert_eq!(send(&[("common", &tip)]), ["preoutgoing source=serve"]);
}

/// Each client of a bundle is told to the hook, so no two share one.
#[test]
fn a_bundle_with_a_hook_is_made_for_each_client() {
    let (_, repository) = line_of_three();
    let is_shared = |hooks: &ReadHooks| {
        let request = WireRequest {
            command: "getbundle".to_owned(),
            args: vec![(BUNDLE2.0.into(), BUNDLE2.1.into())],
            ..WireRequest::default()
        };
        match respond(&repository, &request, &WireSettings::default(), hooks).unwrap() {
            WireResponse::Stream {
                repeatable,
                body: StreamBody::OnePass(_),
                ..
            } => repeatable.is_some(),
            _ => panic!("a bundle is made in one pass"),
        }
    };
    assert!(is_shared(&ReadHooks::default()));
    assert!(!is_shared(&ReadHooks::new(
        recording(""),
        ReaderLocation::Elsewhere
    )));
}

#[test]
fn a_refusal_is_an_answer_to_getbundle_and_an_error_of_other_commands() {
    let (history, repository) = line_of_three();
    let root = history.node(0).to_string();
    let all = "0".repeat(40);
    let hooks = recording("preoutgoing");
    let answer = ask(&repository, &hooks, ("getbundle", &[("common", &root)]));
    let Ok(WireResponse::Whole { content_type, body }) = answer else {
        panic!("the refusal of an old bundle is short");
    };
    assert_eq!(
        (content_type, &body[..]),
        (TYPE_ERROR, &b"preoutgoing refuses\n"[..])
    );
    let answer = ask(&repository, &hooks, ("getbundle", &[BUNDLE2]));
    let Ok(WireResponse::Stream { body, .. }) = answer else {
        panic!("the refusal of a bundle2 is one");
    };
    let mut sent = Vec::new();
    body.send(&mut sent).unwrap();
    assert!(!sent.is_empty());
    for command in [
        ("changegroup", [("roots", all.as_str()), ("", "")]),
        (
            "changegroupsubset",
            [("bases", all.as_str()), ("heads", root.as_str())],
        ),
    ] {
        let error = ask(&repository, &hooks, (command.0, &command.1)).err();
        assert!(error.is_some_and(|error| error.is_hooks()), "{command:?}");
    }
    let hooks = recording("prelistkeys");
    let batch = [("cmds", "heads ;listkeys namespace=bookmarks")];
    for command in [("listkeys", [("namespace", "bookmarks")]), ("batch", batch)] {
        let error = ask(&repository, &hooks, (command.0, &command.1)).err();
        assert!(error.is_some_and(|error| error.is_hooks()), "{command:?}");
        assert_eq!(hooks.calls(), ["prelistkeys namespace=bookmarks"]);
    }
}

#[test]
fn a_refusal_is_an_error_for_a_local_peer() {
    use crate::client::peer::Transport;
    let (_, repository) = line_of_three();
    let reads = ReadHooks::new(recording("preoutgoing"), ReaderLocation::Local);
    let mut peer = LocalPeer::new(repository, WireSettings::default()).with_hooks(reads);
    let answer = peer.stream("getbundle", &[("bundlecaps", BUNDLE2.1.into())]);
    assert!(answer.err().is_some_and(|error| error.is_hooks()));
}

/// The reader of a local repository shares its terminal, so that the hook must be done before it reads.
#[test]
fn a_local_peer_calls_outgoing_before_the_bundle_is_read() {
    use crate::client::peer::Transport;
    let (history, repository) = line_of_three();
    let hooks = recording("");
    let reads = ReadHooks::new(hooks.clone(), ReaderLocation::Local);
    let mut peer = LocalPeer::new(repository, WireSettings::default()).with_hooks(reads);
    let answer = peer.stream("getbundle", &[("bundlecaps", BUNDLE2.1.into())]);
    let first = history.node(0);
    let called = [
        "preoutgoing source=pull".to_owned(),
        format!("outgoing node={first} source=pull"),
    ];
    assert_eq!(hooks.calls(), called);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut answer.unwrap(), &mut bytes).unwrap();
    assert_eq!(super::history::nodes_in(&bytes).len(), 3);
}
