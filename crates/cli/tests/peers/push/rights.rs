//! Rights to push and to read.

use super::{OPEN, Pair};
use varve_testkit::varve::{ADMIN, PASSWORD};

#[test]
fn the_same_is_refused_in_the_same_words() {
    let mut pair = Pair::new("");
    pair.commit("d");
    for web in [
        "",
        "allow-push = *\n",
        "push_ssl = no\n",
        "push_ssl = no\nallow-push = *\ndeny_push = *\n",
        "push_ssl = no\nallow-push = *\nallow-pull = no\n",
        "deny_read = *\n",
        "push_ssl = no\nallow-push = *\ndeny_read = *\n",
    ] {
        pair.configure(&format!("[web]\n{web}"));
        assert_eq!(pair.push("").code, Some(255), "{web}");
        let pulls = pair.urls().map(|url| {
            let told = pair.hg.run(&pair.clients()[0], &["incoming", &url]);
            (told.code, told.stderr)
        });
        assert_eq!(pulls[0], pulls[1], "{web}");
    }
    for web in [
        "allow-push = *",
        "allow_push = *",
        "allow-push = *\nallow_read = *",
    ] {
        pair.configure(&format!("[web]\npush_ssl = no\n{web}\n"));
        assert_eq!(pair.push("-r 0").code, Some(1), "{web}");
    }
    pair.push("").success();
    pair.same();
}

#[test]
fn those_with_a_login_push_if_they_are_named() {
    let mut pair = Pair::new(OPEN);
    pair.commit("d");
    let client = &pair.clients()[0];
    let named = pair.ours.admin_url("/hg/r");
    let nobody = pair.ours.url("/hg/r");
    let push = |pair: &Pair, url: &str| pair.hg.run(client, &["push", "-r", "3", url]);
    for (web, word) in [
        ("deny_push = *", "authorization failed"),
        ("allow-push = somebody", "authorization failed"),
        (
            &format!("allow-push = *\ndeny_push = {ADMIN}"),
            "authorization failed",
        ),
        (
            "allow-push = *\nallow_read = somebody",
            "authorization failed",
        ),
    ] {
        pair.configure(&format!("[web]\npush_ssl = no\n{web}\n"));
        let said = push(&pair, &named).failure();
        assert!(said.contains(word), "{web}: {said}");
    }
    pair.configure(&format!(
        "[web]\npush_ssl = no\nallow-push = {ADMIN}\n[hooks]\nincoming = echo $HG_URL\n"
    ));
    let said = push(&pair, &nobody).failure();
    assert!(said.contains("http authorization required"), "{said}");
    let wrong = named.replace(PASSWORD, "wrong");
    push(&pair, &wrong).failure();
    let told = push(&pair, &named).success();
    assert!(
        told.contains(&format!("remote: remote:http:127.0.0.1:{ADMIN}\n")),
        "{told}"
    );
}

#[test]
fn users_of_the_server_read_and_push_as_they_are_named() {
    let mut pair = Pair::new(OPEN);
    pair.commit("d");
    let mut admin = pair.ours.admin();
    for name in ["ada", "bob"] {
        let user = serde_json::json!({
            "type": "user", "name": name, "password": format!("{name}'s word"), "roles": [],
        });
        let path = format!("/_users/org.couchdb.user:{name}");
        admin.put(&path, &user).expect_status(201);
    }
    let url = |pair: &Pair, login: &str| {
        let url = pair.ours.url("/hg/r");
        url.replace("://", &format!("://{login}@"))
    };
    let client = pair.clients()[0].clone();
    let run = |pair: &Pair, words: [&str; 3], login: &str| {
        let url = url(pair, login);
        pair.hg.run(&client, &[words[0], words[1], words[2], &url])
    };
    let (ada, bob) = ("ada:ada's%20word", "bob:bob's%20word");
    let push = ["push", "-r", "3"];
    let look = ["incoming", "--limit", "1"];
    pair.configure("[web]\npush_ssl = no\nallow-push = ada\nallow_read = ada, bob\n");
    let said = run(&pair, push, bob).failure();
    assert!(said.contains("authorization failed"), "{said}");
    let said = run(&pair, push, "ada:bob's%20word").failure();
    assert!(said.contains("authorization failed"), "{said}");
    // Nothing is new, which is no failure of theirs.
    assert_eq!(run(&pair, look, bob).code, Some(1));
    let told = run(&pair, push, ada).success();
    assert!(told.contains("added 1 changesets"), "{told}");
    pair.configure("[web]\ndeny_read = bob\n");
    assert_eq!(run(&pair, look, ada).code, Some(1));
    let said = run(&pair, look, bob).failure();
    assert!(said.contains("authorization failed"), "{said}");
}

#[test]
fn what_an_included_file_may_forbid_is_not_done() {
    let mut pair = Pair::new(OPEN);
    pair.commit("d");
    pair.configure(&format!("{OPEN}%include ../rights\n"));
    let [ours, _] = pair.push_each("");
    assert!(ours.0.failure().contains("authorization failed"));
}

#[test]
fn only_a_post_over_tls_pushes() {
    let pair = Pair::new("[web]\nallow-push = *\n");
    let mut client = pair.ours.anonymous();
    let answer = client.get("/hg/r?cmd=unbundle&heads=666f726365");
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (405, "0\npush requires POST request\n")
    );
}
