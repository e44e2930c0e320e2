//! Servers whose certificates are trusted, or not.

use super::elsewhere::{Origin, empty, same_history};
use std::path::Path;

#[test]
fn certificates_are_checked() {
    let origin = Origin::rich();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hgcli/tls");
    let certificate = tls.join("server.pem");
    let options = [
        "-A",
        "/dev/null",
        "--certificate",
        certificate.to_str().unwrap(),
    ];
    let server = origin.hg().serve_with(&origin.path(), &options);
    // It says `http`, whatever it speaks.
    let url = &server.url().replace("http://", "https://");
    let twin = empty();
    let trusted = format!("web.cacerts={}", tls.join("authority.pem").display());
    twin.all_same(&[
        &format!("clone --config {trusted} {url} trusted"),
        &format!("identify --config {trusted} {url}"),
    ]);
    same_history(&twin, "trusted");
    let authority = tls.join("authority.pem").display().to_string();
    let own = format!("hostsecurity.localhost:verifycertsfile={authority}");
    let missing = "hostsecurity.localhost:verifycertsfile=/nonexistent";
    twin.all_same(&[
        &format!("identify --insecure {url}"),
        &format!("identify --insecure --config web.cacerts=/nonexistent {url}"),
        &format!("identify --insecure --config {missing} {url}"),
        &format!("clone --insecure {url} any"),
        &format!("-R any pull --insecure {url}"),
        &format!("-R any incoming --insecure {url}"),
        &format!("-R any outgoing --insecure {url}"),
        &format!("identify --config {own} {url}"),
        &format!("identify --config {missing} {url}"),
        &format!("identify --config web.cacerts=/nonexistent {url}"),
        &format!("identify --config {own} --config hostsecurity.minimumprotocol=tls1.1 {url}"),
        &format!("identify --config hostsecurity.minimumprotocol=ssl3 {url}"),
        &format!("identify --config hostsecurity.localhost:minimumprotocol=x {url}"),
    ]);
    let ciphers = ["identify", "--config", "hostsecurity.ciphers=x", url];
    let refused = twin.run(&ciphers).ours.stderr;
    assert_eq!(refused, "abort: hostsecurity.ciphers is not supported\n");
    let both = twin.run(&["clone", url, "strange"]);
    assert_eq!((both.ours.code, both.theirs.code), (Some(100), Some(100)));
    assert!(
        both.ours.stderr.contains("certificate"),
        "{}",
        both.ours.stderr
    );
    assert!(!twin.ours().join("strange").exists());
}

/// Hashes of the certificate in `self_signed.pem`.
const SHA1: &str = "73:B0:A7:36:09:26:E4:87:3C:EC:73:30:0C:E4:8F:47:E2:52:AE:9F";
const SHA256: &str = "4C:B1:A0:69:9C:6E:CD:44:A9:AF:06:49:09:02:34:13:0B:73:8F:4B:98:3D:9B:AD:1F:BA:DB:08:E0:99:6C:D2";
const SHA512: &str = "E9:07:45:47:B6:9A:A5:40:2E:E8:89:DF:6B:52:6D:44:8F:78:AA:7E:BC:2C:59:0B:DA:7E:40:BA:D1:29:17:09:08:C1:17:E5:20:D8:93:09:94:4A:97:AC:D4:5F:DD:5B:A9:E4:86:E7:E5:CF:35:53:26:B6:78:EA:CC:97:EE:E5";

/// `self_signed.pem` and `self_signed_expired.pem` are of `openssl req -x509`, which makes authorities.
#[test]
fn a_certificate_is_believed_by_itself_and_by_its_fingerprint() {
    let origin = Origin::rich();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hgcli/tls");
    let path = |name: &str| tls.join(name).to_str().unwrap().to_owned();
    let serve = |name: &str| {
        let options = ["-A", "/dev/null", "--certificate", &path(name)];
        let server = origin.hg().serve_with(&origin.path(), &options);
        let url = server.url().replace("http://", "https://");
        (server, url)
    };
    let (_server, url) = &serve("self_signed.pem");
    let twin = empty();
    let own = path("self_signed.pem");
    let trusted = format!("--config web.cacerts={own}");
    let host = "--config hostsecurity.localhost";
    let legacy = "--config hostfingerprints.localhost";
    twin.all_same(&[
        &format!("clone {trusted} {url} trusted"),
        &format!("identify {host}:verifycertsfile={own} {url}"),
        &format!("identify {host}:fingerprints=sha256:{SHA256} {url}"),
        &format!(
            "identify {host}:fingerprints=sha256:{} {url}",
            SHA256.replace(':', "").to_lowercase()
        ),
        &format!("identify {host}:fingerprints=sha1:{SHA1} {url}"),
        &format!("identify {host}:fingerprints=sha512:{SHA512} {url}"),
        &format!("identify {host}:fingerprints=sha256:00,sha1:{SHA1} {url}"),
        &format!("identify {host}:fingerprints=sha256:00 {url}"),
        &format!("clone {host}:fingerprints=sha256:00 {url} wrong"),
        &format!("identify --insecure {host}:fingerprints=sha256:00 {url}"),
        &format!("identify --insecure {host}:fingerprints=sha256:{SHA256} {url}"),
        &format!("identify {host}:fingerprints=md5:00 {url}"),
        &format!("identify {host}:fingerprints={SHA256} {url}"),
        &format!("identify {host}:fingerprints=sha256:{SHA256} --config web.cacerts=/none {url}"),
        &format!("identify {host}:fingerprints=sha256:{SHA256} {host}:verifycertsfile=/none {url}"),
        &format!("identify {legacy}={SHA1} {url}"),
        &format!("identify {legacy}=00:11 {url}"),
        &format!("identify {legacy}={SHA1} {host}:fingerprints=sha256:00 {url}"),
        &format!("identify {legacy}=00 {host}:fingerprints=sha256:{SHA256} {url}"),
        &format!("identify {legacy}=00 {host}:fingerprints=sha256:00 {url}"),
    ]);
    same_history(&twin, "trusted");
    assert!(!twin.ours().join("wrong").exists());
    // Names and times count for a certificate that is given itself, and another one is not it.
    let (_expired_server, expired) = &serve("self_signed_expired.pem");
    let elsewhere = url.replace("localhost", "127.0.0.1");
    let itself = path("self_signed_expired.pem");
    let refused = [
        // A name that is wrong is a matter of security, the rest of the connection.
        (format!("identify {trusted} {elsewhere}"), 150),
        (format!("identify {trusted} {expired}"), 100),
        (
            format!("identify --config web.cacerts={itself} {expired}"),
            100,
        ),
        (format!("identify {host}:fingerprints= {url}"), 100),
    ];
    for (line, code) in &refused {
        let both = twin.run(&line.split(' ').collect::<Vec<_>>());
        let codes = (both.ours.code, both.theirs.code);
        assert_eq!(
            codes,
            (Some(*code), Some(*code)),
            "{line}: {}",
            both.ours.stderr
        );
        assert!(
            both.ours.stderr.contains("certificate"),
            "{}",
            both.ours.stderr
        );
    }
}
