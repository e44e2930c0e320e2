//! Engine settings as users write them: `none`, `snappy`, `deflate_1` … `zstd_22`.

use crate::CodecId;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A codec with its level. `Display` gives the spelling that [`FromStr`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EngineSetting {
    codec: CodecId,
    level: i32,
}

/// Default level of zlib, as in zlib itself.
const ZLIB_DEFAULT: i32 = 6;
/// Default level of zstd, as in zstd itself.
const ZSTD_DEFAULT: i32 = 3;

/// A value that names no codec and level of this build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("none, snappy, deflate_1 to deflate_9, zstd or zstd_1 to zstd_22")]
pub struct SettingError;

/// Levels that a codec takes; codecs without levels have the single level 0.
fn levels(codec: CodecId) -> RangeInclusive<i32> {
    match codec {
        CodecId::None | CodecId::Snappy => 0..=0,
        CodecId::Zlib => 0..=9,
        CodecId::Zstd => 0..=22,
    }
}

impl EngineSetting {
    /// No compression.
    pub const NONE: EngineSetting = EngineSetting {
        codec: CodecId::None,
        level: 0,
    };
    /// Snappy, which has no levels.
    pub const SNAPPY: EngineSetting = EngineSetting {
        codec: CodecId::Snappy,
        level: 0,
    };
    /// zlib at its default level.
    pub const ZLIB: EngineSetting = EngineSetting {
        codec: CodecId::Zlib,
        level: ZLIB_DEFAULT,
    };
    /// zstd at its default level.
    pub const ZSTD: EngineSetting = EngineSetting {
        codec: CodecId::Zstd,
        level: ZSTD_DEFAULT,
    };

    /// A codec at a level: zlib 0 to 9, zstd 0 to 22 (0 is zstd's own default), others only 0.
    ///
    /// # Errors
    /// [`SettingError`] if the codec has no such level.
    pub fn new(codec: CodecId, level: i32) -> Result<Self, SettingError> {
        if levels(codec).contains(&level) {
            Ok(Self { codec, level })
        } else {
            Err(SettingError)
        }
    }

    /// Which codec compresses, without its level.
    pub fn codec(self) -> CodecId {
        self.codec
    }

    /// The level as given to the codec.
    pub fn level(self) -> i32 {
        self.level
    }

    /// The same codec at its fastest level that compresses, for short-lived data.
    #[must_use]
    pub fn fastest(self) -> Self {
        let level = match self.codec {
            CodecId::None | CodecId::Snappy => 0,
            // Level 0 does not compress.
            CodecId::Zlib => self.level.min(1),
            CodecId::Zstd => 1,
        };
        Self { level, ..self }
    }

    /// Every setting that the configuration accepts, in the order of a table for people.
    pub fn all() -> impl Iterator<Item = EngineSetting> {
        let zlib = (1..=9).map(|level| EngineSetting {
            codec: CodecId::Zlib,
            level,
        });
        let zstd = (1..=22).map(|level| EngineSetting {
            codec: CodecId::Zstd,
            level,
        });
        [Self::NONE, Self::SNAPPY]
            .into_iter()
            .chain(zlib)
            .chain(zstd)
    }
}

impl fmt::Display for EngineSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.codec {
            CodecId::None => f.write_str("none"),
            CodecId::Snappy => f.write_str("snappy"),
            CodecId::Zlib => write!(f, "deflate_{}", self.level),
            CodecId::Zstd => write!(f, "zstd_{}", self.level),
        }
    }
}

impl FromStr for EngineSetting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        match text {
            "zstd" => Ok(Self::ZSTD),
            _ => Self::all()
                .find(|setting| setting.to_string() == text)
                .ok_or(SettingError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_reads_back_and_nothing_else_does() {
        assert_eq!(EngineSetting::all().count(), 2 + 9 + 22);
        for setting in EngineSetting::all() {
            assert_eq!(setting.to_string().parse(), Ok(setting));
        }
        assert_eq!("zstd".parse(), Ok(EngineSetting::ZSTD));
        let wrong = [
            "",
            "zlib",
            "deflate",
            "deflate_0",
            "deflate_10",
            "zstd_0",
            "zstd_23",
            "zstd_03",
            "ZSTD",
        ];
        for text in wrong {
            assert_eq!(text.parse::<EngineSetting>(), Err(SettingError), "{text:?}");
        }
        assert!(EngineSetting::new(CodecId::Zlib, 42).is_err());
    }

    #[test]
    fn the_fastest_of_a_codec_compresses_if_the_setting_does() {
        for (setting, fastest) in [
            ("none", "none"),
            ("snappy", "snappy"),
            ("deflate_9", "deflate_1"),
            ("zstd_1", "zstd_1"),
            ("zstd_22", "zstd_1"),
        ] {
            let setting: EngineSetting = setting.parse().unwrap();
            assert_eq!(setting.fastest().to_string(), fastest);
        }
        let stored = EngineSetting::new(CodecId::Zlib, 0).unwrap();
        assert_eq!(stored.fastest(), stored);
    }
}
