//! Hooks here, which may refuse, and hooks there, whose words come back.

use super::Pair;

#[test]
fn hooks_here_are_called() {
    let pair = Pair::new();
    let kinds = [
        "pre-push",
        "post-push",
        "fail-push",
        "preoutgoing",
        "outgoing",
        "pretxnopen",
        "pretxnclose-phase",
        "pretxnclose",
        "txnclose-phase",
        "txnclose",
    ];
    let show = "env | grep '^HG_' | grep -v -e TXNID= -e URL= -e PENDING= | sort";
    let lines = kinds.map(|kind| format!("{kind} = echo {kind}; {show}\n"));
    pair.each_clone(|root| pair.configure(root, &format!("[hooks]\n{}", lines.concat())));
    pair.commit("c");
    pair.same(&["push --config hooks.preoutgoing=false"]);
    pair.same(&["push --config hooks.outgoing=false"]);
    pair.commit("d");
    pair.same(&["push --config hooks.pretxnclose=false", "push", "push"]);
    pair.verify();
}

#[test]
fn hooks_there_learn_what_they_are_to_know() {
    let pair = Pair::new();
    let show = "env | grep ^HG_USERVAR | sort";
    let hooks =
        format!("[hooks]\nprechangegroup = {show}\ntxnclose = {show}\nprepushkey = {show}\n");
    for server in ["", "[push]\npushvars.server = yes\n"] {
        pair.settings_there(&format!("{hooks}{server}"));
        pair.commit(&format!("c{}", server.len()));
        pair.same(&[
            "push --pushvars wrong",
            "push --pushvars A=1 --pushvars b= --pushvars A=2=3 --pushvars =x",
            "push --pushvars wrong",
        ]);
    }
    pair.verify();
}

#[test]
fn hooks_there_speak_and_refuse() {
    let pair = Pair::new();
    for kind in [
        "prechangegroup",
        "pretxnchangegroup",
        "pretxnclose",
        "changegroup",
        "prepushkey",
    ] {
        pair.settings_there(&format!(
            "[hooks]\n{kind} = echo no; echo bad >&2; exit 3\n"
        ));
        pair.commit(kind);
        pair.here("bookmark -f -r tip mark");
        pair.same(&["push -B mark"]);
    }
    pair.verify();
}
