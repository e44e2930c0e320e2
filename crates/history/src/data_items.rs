//! Items of data files: values by their names, from JSON, lines of JSON, and CSV.
//!
//! The bytes are hostile: lengths, numbers of items and depths are bounded, and a fault is a text for the file's document.

use std::collections::BTreeMap;
use varve_json::{Object, Value};

/// Bytes of the longest file that is read.
pub(crate) const LONGEST_FILE: usize = 8 << 20;
/// Items that one file has at most.
const MOST_ITEMS: usize = 50_000;
/// Bytes of an item's JSON text: a document has a size limit.
const LONGEST_ITEM: usize = 1 << 20;
/// Bytes of a name.
const LONGEST_NAME: usize = 512;
/// Arrays and objects inside one another in an item.
const DEEPEST: usize = 200;
/// Columns of a table.
const MOST_COLUMNS: usize = 1000;
/// Bytes of memory for the values of a file, which may be many times its text.
const ROOM: usize = 256 << 20;
/// Faults of single items that are named.
const MOST_PROBLEMS: usize = 10;
/// Members or columns that name an item, in order of preference.
const NAMES: [&str; 2] = ["_id", "id"];
/// Stands before a position that is used as a name.
const POSITION: char = '@';

/// Form of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFormat {
    /// One array or object, whose items or members are the items.
    Json,
    /// One value on each line.
    Lines,
    /// A table with a header.
    Csv,
}

impl DataFormat {
    /// The form that the ending of a file's name says; `None` for any other file.
    pub(crate) fn of_path(path: &[u8]) -> Option<DataFormat> {
        let dot = path.iter().rposition(|byte| *byte == b'.')?;
        match path[dot + 1..].to_ascii_lowercase().as_slice() {
            b"json" => Some(DataFormat::Json),
            b"ndjson" | b"jsonl" => Some(DataFormat::Lines),
            b"csv" => Some(DataFormat::Csv),
            _ => None,
        }
    }
}

/// The items of one version of a data file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DataItems {
    /// Values by name.
    pub(crate) values: BTreeMap<String, Value>,
    /// Items that were left out, and why; the first ones.
    pub(crate) problems: Vec<String>,
    /// Items so far, with those that were left out.
    position: usize,
}

impl DataItems {
    /// Reads the items of a file.
    ///
    /// # Errors
    /// The reason why the file cannot be read as a whole.
    pub(crate) fn read(format: DataFormat, content: &[u8]) -> Result<DataItems, String> {
        if content.len() > LONGEST_FILE {
            return Err(format!("longer than {LONGEST_FILE} bytes"));
        }
        let content = content
            .strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(content);
        let mut items = DataItems::default();
        match format {
            DataFormat::Json => items.add_json(content)?,
            DataFormat::Lines => items.add_lines(content)?,
            DataFormat::Csv => items.add_table(content)?,
        }
        Ok(items)
    }

    fn add_json(&mut self, content: &[u8]) -> Result<(), String> {
        let value = varve_json::parse_bounded(content, ROOM).map_err(|error| error.to_string())?;
        match value {
            Value::Array(items) => items.into_iter().try_for_each(|item| {
                let name = own_name(&item);
                self.add(name, item)
            }),
            Value::Object(members) => members
                .into_iter()
                .try_for_each(|(name, value)| self.add(Some(name), value)),
            other => Err(format!("{}, not an array or an object", other.kind())),
        }
    }

    fn add_lines(&mut self, content: &[u8]) -> Result<(), String> {
        let mut room = ROOM;
        for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let value = varve_json::parse_bounded(line, room);
            let value = value.map_err(|error| format!("line {}: {error}", number + 1))?;
            // A value takes at least the length of its text.
            room = room.saturating_sub(line.len());
            self.add(own_name(&value), value)?;
        }
        Ok(())
    }

    fn add_table(&mut self, content: &[u8]) -> Result<(), String> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(content);
        let lossy = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let mut record = csv::ByteRecord::new();
        let mut read = |record: &mut csv::ByteRecord| {
            let read = reader.read_byte_record(record);
            read.map_err(|error| error.to_string())
        };
        if !read(&mut record)? {
            return Ok(());
        }
        let header: Vec<String> = record.iter().map(lossy).collect();
        if header.len() > MOST_COLUMNS {
            return Err(format!("more than {MOST_COLUMNS} columns"));
        }
        let column = |name: &&str| header.iter().position(|column| column == name);
        let names = NAMES.iter().find_map(column).unwrap_or(0);
        while read(&mut record)? {
            if record.len() > header.len() {
                self.leave_out("has more fields than the header")?;
                continue;
            }
            let fields = header.iter().zip(&record);
            let fields = fields.map(|(column, field)| (column.clone(), Value::from(lossy(field))));
            let row: Object = fields.collect();
            self.add(record.get(names).map(lossy), row.into())?;
        }
        Ok(())
    }

    /// Adds an item under its name, or else under its position among all items, from 1.
    fn add(&mut self, name: Option<String>, value: Value) -> Result<(), String> {
        if !is_shallower(&value, DEEPEST) {
            return self.leave_out(&format!("is nested deeper than {DEEPEST} levels"));
        }
        if varve_json::to_string(&value).len() > LONGEST_ITEM {
            return self.leave_out(&format!("is longer than {LONGEST_ITEM} bytes"));
        }
        let position = self.count()?;
        let is_free = |name: &String| {
            (1..=LONGEST_NAME).contains(&name.len())
                && !name.starts_with(POSITION)
                && !self.values.contains_key(name)
        };
        let name = name.filter(is_free);
        let name = name.unwrap_or_else(|| format!("{POSITION}{position}"));
        self.values.insert(name, value);
        Ok(())
    }

    fn leave_out(&mut self, reason: &str) -> Result<(), String> {
        let position = self.count()?;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(format!("item {position} {reason}"));
        }
        Ok(())
    }

    /// Counts an item and returns its position.
    fn count(&mut self) -> Result<usize, String> {
        self.position += 1;
        match self.position > MOST_ITEMS {
            true => Err(format!("more than {MOST_ITEMS} items")),
            false => Ok(self.position),
        }
    }
}

