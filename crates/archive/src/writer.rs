//! One archive of any kind.

use crate::kind::{ArchiveEntry, ArchiveKind};
use crate::tar::TarWriter;
use crate::zip::ZipWriter;
use bzip2::write::BzEncoder;
use std::io::{self, Write};
use varve_codec::deflate::{Deflater, Level};

/// Writes an archive; all of its files have one time.
pub enum ArchiveWriter<W: Write> {
    /// A tar archive in any compression.
    Tar(TarWriter<Packer<W>>),
    /// A zip archive.
    Zip(ZipWriter<W>),
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins an archive. `time` is in seconds since 1970; `file_name` is kept in a gzip file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn begin(kind: ArchiveKind, out: W, time: i64, file_name: &[u8]) -> io::Result<Self> {
        Ok(match kind {
            ArchiveKind::Zip => ArchiveWriter::Zip(ZipWriter::new(out, time, true)),
            ArchiveKind::StoredZip => ArchiveWriter::Zip(ZipWriter::new(out, time, false)),
            ArchiveKind::Tar => ArchiveWriter::Tar(TarWriter::new(Packer::Plain(out), time)),
            ArchiveKind::TarBzip2 => {
                let encoder = BzEncoder::new(out, bzip2::Compression::best());
                ArchiveWriter::Tar(TarWriter::new(Packer::Bzip2(encoder), time))
            }
            ArchiveKind::TarGzip => {
                let packer = Packer::gzip(out, time, file_name)?;
                ArchiveWriter::Tar(TarWriter::new(packer, time))
            }
        })
    }

    /// Adds a file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn add(&mut self, entry: &ArchiveEntry<'_>) -> io::Result<()> {
        match self {
            ArchiveWriter::Tar(tar) => tar.add(entry),
            ArchiveWriter::Zip(zip) => zip.add(entry),
        }
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(self) -> io::Result<()> {
        match self {
            ArchiveWriter::Tar(tar) => tar.finish()?.finish(),
            ArchiveWriter::Zip(zip) => zip.finish(),
        }
    }
}

/// Compression of a whole tar archive.
pub enum Packer<W: Write> {
    /// None.
    Plain(W),
    /// A gzip member.
    Gzip(Box<Gzip<W>>),
    /// A bzip2 stream.
    Bzip2(BzEncoder<W>),
}

/// A gzip member that is being written.
pub struct Gzip<W> {
    out: W,
    deflater: Deflater,
    sum: flate2::Crc,
}

impl<W: Write> Packer<W> {
    fn gzip(mut out: W, time: i64, file_name: &[u8]) -> io::Result<Self> {
        const HAS_NAME: u8 = 8;
        /// Slowest compression, and a system that is not told.
        const ENDING: [u8; 2] = [2, 255];
        let name = file_name.strip_suffix(b".gz").unwrap_or(file_name);
        let flags = if name.is_empty() { 0 } else { HAS_NAME };
        out.write_all(&[0x1f, 0x8b, 8, flags])?;
        out.write_all(&(time as u32).to_le_bytes())?;
        out.write_all(&ENDING)?;
        if flags == HAS_NAME {
            out.write_all(&[name, &[0]].concat())?;
        }
        let level = Level::new(9).unwrap_or(Level::SIX);
        Ok(Packer::Gzip(Box::new(Gzip {
            out,
            deflater: Deflater::new(level, Vec::new()),
            sum: flate2::Crc::new(),
        })))
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Packer::Plain(mut out) => out.flush(),
            Packer::Bzip2(encoder) => encoder.finish()?.flush(),
            Packer::Gzip(gzip) => {
                let Gzip {
                    mut out,
                    deflater,
                    sum,
                } = *gzip;
                out.write_all(&deflater.finish())?;
                out.write_all(&sum.sum().to_le_bytes())?;
                out.write_all(&sum.amount().to_le_bytes())?;
                out.flush()
            }
        }
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packer::Plain(out) => out.write(bytes),
            Packer::Bzip2(encoder) => encoder.write(bytes),
            Packer::Gzip(gzip) => {
                gzip.sum.update(bytes);
                let packed = gzip.deflater.write(bytes);
                gzip.out.write_all(&packed)?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
