//! Pushes into a repository in memory: checks, replies, refused parts.

use super::history::{History, bundle_of, histories, nodes_of, some_heads};
use crate::ExchangeError;
use crate::apply::{BundleEvent, PushOutput};
use crate::client::peer::PeerCapabilities;
use crate::client::push::{
    BookmarkPush, ExpectedRemote, PushPlan, PushReply, RemotePhases, branch_heads, read_reply,
};
use crate::format::part::{Part, PartHeader, PartType, bookmarks, node_list, phase_heads};
use crate::server::unbundle::PushHandler;
use crate::server::wire::{WireRequest, WireResponse};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::time::Duration;
use varve_base::Interrupt;
use varve_codec::EngineSetting;
use varve_repo::hooks::{HookArgs, HookRefusal, Hooks, PushVars, RollbackStage};
use varve_repo::{LockWait, Node, Phase, Repository, Rev, ViewFilter};

/// A repository without hooks.
#[derive(Debug)]
struct NoHooks;

impl Hooks for NoHooks {
    fn has_hook(&self, _kind: &str) -> bool {
        false
    }

    fn run_now(&self, _: &'static str, _: &HookArgs, _: bool) -> Result<(), HookRefusal> {
        Ok(())
    }

    fn notify(&self, _: &str, _: &HookArgs) {}

    fn run_later(&self, _: &'static str, _: HookArgs) {}

    fn set_push_vars(&self, _: PushVars) {}

    fn on_rollback(&self, _: RollbackStage) {}
}

/// `force`, in hexadecimal.
pub(super) const FORCE: &[u8] = b"666f726365";

/// Calls the handler of a repository that does not publish.
pub(super) fn with_handler<T>(
    repository: &Repository,
    call: impl FnOnce(&PushHandler<'_>) -> T,
) -> T {
    let (output, stop) = (PushOutput::default(), Interrupt::default());
    call(&PushHandler {
        repository,
        write: EngineSetting::ZLIB.into(),
        url: b"remote:test",
        takes_markers: false,
        publishing: false,
        takes_bundle1: true,
        takes_variables: false,
        longest: None,
        downloads: None,
        wait: LockWait {
            timeout: Some(Duration::ZERO),
            notify_after: Duration::MAX,
            on_event: &|_| {},
            stop: &stop,
        },
        output: &output,
        hooks: &NoHooks,
        after_locks: &|| {},
        on_error: &|_| {},
    })
}

pub(super) fn request(command: &str, args: &[(&str, &[u8])]) -> WireRequest {
    let args = args.iter();
    WireRequest {
        command: command.to_owned(),
        args: args
            .map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()))
            .collect(),
        ..WireRequest::default()
    }
}

pub(super) fn whole(response: Result<WireResponse, ExchangeError>) -> Vec<u8> {
    match response.unwrap() {
        WireResponse::Whole { body, .. } => body,
        WireResponse::Stream { .. } => panic!("the answer to a push is short"),
    }
}

/// The answer to a bundle, from a client that saw these heads.
pub(super) fn unbundle(repository: &Repository, heads: &[u8], bundle: &[u8]) -> Vec<u8> {
    let request = request("unbundle", &[("heads", heads)]);
    with_handler(repository, |handler| {
        whole(handler.unbundle(&request, bundle))
    })
}

/// The reply that a client reads, with the output of the other side.
pub(super) fn reply_to(answer: Vec<u8>) -> (Result<PushReply, ExchangeError>, String) {
    let mut output = String::new();
    let reply = read_reply(Box::new(Cursor::new(answer)), &mut |event| {
        if let BundleEvent::RemoteOutput(text) = event {
            output += &String::from_utf8_lossy(text);
        }
    });
    (reply, output)
}

pub(super) fn mandatory(part_type: PartType, payload: Vec<u8>) -> Part<Vec<u8>> {
    Part {
        header: PartHeader::mandatory(part_type),
        payload,
    }
}

pub(super) fn reply_caps() -> Part<Vec<u8>> {
    mandatory(PartType::ReplyCaps, Vec::new())
}

/// Pushes parts to a repository with changesets 0 to 2 of a line, and the fourth one behind the parts.
fn pushed_behind(
    history: &History,
    parts: &[Part<Vec<u8>>],
) -> (Repository, Result<PushReply, ExchangeError>) {
    let repository = history.repository(&history.closure(&[2]));
    let mut all = vec![reply_caps()];
    all.extend_from_slice(parts);
    all.push(history.part(&BTreeSet::from([3])));
    let (reply, _) = reply_to(unbundle(&repository, FORCE, &bundle_of(&all)));
    (repository, reply)
}