/// The text or number by which an object names itself.
fn own_name(value: &Value) -> Option<String> {
    let named = NAMES.iter().find_map(|name| value.get(name))?;
    match named {
        Value::String(name) => Some(name.clone()),
        Value::Number(_) => Some(varve_json::to_string(named)),
        _ => None,
    }
}

/// Returns whether a value has at most so many arrays and objects inside one another.
fn is_shallower(value: &Value, levels: usize) -> bool {
    let inside = |value: &Value| levels > 0 && is_shallower(value, levels - 1);
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(inside),
        Value::Object(members) => levels > 0 && members.iter().all(|(_, value)| inside(value)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(path: &str, content: &str) -> Result<DataItems, String> {
        let format = DataFormat::of_path(path.as_bytes()).unwrap();
        DataItems::read(format, content.as_bytes())
    }

    /// `NAME=VALUE` of each item.
    fn items(path: &str, content: &str) -> Vec<String> {
        let values = read(path, content).unwrap().values.into_iter();
        values
            .map(|(name, value)| format!("{name}={}", varve_json::to_string(&value)))
            .collect()
    }

    #[test]
    fn items_have_names_of_their_own_or_their_positions() {
        let array = r#"[{"id":"b"},{"_id":"a","id":"x"},{"id":7},3,{"id":"b","n":2},{"id":"@1"},{"id":null}]"#;
        let named = [
            r#"7={"id":7}"#,
            r#"@4=3"#,
            r#"@5={"id":"b","n":2}"#,
            r#"@6={"id":"@1"}"#,
            r#"@7={"id":null}"#,
            r#"a={"_id":"a","id":"x"}"#,
            r#"b={"id":"b"}"#,
        ];
        assert_eq!(items("x.json", array), named);
        assert_eq!(
            items("d/x.JSON", "\u{feff}{\"k\":1,\"\":2,\"k\":3}"),
            ["@1=2", "k=3"]
        );
        assert_eq!(
            items("x.ndjson", "{\"id\":\"a\"}\r\n\n[1]\n"),
            [r#"@2=[1]"#, r#"a={"id":"a"}"#]
        );
    }

    #[test]
    fn rows_of_tables_are_objects_of_texts() {
        let table = "name,id\n\"Ada, B\",1\nshort\n,\na,b,c\n";
        let rows = [
            r#"1={"name":"Ada, B","id":"1"}"#,
            r#"@2={"name":"short"}"#,
            r#"@3={"name":"","id":""}"#,
        ];
        assert_eq!(items("x.csv", table), rows);
        let problems = read("x.csv", table).unwrap().problems;
        assert_eq!(problems, ["item 4 has more fields than the header"]);
        // Without a column that says so, the first one has the names.
        assert_eq!(items("x.csv", "k,v\na,1\n"), [r#"a={"k":"a","v":"1"}"#]);
        assert!(items("x.csv", "").is_empty() && items("x.csv", "k,v\n").is_empty());
    }

    #[test]
    fn files_that_cannot_be_read_say_why() {
        assert_eq!(
            read("x.json", "7").unwrap_err(),
            "a number, not an array or an object"
        );
        assert!(read("x.json", "[1,").is_err());
        assert!(
            read("x.ndjson", "1\n{")
                .unwrap_err()
                .starts_with("line 2: ")
        );
        let many = format!("[{}1]", "1,".repeat(MOST_ITEMS));
        assert_eq!(read("x.json", &many).unwrap_err(), "more than 50000 items");
        assert!(read("x.csv", &",".repeat(MOST_COLUMNS)).is_err());
        assert!(read("x.json", &" ".repeat(LONGEST_FILE + 1)).is_err());
        let (open, close) = ("[".repeat(DEEPEST + 1), "]".repeat(DEEPEST + 1));
        let long = "x".repeat(LONGEST_ITEM);
        let content = format!("{open}{close}\n\"{long}\"\n1\n");
        let left = read("x.jsonl", &content).unwrap();
        assert_eq!(left.values.keys().collect::<Vec<_>>(), ["@3"]);
        assert_eq!(left.problems.len(), 2);
        for other in ["x", "x.txt", "json", ""] {
            assert_eq!(DataFormat::of_path(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_hostile(content in proptest::collection::vec(any::<u8>(), 0..200)) {
            for format in [DataFormat::Json, DataFormat::Lines, DataFormat::Csv] {
                let _ = DataItems::read(format, &content);
            }
        }

        #[test]
        fn values_stay_whole_whatever_their_names(names in proptest::collection::vec("[ab@,\"\n]{0,3}", 0..6)) {
            let object = |name: &String| {
                let members = [("id".to_owned(), Value::from(name.as_str()))];
                Value::from(members.into_iter().collect::<Object>())
            };
            let array = varve_json::to_string(&names.iter().map(object).collect());
            prop_assert_eq!(read("x.json", &array).unwrap().values.len(), names.len());
        }
    }
}
