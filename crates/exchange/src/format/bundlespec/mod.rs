//! Bundlespecs: which bundle is to be made, as users write it.
//!
//! ```text
//! [COMPRESSION-]TYPE[;KEY=VALUE]…      TYPE or COMPRESSION may be left out, but not both
//! ```
//!
//! All of it is read in lower case; keys and values may have characters escaped as `%3b`.

mod parse;
mod render;

pub use crate::error::BundleSpecError;
pub use parse::SpecDefaults;

use std::collections::BTreeMap;
use varve_codec::{StreamEngine, StreamSetting};

/// A bundle's container with its usual contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleType {
    /// Bundle1Operation with changegroup 01.
    V1,
    /// Bundle2 with changegroup 02.
    V2,
    /// Bundle2 with changegroup 03 and phases.
    V3,
    /// Bundle2 with the store's files.
    StreamV2,
    /// Bundle2 with the store's files in a form that is being tried out.
    StreamV3Exp,
    /// The store's files in the oldest form.
    Packed1,
}

impl BundleType {
    /// All of them.
    pub const ALL: [BundleType; 6] = [
        BundleType::V1,
        BundleType::V2,
        BundleType::V3,
        BundleType::StreamV2,
        BundleType::StreamV3Exp,
        BundleType::Packed1,
    ];

    /// The name in a bundlespec.
    pub fn name(self) -> &'static str {
        match self {
            BundleType::V1 => "v1",
            BundleType::V2 => "v2",
            BundleType::V3 => "v3",
            BundleType::StreamV2 => "streamv2",
            BundleType::StreamV3Exp => "streamv3-exp",
            BundleType::Packed1 => "packed1",
        }
    }

    fn named(name: &str) -> Option<BundleType> {
        BundleType::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn usual_contents(self) -> BundleContents {
        let is_v1 = self == BundleType::V1;
        let (stream, changegroup) = match self {
            BundleType::StreamV2 => (Some("v2"), "02"),
            BundleType::StreamV3Exp => (Some("v3-exp"), "03"),
            BundleType::V1 => (None, "01"),
            BundleType::V3 => (None, "03"),
            BundleType::V2 | BundleType::Packed1 => (None, "02"),
        };
        BundleContents {
            changegroup: true,
            changegroup_version: changegroup.to_owned(),
            stream: stream.map(str::to_owned),
            obsolescence: false,
            obsolescence_mandatory: true,
            phases: self == BundleType::V3,
            tags_fnodes: !is_v1,
            rev_branches: !is_v1,
        }
    }
}

/// The parts and options of a bundle, as a bundlespec names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleContents {
    /// Changesets, manifests and files.
    pub changegroup: bool,
    /// Their form, such as `02`. Whether it is known is not checked here.
    pub changegroup_version: String,
    /// The form of the store's files, if they take the place of all else.
    pub stream: Option<String>,
    /// Obsolescence markers.
    pub obsolescence: bool,
    /// Whether a reader must know such markers.
    pub obsolescence_mandatory: bool,
    /// Whether the bundle has a part with phase heads.
    pub phases: bool,
    /// Which revision of `.hgtags` the heads have.
    pub tags_fnodes: bool,
    /// Which branch each changeset is on.
    pub rev_branches: bool,
}

/// A bundlespec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSpec {
    engine: StreamEngine,
    kind: BundleType,
    /// As given, unescaped. Unknown ones are ignored, as in Mercurial.
    params: BTreeMap<String, String>,
    contents: BundleContents,
    setting: StreamSetting,
}

impl BundleSpec {
    /// The type.
    pub fn kind(&self) -> BundleType {
        self.kind
    }

    /// Contents of the bundle.
    pub fn contents(&self) -> &BundleContents {
        &self.contents
    }

    /// Compression of the bundle, with level and threads as far as the spec says them.
    pub fn setting(&self) -> StreamSetting {
        self.setting
    }

    /// The same, with a level and threads for where the spec says nothing. The level comes with
    /// the name of the setting that it is from. A level for an engine without levels is no mistake here,
    /// since such settings may be meant for another one.
    ///
    /// # Errors
    /// [`BundleSpecError::Level`] if the engine has levels, but not this one.
    pub fn setting_with(
        &self,
        level: Option<(String, i64)>,
        threads: Option<i64>,
    ) -> Result<StreamSetting, BundleSpecError> {
        let mut setting = self.setting;
        if let (None, Some((key, level)), Some(_)) = (setting.level, level, self.engine.levels()) {
            setting.level = parse::checked_level(self.engine, &key, Some(level))?;
        }
        if let (None, Some(threads)) = (setting.threads, threads) {
            let most = i64::from(self.engine.most_threads());
            setting.threads = Some(threads.clamp(-1, most) as i32);
        }
        Ok(setting)
    }
}

#[cfg(test)]
mod tests;
