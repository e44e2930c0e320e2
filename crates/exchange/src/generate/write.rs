//! Bundles that are kept in files: everything from a bundlespec and a set of changesets to the
//! bytes.
//!
//! ```text
//! bundle1:  "HG10UN" | "HG10GZ" | "HG10" (bzip2's own "BZ" follows)     changegroup 01
//!
//! bundle2:  "HG20"  u32 length  ["Compression=" two letters]            parts, see `bundle2`
//! ```
//! The rest behind the header is compressed as one stream.

use super::changegroup::{SectionSizes, write_changegroup};
use super::part_payloads::branches;
use super::plan::{BundleForm, BundlePlan, PlannedPayload};
use super::{PAYLOAD_CHUNK, pipeline};
use crate::ExchangeError;
use crate::format::bundle20::{BundleWriter, write_start};
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::Part;
use std::io::Write;
use varve_base::Interrupt;
use varve_codec::{StreamEncoder, StreamEngine, StreamSetting};

impl BundlePlan<'_> {
    /// Writes the bundle. The repository is read on another thread than this one, which
    /// compresses and writes.
    ///
    /// # Errors
    /// Damaged revisions; errors of the writer; that the user has interrupted.
    pub fn write(
        &self,
        setting: StreamSetting,
        mut out: impl Write,
        stop: &Interrupt,
    ) -> Result<SectionSizes, ExchangeError> {
        self.write_header(setting.engine, &mut out)?;
        let mut encoder = StreamEncoder::of_bundle(setting, out)?;
        let make = |out: &mut pipeline::PipeWriter| self.write_body(out);
        let sizes = pipeline::run(make, |bytes| {
            stop.check().map_err(varve_repo::RepoError::from)?;
            Ok(encoder.write_all(bytes)?)
        })?;
        encoder.finish()?.flush()?;
        Ok(sizes)
    }

    fn write_header(
        &self,
        engine: StreamEngine,
        out: &mut impl Write,
    ) -> Result<(), ExchangeError> {
        match (&self.form, engine) {
            (BundleForm::Bundle10, StreamEngine::Bzip2) => out.write_all(b"HG10")?,
            (BundleForm::Bundle10, _) => {
                out.write_all(b"HG10")?;
                out.write_all(engine.letters().as_bytes())?;
            }
            (BundleForm::Bundle20(_), StreamEngine::None) => write_start(out, b"")?,
            (BundleForm::Bundle20(_), _) => {
                write_start(out, format!("Compression={}", engine.letters()).as_bytes())?;
            }
        }
        Ok(())
    }

    fn write_body(&self, mut out: &mut dyn Write) -> Result<SectionSizes, ExchangeError> {
        let BundleForm::Bundle20(parts) = &self.form else {
            return write_changegroup(self.view, &self.selection, ChangegroupVersion::V1, &mut out);
        };
        let mut bundle = BundleWriter::after_start(out).with_chunk_len(PAYLOAD_CHUNK);
        let mut sizes = SectionSizes::default();
        for part in parts {
            self.write_part(part, &mut bundle, &mut sizes)?;
        }
        bundle.finish()?;
        Ok(sizes)
    }

    fn write_part<W: Write>(
        &self,
        part: &Part<PlannedPayload>,
        bundle: &mut BundleWriter<W>,
        sizes: &mut SectionSizes,
    ) -> Result<(), ExchangeError> {
        let mut payload = bundle.start_part(part.header.clone())?;
        match &part.payload {
            PlannedPayload::Changegroup(version) => {
                *sizes = write_changegroup(self.view, &self.selection, *version, &mut payload)?;
            }
            PlannedPayload::Branches => payload.write_all(&branches(self.view, &self.revs)?)?,
            PlannedPayload::Bytes(bytes) => payload.write_all(bytes)?,
        }
        Ok(payload.end()?)
    }
}
