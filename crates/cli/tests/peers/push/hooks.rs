//! Hooks of a repository that is pushed to: their variables, their output, their refusals.

use super::{OPEN, Pair};
use varve_testkit::peers::hg_program;
use varve_testkit::varve::ADMIN;

const KINDS: &[&str] = &[
    "pretxnopen",
    "prechangegroup",
    "pretxnchangegroup",
    "prepushkey",
    "pretxnclose-bookmark",
    "pretxnclose-phase",
    "pretxnclose",
    "txnclose-bookmark",
    "txnclose-phase",
    "txnclose",
    "txnabort",
    "changegroup",
    "incoming",
    "pushkey",
];

/// All hooks print their variables, except those that always differ.
fn talking() -> String {
    let print = "env | grep ^HG_ | grep -v -e TXNID -e ^HG_EXE | sort | tr '\\n' ' '; echo";
    let lines = KINDS.iter().map(|kind| format!("{kind} = {print}\n"));
    format!("{OPEN}[hooks]\n{}", lines.collect::<String>())
}

#[test]
fn hooks_learn_what_happens_and_the_client_hears_them() {
    let pair = Pair::new(&talking());
    pair.commit("d");
    pair.commit("e");
    let told = pair.push("").success();
    assert!(told.contains("remote: HG_BUNDLE2=1 "), "{told}");
    assert!(told.contains("HG_URL=remote:http:127.0.0.1:"), "{told}");
    pair.both("bookmark -r 1 mark");
    pair.push("-B mark");
    pair.commit("f");
    pair.both("bookmark -f -r tip mark");
    pair.push("");
    pair.both("bookmark -d mark");
    pair.push("-B mark");
    pair.same();
}

#[test]
fn hooks_learn_what_the_client_wants_them_to() {
    let mut pair = Pair::new(&talking());
    let given = "--pushvars DEBUG=1 --pushvars debug= --pushvars empty= --pushvars x=a=b";
    pair.commit("d");
    let told = pair.push(given).success();
    assert!(!told.contains("USERVAR"), "{told}");
    pair.configure(&format!("{}[push]\npushvars.server = yes\n", talking()));
    pair.commit("e");
    pair.both("bookmark -r tip mark");
    let told = pair.push(&format!("{given} -B mark")).success();
    assert!(told.contains("HG_USERVAR_X=a=b"), "{told}");
    pair.commit("f");
    let told = pair.push("").success();
    assert!(!told.contains("USERVAR"), "{told}");
    pair.same();
}

#[test]
fn hooks_of_old_clients_learn_as_much() {
    let pair = Pair::new(&talking());
    pair.commit("d");
    pair.both("bookmark -r 1 mark");
    pair.push("-B mark --config devel.legacy.exchange=bundle1,bookmarks,phases");
    pair.commit("e");
    pair.both("bookmark -f -r tip mark");
    pair.push("--config devel.legacy.exchange=bookmarks,phases");
    pair.same();
}

#[test]
fn phases_and_what_refuses_them() {
    let drafts = format!("{}[phases]\npublish = no\n", talking());
    let mut pair = Pair::new(&drafts);
    pair.commit("d");
    pair.push("");
    pair.both("phase -p 1");
    pair.push("");
    pair.same();
    pair.both("phase -p 2");
    pair.configure(&format!("{drafts}[hooks]\npretxnclose-phase.no = false\n"));
    pair.push("");
    pair.same();
}

#[test]
fn a_hook_that_refuses_undoes_the_push() {
    let mut pair = Pair::new(OPEN);
    pair.both("bookmark -r 2 mark");
    for kind in KINDS.iter().filter(|kind| !kind.starts_with("txnclose-")) {
        let no = format!("{OPEN}[hooks]\n{kind}.no = echo no from {kind}; exit 3\n");
        pair.configure(&no);
        pair.commit(kind);
        pair.both("bookmark -f -r tip mark");
        let count = || pair.hg.ok(&pair.servers()[0], &["log", "-T", "."]).len();
        let before = count();
        let told = pair.push("-B mark");
        let is_asked = kind.starts_with("pre");
        assert_eq!(told.code, Some(if is_asked { 255 } else { 0 }), "{told}");
        assert_eq!(count() > before, !is_asked, "{kind}");
        if is_asked {
            assert_eq!(count(), before, "{kind}");
        }
    }
    pair.configure(OPEN);
    pair.push("-B mark");
    pair.same();
}

