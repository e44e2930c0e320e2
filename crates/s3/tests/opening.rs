//! Opening a store that cannot be used.

use crate::{open, try_open};
use varve_s3::{S3Address, S3Error, S3Settings, S3Store};
use varve_shared::{SharedError, probe};
use varve_testkit::s3::{Fault, S3Server};

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    let server = S3Server::start();
    server.ignore_conditions();
    let store = open(&server);
    let refused = probe(&store).unwrap_err();
    assert!(matches!(refused, SharedError::NoExclusiveCreate { .. }));
    assert!(
        refused
            .to_string()
            .starts_with("s3://bucket/a/store cannot be shared")
    );
}

#[test]
fn what_is_wrong_is_said_at_once() {
    let server = S3Server::start();
    let missing = try_open(&server, "s3://other/x").unwrap_err();
    assert!(matches!(&missing, S3Error::NoBucket { bucket, .. } if bucket == "other"));
    server.fail("GET", [Fault::Refuse(403, "AccessDenied")]);
    let forbidden = try_open(&server, "s3://bucket/x").unwrap_err().to_string();
    assert!(
        forbidden.contains("403 AccessDenied: on purpose")
            && forbidden.contains("AWS_ACCESS_KEY_ID"),
        "{forbidden}"
    );
    server.fail("GET", [Fault::Refuse(301, "PermanentRedirect")]);
    let elsewhere = try_open(&server, "s3://bucket/x").unwrap_err().to_string();
    assert!(elsewhere.contains("301 PermanentRedirect"), "{elsewhere}");
    server.fail("GET", [const { Fault::Answer(b"<html>no S3</html>") }; 8]);
    assert!(try_open(&server, "s3://bucket/x").is_err());
    let endpoint = server.endpoint();
    drop(server);
    let find = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(endpoint.clone()),
        _ => Some("true".to_owned()).filter(|_| name == "AWS_ALLOW_HTTP" || name.contains("KEY")),
    };
    let settings = S3Settings::from_variables(find).unwrap();
    let address = S3Address::parse("s3://bucket/x").unwrap();
    let unreachable = S3Store::connect(address, &settings).unwrap_err();
    assert!(matches!(unreachable, S3Error::NoAnswer(_)), "{unreachable}");
}

#[test]
fn certificates_that_are_none_are_refused() {
    let scratch = tempfile::NamedTempFile::new().unwrap();
    let path = scratch.path().to_str().unwrap().to_owned();
    let find = |name: &str| match name {
        "AWS_CA_BUNDLE" => Some(path.clone()),
        "AWS_REGION" => Some("r".to_owned()),
        _ => Some("x".to_owned()).filter(|_| name.contains("_KEY")),
    };
    let settings = S3Settings::from_variables(find).unwrap();
    let address = S3Address::parse("s3://bucket/x").unwrap();
    let refused = S3Store::connect(address, &settings).unwrap_err();
    assert!(matches!(refused, S3Error::Authorities { .. }), "{refused}");
}
