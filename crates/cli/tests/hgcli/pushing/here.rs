//! Pushing to a repository of the same machine.

use super::Pair;

#[test]
fn another_repository_of_this_machine_gets_what_it_lacks() {
    let pair = Pair::new();
    pair.same(&["push local"]);
    pair.commit("c");
    pair.here("bookmark mark");
    pair.commit("d");
    pair.same(&["push local -r 2", "push local -B mark", "push -q local"]);
    pair.here("update -q 0");
    pair.commit("e");
    pair.same(&["push local", "push -f local", "push ../origin"]);
    pair.settings_there("[phases]\npublish = no\n");
    pair.commit("f");
    pair.same(&["push local", "push --publish local"]);
    pair.verify();
}

#[test]
fn its_hooks_are_called_with_its_configuration() {
    let pair = Pair::new();
    let kinds = [
        "prechangegroup",
        "pretxnchangegroup",
        "pretxnclose",
        "txnclose",
        "incoming",
    ];
    let show = "env | grep '^HG_' | grep -v -e TXNID= -e URL= -e PENDING= | sort";
    let lines = kinds.map(|kind| format!("{kind} = echo {kind}; {show}\n"));
    pair.settings_there(&format!("[hooks]\n{}", lines.concat()));
    pair.commit("c");
    pair.same(&["push local"]);
    pair.settings_there("[hooks]\npretxnchangegroup = echo no; exit 2\n");
    pair.commit("d");
    pair.same(&["push local"]);
    pair.settings_there("[hooks]\ntxnclose = echo bad >&2; exit 2\n");
    pair.same(&["push local", "push local"]);
    pair.verify();
}
