//! Partitions: in a partitioned database, what stands in front of the first colon of a document's id.

/// Ends a partition in ids.
const SEPARATOR: char = ':';
/// The character above [`SEPARATOR`]: ids of a partition lie below it.
const ABOVE: char = ';';

/// A name that no partition has. `Display` is the reason that CouchDB gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// The partition is empty.
    #[error("Partition must not be empty")]
    Empty,
    /// The partition begins with `_`, as reserved ids do.
    #[error("Partition must not start with an underscore")]
    Underscore,
    /// The partition contains a colon, which would end it.
    #[error("Partition must not contain a colon")]
    Colon,
}

/// The partition of a document's id, and the rest behind the colon. Ids of design and local documents have none.
pub fn split_id(id: &str) -> Option<(&str, &str)> {
    match id.starts_with('_') {
        true => None,
        false => id.split_once(SEPARATOR),
    }
}

/// The name of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    name: String,
    low: String,
    high: String,
}

impl Partition {
    /// The partition of that name, whether or not it has documents.
    ///
    /// # Errors
    /// [`PartitionError`].
    pub fn new(name: &str) -> Result<Partition, PartitionError> {
        match name {
            "" => Err(PartitionError::Empty),
            _ if name.starts_with('_') => Err(PartitionError::Underscore),
            _ if name.contains(SEPARATOR) => Err(PartitionError::Colon),
            _ => Ok(Partition {
                name: name.to_owned(),
                low: format!("{name}{SEPARATOR}"),
                high: format!("{name}{ABOVE}"),
            }),
        }
    }

    /// As it stands in ids.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Not above any id of the partition.
    pub fn low(&self) -> &str {
        &self.low
    }

    /// Above all ids of the partition.
    pub fn high(&self) -> &str {
        &self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_ends_at_the_first_colon() {
        assert_eq!(split_id("a:b:c"), Some(("a", "b:c")));
        assert_eq!(split_id(":"), Some(("", "")));
        for id in ["a", "", "_design/a:b", "_local/a:b"] {
            assert_eq!(split_id(id), None, "{id}");
        }
    }

    #[test]
    fn the_bounds_of_a_partition_hold_its_ids_and_no_others() {
        let partition = Partition::new("é").unwrap();
        let holds = |id: &str| partition.low() <= id && id < partition.high();
        for id in ["é:", "é:a", "é:\u{10ffff}", "é::"] {
            assert!(holds(id), "{id}");
        }
        for id in ["é", "é;", "é9:a", "éa:b", "ê:a", "_design/é:a"] {
            assert!(!holds(id), "{id}");
        }
        assert_eq!(Partition::new(""), Err(PartitionError::Empty));
        assert_eq!(Partition::new("_a"), Err(PartitionError::Underscore));
        assert_eq!(Partition::new("a:b"), Err(PartitionError::Colon));
    }
}