fn accepts(parts: &[Part<Vec<u8>>]) {
    let history = History::line(4);
    let (repository, reply) = pushed_behind(&history, parts);
    assert_eq!(reply.unwrap().changegroup, Some(1));
    assert_eq!(nodes_of(&repository).len(), 4);
}

/// The error for the client; nothing of the bundle is stored.
fn refuses(parts: &[Part<Vec<u8>>]) -> ExchangeError {
    let history = History::line(4);
    let (repository, reply) = pushed_behind(&history, parts);
    assert_eq!(nodes_of(&repository).len(), 3);
    reply.unwrap_err()
}

fn refuses_as_raced(parts: &[Part<Vec<u8>>]) -> String {
    match refuses(parts) {
        ExchangeError::PushRaced(message) => message,
        other => panic!("{other}"),
    }
}

#[test]
fn a_push_is_answered_with_a_reply_and_output_about_its_part() {
    let history = History::line(2);
    let repository = history.repository(&BTreeSet::new());
    let parts = [reply_caps(), history.part(&history.closure(&[1]))];
    let (reply, output) = reply_to(unbundle(&repository, FORCE, &bundle_of(&parts)));
    assert!(reply.unwrap().changegroup.is_some_and(|code| code > 0));
    let expected = "adding changesets\nadding manifests\nadding file changes\n\
        added 2 changesets with 0 changes to 0 files\n";
    assert_eq!(output, expected);
    assert_eq!(
        nodes_of(&repository),
        history.sorted(&history.closure(&[1]))
    );
}

#[test]
fn without_reply_capabilities_there_is_no_reply() {
    let history = History::line(1);
    let repository = history.repository(&BTreeSet::new());
    let bundle = bundle_of(&[history.part(&history.closure(&[0]))]);
    let (reply, output) = reply_to(unbundle(&repository, FORCE, &bundle));
    assert_eq!((reply.unwrap().changegroup, output.as_str()), (None, ""));
    assert_eq!(nodes_of(&repository).len(), 1);
}

#[test]
fn heads_are_checked() {
    let history = History::line(4);
    let heads = |numbers: &[usize]| {
        let nodes: Vec<Node> = numbers.iter().map(|number| history.node(*number)).collect();
        node_list::encode(&nodes)
    };
    accepts(&[mandatory(PartType::CheckHeads, heads(&[2]))]);
    accepts(&[mandatory(PartType::CheckUpdatedHeads, heads(&[2]))]);
    accepts(&[mandatory(PartType::CheckUpdatedHeads, Vec::new())]);
    let raced = "remote repository changed while pushing - please try again";
    for (part_type, numbers) in [
        (PartType::CheckHeads, &[1][..]),
        (PartType::CheckHeads, &[1, 2]),
        (PartType::CheckHeads, &[]),
        (PartType::CheckUpdatedHeads, &[1]),
        (PartType::CheckUpdatedHeads, &[2, 0]),
    ] {
        let message = refuses_as_raced(&[mandatory(part_type, heads(numbers))]);
        assert_eq!(message, raced, "{part_type:?} {numbers:?}");
    }
    let cut = heads(&[2])[..19].to_vec();
    let refused = refuses(&[mandatory(PartType::CheckHeads, cut)]);
    assert!(refused.to_string().contains("push failed"), "{refused}");
}

#[test]
fn phases_and_bookmarks_are_checked() {
    let history = History::line(4);
    let phase = |phase| {
        mandatory(
            PartType::CheckPhases,
            phase_heads::encode([(phase, history.node(1))]),
        )
    };
    accepts(&[phase(Phase::Draft)]);
    let short = &history.node(1).to_string()[..12];
    let message = refuses_as_raced(&[phase(Phase::Public)]);
    assert!(
        message.ends_with(&format!("({short} is draft expected public)")),
        "{message}"
    );
    let bookmark = |node| {
        let payload = bookmarks::encode([(&b"main"[..], node)]).unwrap();
        mandatory(PartType::CheckBookmarks, payload)
    };
    accepts(&[bookmark(None)]);
    let message = refuses_as_raced(&[bookmark(Some(history.node(1)))]);
    assert!(
        message.ends_with(&format!("(bookmark \"main\" is missing, expected {short})")),
        "{message}"
    );
}

