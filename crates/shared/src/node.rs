//! One server of a store, and the object that names it.

use crate::error::SharedError;
use crate::format::nonce;
use std::fmt::Write;

/// Longest address in the store, in bytes.
const LONGEST_ADDRESS: usize = 300;

/// One server of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// 32 hexadecimal digits that no other server has. A second process with it may run only when the first has ended.
    pub id: String,
    /// Host and port where other servers reach it.
    pub address: String,
}

impl Node {
    /// Lines with id, address and a nonce, by which a process knows its own object from one of another process.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, SharedError> {
        let mut text = format!("id = {}\naddress = {}\nnonce = ", self.id, self.address);
        text.push_str(&random_hex()?);
        text.push('\n');
        Ok(text.into_bytes())
    }

    pub(crate) fn decode(key: &str, bytes: &[u8]) -> Result<Node, SharedError> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(" = "));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let is_plain = |address: &&str| {
            address.len() <= LONGEST_ADDRESS && address.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match (value("id"), value("address").filter(is_plain)) {
            (Some(id), Some(address)) => Ok(Node {
                id: id.to_owned(),
                address: address.to_owned(),
            }),
            _ => Err(SharedError::damaged(key, "it names no server")),
        }
    }
}

/// 32 hexadecimal digits that no other call returns.
///
/// # Errors
/// [`SharedError::NoRandom`].
pub(crate) fn random_hex() -> Result<String, SharedError> {
    let mut text = String::new();
    for byte in nonce()? {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
