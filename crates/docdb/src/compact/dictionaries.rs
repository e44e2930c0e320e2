//! Which dictionaries come into the copy.

use super::unreadable::readable;
use crate::bodies::BodyCodec;
use crate::record::{DictionaryRecord, append_twice};
use crate::{Database, DocdbError, Snapshot, training};
use varve_btree::{ChunkRef, Transaction, TreeError};
use varve_codec::{CodecId, EngineSetting};

/// Puts the dictionary into the copy that its bodies are to begin with: the present one, or one that is better. The
/// others stay behind, and chunks that name them are compressed anew.
pub(super) fn begin(
    database: &Database,
    from: &Snapshot,
    txn: &mut Transaction<'_>,
) -> Result<(BodyCodec, Vec<DictionaryRecord>), DocdbError> {
    let method = database.body_codec_of(from);
    if method.setting.codec() != CodecId::Zstd {
        return Ok((method, Vec::new()));
    }
    if database.uses_no_dictionary() {
        let method = BodyCodec {
            dictionary: None,
            ..method
        };
        return Ok((method, Vec::new()));
    }
    if let Some(trained) = training::for_copy(from, &method)? {
        let number = database.dictionary_number();
        let dictionary = trained.dictionary.with_number(number);
        let dictionary = dictionary.map_err(TreeError::Compress)?;
        let place = append_twice(txn, &training::chunk_of(&dictionary, &method)?)?;
        let method = BodyCodec {
            dictionary: Some(dictionary),
            ..method
        };
        return Ok((method, vec![trained.record(number, place)]));
    }
    let number = method.dictionary.as_ref().map(|known| known.number());
    let known = from.header().dictionaries.iter();
    let kept = known.filter(|record| Some(record.number) == number);
    let kept = kept.map(|record| {
        Ok(DictionaryRecord {
            // Nothing better was found with so many, so the next copy need not look again.
            documents: record.documents.max(training::documents(from)?),
            place: copy(from, &method, txn, record)?,
            ..record.clone()
        })
    });
    let kept = kept.collect::<Result<_, DocdbError>>()?;
    Ok((method, kept))
}

/// How a copy goes on that an earlier compaction has begun: as it was, whatever its header says of the setting from
/// then on. `configured` counts if it says nothing.
pub(super) fn resume(
    begun: &Snapshot,
    configured: EngineSetting,
) -> (BodyCodec, Vec<DictionaryRecord>) {
    let method = begun.body_codec_by(begun.header().setting.unwrap_or(configured));
    (method, begun.header().dictionaries.clone())
}

/// Puts those into the copy that came after `before` was looked at. An unreadable one stays behind, and chunks that
/// name it are copied as they stand.
pub(super) fn catch_up(
    from: &Snapshot,
    method: &BodyCodec,
    before: &[u32],
    copied: &mut Vec<DictionaryRecord>,
    txn: &mut Transaction<'_>,
) -> Result<(), DocdbError> {
    for record in &from.header().dictionaries {
        let is_copied = copied.iter().any(|known| known.number == record.number);
        if is_copied || before.contains(&record.number) {
            continue;
        }
        let place = readable(copy(from, method, txn, record))?;
        copied.extend(place.map(|place| DictionaryRecord {
            place,
            ..record.clone()
        }));
    }
    Ok(())
}

/// Copies a dictionary, if need be as it was when it could be read.
fn copy(
    from: &Snapshot,
    method: &BodyCodec,
    txn: &mut Transaction<'_>,
    record: &DictionaryRecord,
) -> Result<ChunkRef, DocdbError> {
    let chunk = match record.chunk(from.tree()) {
        Err(error) if error.is_damage() => match from.tree().dictionary(record.number) {
            Some(known) => training::chunk_of(&known, method)?,
            None => return Err(error.into()),
        },
        chunk => chunk?,
    };
    Ok(append_twice(txn, &chunk)?)
}

/// The numbers of some dictionaries.
pub(super) fn numbers(records: &[DictionaryRecord]) -> Vec<u32> {
    records.iter().map(|record| record.number).collect()
}
