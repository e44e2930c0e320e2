//! `[server]` and `[storage]` of a repository's own configuration, in front of what the server usually does.

use super::WireSettings;
use varve_config::hgrc::{Hgrc, HgrcError};

const SECTION: &str = "server";

/// A setting with values that this server cannot act on.
struct OneWay {
    key: &'static str,
    /// The value that the server acts on.
    does: bool,
    /// Behind "server.KEY is not".
    expected: &'static str,
}

const ONE_WAY: &[OneWay] = &[
    OneWay {
        key: "validate",
        does: false,
        expected: "off, as this server does not look for file revisions that a push lacks",
    },
    OneWay {
        key: "streamunbundle",
        does: false,
        expected: "off, as this server has all of a push before it applies it",
    },
    OneWay {
        key: "bookmarks-pushkey-compat",
        does: true,
        expected: "on, as this server calls the hooks of keys for pushed bookmarks",
    },
];

impl WireSettings {
    /// These settings, unless a repository's configuration says otherwise.
    ///
    /// # Errors
    /// [`HgrcError::Value`], also for settings that this server cannot act on.
    pub fn with_configuration(self, values: &Hgrc) -> Result<WireSettings, HgrcError> {
        refuse(values)?;
        let switch = |key, usual| values.boolean(SECTION, key, usual);
        let header_len = values.integer(SECTION, "maxhttpheaderlen")?;
        let compares_heads = match values.get(SECTION, "concurrent-push-mode") {
            Some(mode) => mode == b"check-related",
            None => self.compares_heads,
        };
        Ok(WireSettings {
            stream_clones: switch("uncompressed", self.stream_clones)?,
            streams_secret: switch("uncompressedallowsecret", self.streams_secret)?,
            prefers_streams: switch("preferuncompressed", self.prefers_streams)?,
            bundle2_streams: switch("bundle2.stream", self.bundle2_streams)?,
            full_bundles: !switch("disablefullbundle", !self.full_bundles)?,
            pull_bundles: switch("pullbundle", self.pull_bundles)?,
            http_header_len: header_len.unwrap_or(self.http_header_len),
            compares_heads,
            announces_delta_compression: values.boolean(
                "storage",
                "revlog.exchange-compressed-delta",
                self.announces_delta_compression,
            )?,
            ..self
        })
    }
}

fn refuse(values: &Hgrc) -> Result<(), HgrcError> {
    for OneWay {
        key,
        does,
        expected,
    } in ONE_WAY
    {
        if values.boolean(SECTION, key, *does)? != *does {
            return Err(wrong(values, key, expected));
        }
    }
    match values.get(SECTION, "view") {
        None | Some(b"" | b"served") => Ok(()),
        Some(_) => Err(wrong(
            values,
            "view",
            "served, the only view that clients get here",
        )),
    }
}

fn wrong(values: &Hgrc, key: &str, expected: &'static str) -> HgrcError {
    let found = values.get(SECTION, key).unwrap_or_default();
    HgrcError::Value {
        section: SECTION.to_owned(),
        key: key.to_owned(),
        expected,
        found: String::from_utf8_lossy(found).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<WireSettings, String> {
        let mut values = Hgrc::default();
        values
            .add_argument(format!("server.{line}").as_bytes())
            .unwrap();
        let settings = WireSettings::default().with_configuration(&values);
        settings.map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for same in [
            "view=served",
            "validate=no",
            "streamunbundle=false",
            "bookmarks-pushkey-compat=yes",
            "concurrent-push-mode=check-related",
        ] {
            assert_eq!(read(same), Ok(WireSettings::default()), "{same}");
        }
        for (other, key) in [
            ("view=immutable", "server.view"),
            ("validate=yes", "server.validate"),
            ("streamunbundle=1", "server.streamunbundle"),
            (
                "bookmarks-pushkey-compat=no",
                "server.bookmarks-pushkey-compat",
            ),
        ] {
            let words = read(other).unwrap_err();
            assert!(words.starts_with(key), "{words}");
        }
    }

    #[test]
    fn each_switch_turns_its_own_way() {
        let usual = WireSettings::default();
        let settings = read("preferuncompressed=yes").unwrap();
        assert!(settings.prefers_streams && !usual.prefers_streams);
        assert!(!read("bundle2.stream=no").unwrap().bundle2_streams && usual.bundle2_streams);
        let settings = read("concurrent-push-mode=strict").unwrap();
        assert!(!settings.compares_heads && usual.compares_heads);
        assert!(!read("disablefullbundle=yes").unwrap().full_bundles && usual.full_bundles);
        assert_eq!(read("maxhttpheaderlen=99").unwrap().http_header_len, 99);
    }
}
