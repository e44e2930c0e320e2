//! Repositories over HTTP, as far as that can be seen without Mercurial.

use crate::client::{ADMIN, Running};

#[test]
fn there_is_nothing_outside_of_repos() {
    let server = Running::start();
    for path in [
        "/hg/none",
        "/hg/../varve.ini",
        "/hg/%2e%2e/databases",
        "/hg/a%2F..%2Fb",
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(!reply.body.contains("secret"), "{}", reply.body);
    }
    let index = server.get("/hg");
    assert_eq!(
        index.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(server.send("PUT", "/hg/none", &[ADMIN], "x").status, 405);
}

#[test]
fn an_unknown_requirement_is_refused_by_name() {
    let server = Running::start();
    let hg = server.directory.path().join("repos/team/new/.hg");
    std::fs::create_dir_all(&hg).unwrap();
    std::fs::write(hg.join("requires"), "revlogv1\nexp-from-the-future\n").unwrap();
    let reply = server.get("/hg/team/new?cmd=capabilities");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/hg-error"));
    assert!(reply.body.contains("exp-from-the-future"), "{}", reply.body);
}

/// Makes a repository without changesets; its configuration is `web`.
fn repository(server: &Running, name: &str, web: &str) {
    let hg = server.directory.path().join("repos").join(name).join(".hg");
    std::fs::create_dir_all(hg.join("store")).unwrap();
    let requires = "dotencode\nfncache\ngeneraldelta\nrevlogv1\nstore\n";
    std::fs::write(hg.join("requires"), requires).unwrap();
    if !web.is_empty() {
        std::fs::write(hg.join("hgrc"), format!("[web]\n{web}\n")).unwrap();
    }
}

/// The paths that the list of repositories links to.
fn listed(server: &Running, headers: &[(&str, &str)]) -> Vec<String> {
    let page = server.send("GET", "/hg", headers, "");
    assert_eq!(page.status, 200, "{}", page.body);
    let links = page.body.split("<a href=\"/hg/").skip(1);
    let path = |link: &str| link.split('"').next().unwrap().to_owned();
    links.map(path).collect()
}

#[test]
fn the_list_names_what_its_reader_may_read() {
    let server = Running::start();
    repository(&server, "plain", "");
    repository(&server, "plain/nested", "");
    repository(&server, "everybody", "allow_read = *");
    repository(&server, "denied", "deny_read = bob");
    repository(&server, "nobody", "deny_read = *");
    repository(&server, "adm", "allow_read = adm");
    repository(&server, "hidden", "hidden = yes");
    repository(&server, "broken", "hidden = perhaps");
    let outside = server.directory.path().join("outside");
    std::fs::create_dir_all(outside.join(".hg")).unwrap();
    std::os::unix::fs::symlink(outside, server.directory.path().join("repos/link")).unwrap();
    let all = ["everybody", "plain", "plain/nested"];
    // Also from what is remembered.
    for _ in 0..2 {
        assert_eq!(listed(&server, &[]), all);
        assert_eq!(
            listed(&server, &[ADMIN]),
            ["adm", "denied", "everybody", "plain", "plain/nested"]
        );
    }
    for name in all {
        assert_eq!(server.get(&format!("/hg/{name}")).status, 200, "{name}");
    }
    assert_eq!(server.get("/hg/link").status, 404);
    // A change counts at once.
    repository(&server, "everybody", "allow_read = adm");
    std::fs::remove_file(server.directory.path().join("repos/hidden/.hg/hgrc")).unwrap();
    assert_eq!(listed(&server, &[]), ["hidden", "plain", "plain/nested"]);
}

#[test]
fn name_description_and_contact_stand_in_both_pages() {
    let server = Running::start();
    let web = "name = <b>\ndescription = Says \"<i>\"\ncontact = ada <a@b>";
    repository(&server, "r", web);
    let list = server.get("/hg").body;
    let cells = [
        "<td><a href=\"/hg/r\">&#60;b&#62;</a></td>",
        "<td>Says &#34;&#60;i&#62;&#34;</td>",
        "<td>ada &#60;a@b&#62;</td>",
    ];
    assert!(list.contains(&cells.concat()), "{list}");
    let page = server.get("/hg/r").body;
    for words in [
        "<h1>&#60;b&#62;</h1>",
        "<p class=\"lead\">Says &#34;&#60;i&#62;&#34;</p>",
        "Contact: ada &#60;a@b&#62;",
    ] {
        assert!(page.contains(words), "{page}");
    }
}

#[test]
fn answers_about_damage_name_no_path_of_the_server() {
    let server = Running::start();
    repository(&server, "r", "");
    let root = server.directory.path().to_str().unwrap();
    let changelog = server
        .directory
        .path()
        .join("repos/r/.hg/store/00changelog.i");
    std::fs::create_dir(&changelog).unwrap();
    for path in ["/hg/r?cmd=heads", "/hg/r?cmd=capabilities", "/hg/r"] {
        let reply = server.get(path);
        assert!(!reply.body.contains(root), "{}", reply.body);
    }
    let told = server.told().join("\n");
    assert!(told.contains("repos/r/.hg/store/00changelog.i"), "{told}");
}
