//! Tests of the store over S3, against a server in memory that makes mistakes.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod contract;
mod faults;
mod opening;

use varve_s3::{S3Address, S3Error, S3Settings, S3Store};
use varve_testkit::s3::S3Server;

/// Opens a store with the variables of the environment of a server.
fn try_open(server: &S3Server, address: &str) -> Result<S3Store, S3Error> {
    let variables = server.variables();
    let find = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| value.clone())
    };
    let settings = S3Settings::from_variables(find)?;
    S3Store::connect(S3Address::parse(address)?, &settings)
}

fn open(server: &S3Server) -> S3Store {
    try_open(server, "s3://bucket/a/store").unwrap()
}
