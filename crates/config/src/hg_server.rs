//! `[server]` and `[storage]`: how repositories are served.

use crate::setting::{level, or};
use crate::{ConfigError, Ini, Setting};

/// `[server]` and `[storage]`: how repositories are served, and how what is pushed is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HgServer {
    /// `uncompressed`: whether stream clones are allowed; default true.
    pub uncompressed: bool,
    /// `uncompressedallowsecret`: also when there are secret changesets; default false.
    pub uncompressed_allow_secret: bool,
    /// `disablefullbundle`: whether clones must be streams or begin with a clone bundle; default false.
    pub disable_full_bundle: bool,
    /// `pullbundle`: whether pulls are answered with bundles of `.hg/pullbundles.manifest`; default true.
    pub pull_bundle: bool,
    /// `preferuncompressed`: whether clients that leave it open are told to stream; default false.
    pub prefer_uncompressed: bool,
    /// `bundle2.stream`: whether streams are offered within bundles; default true.
    pub bundle2_stream: bool,
    /// `concurrent-push-mode`: whether pushes race only where they change the same heads (`check-related`, the default)
    /// or always (`strict`).
    pub compares_heads: bool,
    /// `maxhttpheaderlen`: bytes of a header that clients send at most; default 1024.
    pub max_http_header_len: i64,
    /// `compressionengines` in order of preference; empty means the default order.
    pub compression_engines: Vec<String>,
    /// `zliblevel` of answers, -1 to 9; -1 is zlib's own default.
    pub zlib_level: i32,
    /// `zstdlevel` of answers, 1 to 22; default 3.
    pub zstd_level: i32,
    /// `[storage] revlog.zlib.level`, 0 to 9.
    pub revlog_zlib_level: Option<i32>,
    /// `[storage] revlog.zstd.level`, 0 to 22.
    pub revlog_zstd_level: Option<i32>,
}

impl HgServer {
    /// The value of a setting of `[storage]`, as it would stand in a repository's configuration.
    pub fn storage(&self, key: &str) -> Option<String> {
        let level = match key {
            "revlog.zlib.level" => self.revlog_zlib_level,
            "revlog.zstd.level" => self.revlog_zstd_level,
            _ => None,
        };
        level.map(|level| level.to_string())
    }
}

impl Default for HgServer {
    fn default() -> HgServer {
        HgServer {
            uncompressed: true,
            uncompressed_allow_secret: false,
            disable_full_bundle: false,
            pull_bundle: true,
            prefer_uncompressed: false,
            bundle2_stream: true,
            compares_heads: true,
            max_http_header_len: 1024,
            compression_engines: Vec::new(),
            zlib_level: -1,
            zstd_level: 3,
            revlog_zlib_level: None,
            revlog_zstd_level: None,
        }
    }
}

pub(super) fn hg_server(ini: &Ini) -> Result<HgServer, ConfigError> {
    let server = |key| ini.get("server", key);
    let engines = server("compressionengines");
    let usual = HgServer::default();
    let switch = |key, usual| or(server(key), Setting::boolean, usual);
    Ok(HgServer {
        uncompressed: switch("uncompressed", usual.uncompressed)?,
        uncompressed_allow_secret: switch(
            "uncompressedallowsecret",
            usual.uncompressed_allow_secret,
        )?,
        disable_full_bundle: switch("disablefullbundle", usual.disable_full_bundle)?,
        pull_bundle: switch("pullbundle", usual.pull_bundle)?,
        prefer_uncompressed: switch("preferuncompressed", usual.prefer_uncompressed)?,
        bundle2_stream: switch("bundle2.stream", usual.bundle2_stream)?,
        compares_heads: or(server("concurrent-push-mode"), push_mode, true)?,
        max_http_header_len: or(
            server("maxhttpheaderlen"),
            |setting| setting.number(0..=1 << 20),
            1024,
        )?,
        compression_engines: or(engines, known_engines, Vec::new())?,
        zlib_level: level(server("zliblevel"), -1, 9)?.unwrap_or(usual.zlib_level),
        zstd_level: level(server("zstdlevel"), 1, 22)?.unwrap_or(usual.zstd_level),
        revlog_zlib_level: level(ini.get("storage", "revlog.zlib.level"), 0, 9)?,
        revlog_zstd_level: level(ini.get("storage", "revlog.zstd.level"), 0, 22)?,
    })
}

/// The races of pushes that `concurrent-push-mode` means: only about the same heads, or any.
fn push_mode(setting: &Setting) -> Result<bool, ConfigError> {
    match setting.value.as_str() {
        "check-related" => Ok(true),
        "strict" => Ok(false),
        _ => Err(setting.refuse("strict or check-related")),
    }
}

fn known_engines(setting: &Setting) -> Result<Vec<String>, ConfigError> {
    let engines = setting.list();
    let known = |name: &String| ["zstd", "zlib", "none"].contains(&name.as_str());
    if engines.iter().all(known) {
        Ok(engines)
    } else {
        Err(setting.refuse("a list of zstd, zlib and none"))
    }
}