#[test]
fn bookmarks_and_phases_of_a_push_are_stored() {
    let history = History::line(4);
    let bookmark = bookmarks::encode([(&b"main"[..], Some(history.node(2)))]).unwrap();
    let public = phase_heads::encode([(Phase::Public, history.node(1))]);
    let (repository, reply) = pushed_behind(
        &history,
        &[
            mandatory(PartType::Bookmarks, bookmark),
            mandatory(PartType::PhaseHeads, public),
        ],
    );
    reply.unwrap();
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    assert_eq!(view.bookmarks().get(&b"main"[..]), Some(&history.node(2)));
    let phase = |number| {
        view.phases()
            .of(view.changelog().rev(&history.node(number)).unwrap())
    };
    let phases = [0, 1, 2, 3].map(phase);
    assert_eq!(
        phases,
        [Phase::Public, Phase::Public, Phase::Draft, Phase::Draft]
    );
}

#[test]
fn unknown_parts_are_refused_if_mandatory_and_skipped_if_not() {
    let named = |name: &str| Part {
        header: PartHeader {
            name: name.as_bytes().to_vec(),
            ..PartHeader::default()
        },
        payload: b"payload".to_vec(),
    };
    accepts(&[named("nothing-known")]);
    match refuses(&[named("Nothing-known")]) {
        ExchangeError::NotSupportedThere(what) => assert_eq!(what, "nothing-known"),
        other => panic!("{other}"),
    }
    let mut unknown_parameter = mandatory(PartType::CheckHeads, Vec::new());
    unknown_parameter.header = unknown_parameter.header.with("strict", "1");
    match refuses(&[unknown_parameter]) {
        ExchangeError::NotSupportedThere(what) => assert_eq!(what, "check:heads - strict"),
        other => panic!("{other}"),
    }
    // Replies are for clients only.
    assert!(matches!(
        refuses(&[mandatory(PartType::ReplyChangegroup, Vec::new())]),
        ExchangeError::NotSupportedThere(_)
    ));
}

