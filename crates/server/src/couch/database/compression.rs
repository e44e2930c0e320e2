//! How one database is compressed: `/{db}/_compression`. CouchDB has one setting for all.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::{Method, StatusCode};
use varve_codec::{CodecId, EngineSetting};
use varve_docdb::{ChunkForm, Compression};
use varve_json::Value;

use crate::couch::call::Call;
use crate::couch::changes::sequence::write_number;
use crate::{Answer, Failure};

/// Microseconds in a second.
const MICROSECONDS: u64 = 1_000_000;

/// Reads the name of a setting.
///
/// # Errors
/// 400 with all names that there are.
pub fn parse(name: &str) -> Result<EngineSetting, Failure> {
    name.parse().map_err(|possible| {
        Failure::bad_request(format!("`compression` must be one of {possible}"))
    })
}

/// Answers GET and PUT of `/{db}/_compression`.
///
/// # Errors
/// 400 for an unknown setting; 401 or 403 unless the user is an admin.
pub fn answer(call: &Call) -> Result<Answer, Failure> {
    let documents = &call.database.documents;
    if call.request.method == Method::PUT {
        call.check_admin()?;
        let chosen = match varve_json::parse(&call.request.body)? {
            Value::Null => None,
            Value::String(name) => Some(parse(&name)?),
            _ => Some(parse("")?),
        };
        documents.set_compression(chosen)?;
        return Ok(Answer::ok(StatusCode::OK));
    }
    let mut body = Vec::new();
    write(&documents.compression()?, &mut body);
    Ok(Answer::json(StatusCode::OK, body))
}

fn write(compression: &Compression, out: &mut Vec<u8>) {
    let setting = compression.setting;
    out.extend_from_slice(b"{\"compression\":");
    varve_json::write_string(&setting.to_string(), out);
    out.extend_from_slice(b",\"codec\":");
    varve_json::write_string(ChunkForm::Plain(setting.codec()).name(), out);
    out.extend_from_slice(b",\"level\":");
    match setting.codec() {
        CodecId::None | CodecId::Snappy => out.extend_from_slice(b"null"),
        // Settings are read from names, so the level is at least 1.
        CodecId::Zlib | CodecId::Zstd => {
            write_number(u64::from(setting.level().unsigned_abs()), out);
        }
    }
    out.extend_from_slice(match compression.is_own {
        true => b",\"set_for\":\"database\",\"bodies\":",
        false => b",\"set_for\":\"server\",\"bodies\":",
    });
    match compression.found {
        Some(found) => varve_json::write_string(&found.to_string(), out),
        None => out.extend_from_slice(b"null"),
    }
    write_dictionaries(compression, out);
    write_chunks(compression, out);
    out.extend_from_slice(b",\"sizes\":{\"external\":");
    write_number(compression.external, out);
    out.extend_from_slice(b",\"stored\":");
    write_number(compression.stored, out);
    out.extend_from_slice(b"},\"ratio\":");
    match compression.ratio() {
        Some(ratio) => out.extend_from_slice(format!("{ratio:.3}").as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b"}\n");
}

/// Writes the dictionaries in the file, the one in use last; their ages are in seconds.
fn write_dictionaries(compression: &Compression, out: &mut Vec<u8>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    out.extend_from_slice(b",\"dictionaries\":[");
    for (index, dictionary) in compression.dictionaries.iter().enumerate() {
        let members = [
            (&b"{\"number\":"[..], u64::from(dictionary.number)),
            (b",\"bytes\":", dictionary.stored),
            (
                b",\"age\":",
                now.saturating_sub(dictionary.trained / MICROSECONDS),
            ),
            (b",\"documents\":", dictionary.documents),
        ];
        if index > 0 {
            out.push(b',');
        }
        for (name, number) in members {
            out.extend_from_slice(name);
            write_number(number, out);
        }
        out.push(b'}');
    }
    out.push(b']');
}

/// Writes the chunks in the file by codec; codecs without a chunk are left out.
fn write_chunks(compression: &Compression, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"chunks\":");
    let Some(chunk_stats) = &compression.chunk_stats else {
        return out.extend_from_slice(b"null");
    };
    let mut before = b'{';
    for form in ChunkForm::ALL {
        let count = chunk_stats.of(form);
        if count.chunks > 0 {
            out.push(before);
            varve_json::write_string(form.name(), out);
            out.extend_from_slice(b":{\"chunks\":");
            write_number(count.chunks, out);
            out.extend_from_slice(b",\"bytes\":");
            write_number(count.bytes, out);
            out.push(b'}');
            before = b',';
        }
    }
    out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
}
