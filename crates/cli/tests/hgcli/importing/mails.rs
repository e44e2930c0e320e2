//! Messages and files with several of them.

use super::same_import;

const DIFF: &str = "--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n-x\n+xx\n y\n";
const NEXT: &str = "--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n-xx\n+xxx\n y\n";
const HEADER: &str = "# HG changeset patch\n# User The User <u@x>\n# Date 1234 -3600\n#      Thu Jan 01\n# Branch foo\n\
    # Node ID 1111\n# Parent  2222\n# EOL unix\nthe desc\n\nmore  \n";

#[test]
fn headers_of_changesets_are_read() {
    let one = format!("{HEADER}{DIFF}");
    for words in [
        "",
        "-u me -m mine --import-branch",
        "-u me --secret",
        "--bypass --import-branch",
        "-d 5",
    ] {
        same_import(one.as_bytes(), words);
    }
    for before in [
        "\n",
        "words\n",
        "words\n\n",
        "From: Joe\nSubject: [PATCH] s\n\nintro\n",
    ] {
        same_import(format!("{before}{one}").as_bytes(), "");
    }
    for text in [
        format!("{one}\n{}{NEXT}", HEADER.replace("the", "2nd")),
        format!("# HG changeset patch\n# User  sp  \ndesc\n# none\n\n---\nhidden\n\n{DIFF}"),
        format!("# HG changeset patch\n# Date rubbish\ndesc\n\n{DIFF}"),
        "# HG changeset patch\r\n# User z\r\nwords\r\n\r\ndiff -r 1 crlf\r\n--- a/crlf\r\n+++ b/crlf\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+aa\r\n b\r\n".to_owned(),
    ] {
        same_import(text.as_bytes(), "");
    }
}

#[test]
fn mails_are_read() {
    for text in [
        format!("From: Joe <joe@x>\nSubject: [PATCH 1 of 3] fix the\n  thing\nDate: Mon\n\nbody\nmore\n\n---\n g | 1\n\n{DIFF}"),
        format!("From: Joe <j@x>\nSubject: qp\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nhello=20w=C3=A9rld =3D\n{}", DIFF.replace("xx", "x=78")),
        format!("From: J\nContent-Type: text/plain; charset=iso-8859-1\nSubject: =?iso-8859-1?q?caf=E9_x?= =?iso-8859-1?q?=E9?= z\n\nbody\n{DIFF}"),
        format!("random: header\nsecond line: foo\n\nthird\n{DIFF}"),
        format!("random: header\nsecond: foo\n\nthird\n{DIFF}"),
        format!("first line\n\nthird: x\n\n{DIFF}trailing\n\ndiff -r x\n"),
        format!("Subject: x\n\nx: y\n\nIndex: g\n====\n{DIFF}"),
        format!("Subject: y\nfoo\n{DIFF}trailing\n\nSubject: z\nFrom: y\n\nfoo\n{NEXT}"),
        "Subject: crlf\r\nFrom: z\r\n\r\nwords\r\n\r\n--- a/crlf\r\n+++ b/crlf\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+aa\r\n b\r\n".to_owned(),
    ] {
        same_import(text.as_bytes(), "");
    }
    let latin = [b"Subject: l\n\nb\xe9dy\n", DIFF.as_bytes()].concat();
    same_import(&latin, "");
}

#[test]
fn mailboxes_and_parts_are_read() {
    let base64 = "LS0tIGEvZworKysgYi9nCkBAIC0xLDIgKzEsMiBAQAoteAoreHgKIHkK";
    for text in [
        format!(
            "From foo Mon\nFrom: Joe <joe@x>\nSubject: =?utf-8?q?caf=C3=A9?=\n\nbody\n{DIFF}\nFrom foo Mon\nFrom: =?utf-8?b?SsO8cmdlbg==?= <joe@x>\nSubject: PATCH second\n\nbody\n{NEXT}"
        ),
        format!(
            "From: J\nSubject: m\nContent-Type: multipart/mixed; boundary=\"BB\"\n\npre\n--BB\nContent-Type: text/plain\n\ntext part\n--BB\nContent-Type: text/x-patch\nContent-Transfer-Encoding: base64\n\n{base64}\n--BB--\nend\n"
        ),
        format!(
            "From: J\nSubject: m\nContent-Type: multipart/alternative; boundary=BB\n\n--BB\nContent-Type: text/html\n\n{DIFF}\n--BB\n\nwords\n--BB\nContent-Type: text/x-diff\n\n{DIFF}\n--BB--\n"
        ),
    ] {
        same_import(text.as_bytes(), "-m given");
        same_import(text.as_bytes(), "");
    }
}