#[test]
fn markers_are_refused_where_they_are_not_enabled() {
    match refuses(&[mandatory(PartType::Obsmarkers, b"\x01".to_vec())]) {
        ExchangeError::PushFailed { message, .. } => {
            assert_eq!(
                message,
                "creating obsolete markers is not enabled on this repo"
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_cut_or_damaged_bundle_changes_nothing() {
    let history = History::line(4);
    let own = history.closure(&[1]);
    let bundle = bundle_of(&[reply_caps(), history.part(&BTreeSet::from([2, 3]))]);
    for len in (4..bundle.len() - 1).step_by(11) {
        let repository = history.repository(&own);
        let (reply, _) = reply_to(unbundle(&repository, FORCE, &bundle[..len]));
        assert!(reply.is_err(), "{len}");
        assert_eq!(nodes_of(&repository), history.sorted(&own), "{len}");
    }
    let text = b"change 3";
    let at = bundle
        .windows(text.len())
        .position(|window| window == text)
        .unwrap();
    let mut damaged = bundle;
    damaged[at] ^= 1;
    let repository = history.repository(&own);
    let (reply, _) = reply_to(unbundle(&repository, FORCE, &damaged));
    assert!(reply.is_err());
    assert_eq!(nodes_of(&repository), history.sorted(&own));
}

#[test]
fn heads_that_the_client_did_not_see_end_the_push() {
    let history = History::line(3);
    let repository = history.repository(&history.closure(&[1]));
    let bundle = bundle_of(&[history.part(&BTreeSet::from([2]))]);
    let changed = b"0\nrepository changed while preparing changes - please try again\n";
    let old = history.node(0).to_string();
    assert_eq!(unbundle(&repository, old.as_bytes(), &bundle), changed);
    assert_eq!(nodes_of(&repository).len(), 2);
    let seen = history.node(1).to_string();
    reply_to(unbundle(&repository, seen.as_bytes(), &bundle))
        .0
        .unwrap();
    assert_eq!(nodes_of(&repository).len(), 3);
}

#[test]
fn keys_are_set_if_the_old_value_is_right() {
    let history = History::line(2);
    let repository = history.repository(&history.closure(&[1]));
    let node = history.node(0).to_string();
    let pushkey = |namespace: &str, key: &str, old: &str, new: &str| {
        let args = [
            ("namespace", namespace),
            ("key", key),
            ("old", old),
            ("new", new),
        ];
        let args = args.map(|(name, value)| (name, value.as_bytes()));
        let request = request("pushkey", &args);
        with_handler(&repository, |handler| whole(handler.pushkey(&request)))
    };
    assert_eq!(pushkey("bookmarks", "main", "", &node), b"1\n");
    assert_eq!(pushkey("bookmarks", "main", &"1".repeat(40), ""), b"0\n");
    assert_eq!(pushkey("bookmarks", "main", &node, ""), b"1\n");
    assert_eq!(pushkey("bookmarks", "a\nb", "", &node), b"0\n");
    assert_eq!(pushkey("phases", &node, "1", "0"), b"1\n");
    assert_eq!(pushkey("phases", &node, "2", "1"), b"0\n");
    assert_eq!(pushkey("nothing", "a", "", "b"), b"0\n");
    assert_eq!(pushkey("obsolete", "x", "", ""), b"0\nunknown key: b'x'");
    assert!(repository.view().unwrap().bookmarks().is_empty());
}

/// Capabilities of a server of this program.
fn capabilities() -> PeerCapabilities {
    PeerCapabilities::parse(b"bundle2=HG20%0Achangegroup%3D01%2C02%2C03%0Acheckheads%3Drelated")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_push_plan_brings_all_that_the_other_side_lacks(
        history in histories(25),
        own in some_heads(),
        there in some_heads(),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let common: BTreeSet<usize> = own.intersection(&there).copied().collect();
        let missing: BTreeSet<usize> = own.difference(&there).copied().collect();
        prop_assume!(!missing.is_empty());
        let (local, remote) = (history.repository(&own), history.repository(&there));
        let view = local.view_for(ViewFilter::Unfiltered).unwrap();
        let revs = |numbers: &BTreeSet<usize>| -> Vec<Rev> {
            numbers.iter().map(|n| view.changelog().rev(&history.node(*n)).unwrap()).collect()
        };
        let (common, changesets) = (revs(&common), revs(&missing));
        let heads = match there.is_empty() {
            true => vec![Node::NULL],
            false => history.heads_of(&there),
        };
        let phases = RemotePhases::default();
        let newest = history.node(*missing.last().unwrap());
        let plan = PushPlan {
            view: &view,
            common: &common,
            changesets: &changesets,
            expected: Some(ExpectedRemote { heads: &heads, updated_heads: Vec::new(), phases: &phases }),
            published: vec![newest],
            markers: Vec::new(),
            bookmarks: vec![BookmarkPush { name: b"main".to_vec(), before: None, after: Some(newest) }],
            bookmark_form: Default::default(),
            variables: PushVars::new(),
        };
        let mut bundle = Vec::new();
        let sizes = plan.write(&capabilities(), &mut bundle).unwrap();
        prop_assert!(sizes.is_some());
        let outline = plan.outline(&capabilities()).unwrap();
        prop_assert_eq!(outline[0].name, "replycaps");
        let (reply, _) = reply_to(unbundle(&remote, FORCE, &bundle));
        prop_assert!(reply.unwrap().changegroup.is_some());
        let both = own.union(&there).copied().collect();
        prop_assert_eq!(nodes_of(&remote), history.sorted(&both));
        let after = remote.view_for(ViewFilter::Unfiltered).unwrap();
        prop_assert_eq!(after.bookmarks().get(&b"main"[..]), Some(&newest));
        let rev = after.changelog().rev(&newest).unwrap();
        prop_assert_eq!(after.phases().of(rev), Phase::Public);
    }

    #[test]
    fn heads_after_a_push_are_those_of_both_sides(
        history in histories(25),
        own in some_heads(),
        there in some_heads(),
    ) {
        let own = history.closure(&own);
        let there: BTreeSet<usize> = history.closure(&there).intersection(&own).copied().collect();
        let missing: BTreeSet<usize> = own.difference(&there).copied().collect();
        prop_assume!(!missing.is_empty());
        let view = history.repository(&own).view().unwrap();
        let missing: Vec<Rev> = missing.iter().map(|n| view.changelog().rev(&history.node(*n)).unwrap()).collect();
        let mut heads = BTreeMap::new();
        if !there.is_empty() {
            heads.insert(b"default".to_vec(), history.heads_of(&there));
        }
        let branches = branch_heads(&view, &missing, &heads).unwrap();
        prop_assert_eq!(branches.len(), 1);
        let branch = &branches[0];
        prop_assert_eq!(branch.before.is_some(), !there.is_empty());
        prop_assert_eq!(super::history::sorted(branch.after.clone()), history.heads_of(&own));
        prop_assert!(branch.unknown.is_empty() && branch.replaced.is_empty());
        let before = branch.before.clone().unwrap_or_default();
        let gone = before.iter().filter(|node| !branch.after.contains(node)).copied().collect();
        prop_assert_eq!(super::history::sorted(branch.changed().collect()), super::history::sorted(gone));
        prop_assert!(branch.added().all(|node| !before.contains(node)));
    }
}