#[test]
fn hooks_see_what_is_pending() {
    let hg = hg_program().display().to_string();
    let look = format!(
        "{hg} log -r 'not public()' -T 'draft {{node|short}}\\n'; {hg} bookmarks; \
         {hg} tip -T '{{rev}}\\n'"
    );
    let kinds = ["pretxnchangegroup", "pretxnclose", "txnclose"];
    let lines = kinds.map(|kind| format!("{kind} = {look}\n"));
    let pair = Pair::new(&format!("{OPEN}[hooks]\n{}", lines.concat()));
    pair.commit("d");
    pair.both("bookmark -r 3 mark");
    let told = pair.push("-B mark").stdout;
    assert!(told.contains("remote: 3\n"), "{told}");
    assert!(told.contains("mark  "), "{told}");
    pair.same();
}

#[test]
fn hooks_of_strangers_and_in_python_are_not_run() {
    let pair = Pair::new(&format!("{OPEN}[hooks]\nincoming = python:os.getcwd\n"));
    pair.commit("d");
    let [ours, _] = pair.push_each("");
    let said = ours.0.failure();
    assert!(
        said.contains("incoming hook is in Python, which cannot be run here"),
        "{said}"
    );
    assert_eq!(pair.hg.ok(&pair.servers()[0], &["log", "-T", "."]), "...");
    let mut pair = pair;
    let ran = pair.site.path().join("ran");
    let hook = format!("{OPEN}[hooks]\nincoming = touch {}\n", ran.display());
    pair.configure(&hook);
    let hgrc = pair.servers()[0].join(".hg/hgrc");
    // Without the right to give files away, this part of the test is left out.
    if std::os::unix::fs::chown(&hgrc, Some(65534), None).is_ok() {
        let [ours, _] = pair.push_each("-f");
        assert!(!ran.exists(), "{}", ours.0);
    }
}

#[test]
fn access_is_controlled_by_the_name_of_the_client() {
    let hooks = "[hooks]\npretxnchangegroup.acl = python:hgext.acl.hook\n\
        prepushkey.acl = python:hgext.acl.hook\n";
    let rules = |rules: &str| format!("{OPEN}{hooks}{rules}");
    let mut pair = Pair::new(&rules("[acl.allow]\na = *\n"));
    pair.commit("d");
    pair.both("bookmark -r tip mark");
    let told = pair.push("").failure();
    assert!(told.contains("user \"\" not allowed on \"d\""), "{told}");
    pair.configure(&rules("[acl.deny.bookmarks]\nmark = *\n"));
    let told = pair.push("-B mark").failure();
    assert!(told.contains("denied on bookmark \"mark\""), "{told}");
    pair.configure(&rules("[acl]\nsources = push\n[acl.deny]\n** = *\n"));
    pair.push("-r 3").success();
    pair.same();
    // Only this server has users. A client logs in when it has to.
    pair.commit("e");
    let client = pair.clients()[0].clone();
    let named = pair.ours.admin_url("/hg/r");
    let closed = format!("[web]\npush_ssl = no\nallow-push = {ADMIN}\n{hooks}");
    pair.configure(&format!("{closed}[acl.allow]\n** = !{ADMIN}, other\n"));
    let refused = pair.hg.run(&client, &["push", &named]).failure();
    let words = format!("user \"{ADMIN}\" not allowed on \"e\"");
    assert!(refused.contains(&words), "{refused}");
    pair.configure(&format!("{closed}[acl.allow]\n** = {ADMIN}\n"));
    pair.hg.run(&client, &["push", &named]).success();
}
