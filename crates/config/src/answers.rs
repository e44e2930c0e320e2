//! How answers leave the server: JSONP, buffering, compression, HTTP/2 under TLS.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};

/// How answers leave the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// `[chttpd] allow_jsonp`: whether `callback` makes a script of JSON; default false.
    pub allow_jsonp: bool,
    /// `[chttpd] buffer_response`: whether the end of a streamed body is awaited before its status is sent, so that a late
    /// failure still has one; default false.
    pub buffer: bool,
    /// `[varve] compress_answers`: whether bodies are compressed for clients that accept it; default true.
    pub compress: bool,
    /// `[ssl] http2`: whether TLS offers HTTP/2; default true.
    pub http2: bool,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers {
            allow_jsonp: false,
            buffer: false,
            compress: true,
            http2: true,
        }
    }
}

pub(crate) fn read(ini: &Ini) -> Result<Answers, ConfigError> {
    let usual = Answers::default();
    let httpd = |key| {
        let newer = ini.get("chttpd", key);
        newer.or_else(|| ini.get("httpd", key))
    };
    let varve = |key| ini.get("varve", key);
    Ok(Answers {
        allow_jsonp: or(httpd("allow_jsonp"), Setting::boolean, usual.allow_jsonp)?,
        buffer: or(httpd("buffer_response"), Setting::boolean, usual.buffer)?,
        compress: or(varve("compress_answers"), Setting::boolean, usual.compress)?,
        http2: or(ini.get("ssl", "http2"), Setting::boolean, usual.http2)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_switch_is_read_from_its_section() {
        let read = |text: &str| super::read(&Ini::parse(Path::new("varve.ini"), text).unwrap());
        assert_eq!(read("").unwrap(), Answers::default());
        let older = read("[httpd]\nallow_jsonp = true\nbuffer_response = true\n").unwrap();
        assert!(older.allow_jsonp && older.buffer);
        let newer = "[httpd]\nallow_jsonp = true\n[chttpd]\nallow_jsonp = false\n";
        assert!(!read(newer).unwrap().allow_jsonp);
        let off = read("[varve]\ncompress_answers = false\n[ssl]\nhttp2 = false\n").unwrap();
        assert!(!off.compress && !off.http2);
        assert!(read("[ssl]\nhttp2 = maybe\n").is_err());
    }
}
