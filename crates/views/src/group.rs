//! The views of one design document, as far as they decide the content of its index.

mod filter;

use crate::design::{JAVASCRIPT, LIBRARY, QUERY, library};
use crate::find::JsonMap;
use crate::reduce::Reduction;
use crate::{DesignError, ViewError};
use md5::{Digest, Md5};
use std::fmt;
use varve_docdb::split_id;
use varve_js::Compilation;
use varve_json::collate::Order;
use varve_json::{Object, Value};

pub(crate) use filter::ChangesFilter;
pub use filter::IndexKind;

/// An index file has one tree for each map function besides its own, and at most 255.
const MAX_MAPS: usize = 254;

/// Begins the hashed text; another one makes every index anew.
const SIGNATURE_VERSION: &[u8] = b"varve view index 2";

/// Begins the hashed text where reduces may grow.
const GROWING: &[u8] = b"varve view index, reduces may grow";

/// Begins the hashed text where rows are kept by partition.
const PARTITIONED: &[u8] = b"varve view index, by partition";

/// Begins the hashed text where rows are kept by principal too.
const BY_PRINCIPAL: &[u8] = b"varve view index, by principal";

/// With rows by principal there are two trees for each map function, and one for readers.
const MAX_MAPS_WITH_ACCESS: usize = 126;

/// Names an index file: the MD5 over everything that decides its content, and the names of its
/// views. Design documents that agree in that share the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature(pub [u8; 16]);

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One map function and the reduces that stand over its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    /// The function's text, or the JSON text of a json index.
    pub(crate) source: String,
    /// In which its rows stand.
    pub(crate) order: Order,
    pub(crate) reductions: Vec<Reduction>,
}

/// Where a named view is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewLocation {
    /// Position of its map function.
    pub(crate) map: usize,
    /// Position of its reduce among those of the map function.
    pub(crate) reduction: Option<usize>,
}

/// The views of a design document, or one filter of changes.
#[derive(Clone, Debug)]
pub struct ViewGroup {
    signature: Signature,
    include_design: bool,
    /// Whether map functions see `_local_seq`.
    local_seq: bool,
    /// Whether the maps are those of json indexes.
    is_query: bool,
    /// The option `partitioned` of the design document.
    wants_partitions: Option<bool>,
    /// Whether rows are kept by partition, and asked of one partition only.
    is_partitioned: bool,
    /// Whether rows are kept by principal too.
    has_access: bool,
    maps: Vec<Map>,
    views: Vec<(String, ViewLocation)>,
    /// JSON text of the modules that map functions may require.
    library: Option<String>,
    /// The filter, where the rows are changes.
    filter: Option<ChangesFilter>,
}

impl ViewGroup {
    /// Reads the views of a design document. One without views is a group without views.
    ///
    /// # Errors
    /// [`DesignError`] if the document could not have been stored here; it can still have come by
    /// replication.
    pub fn read(document: &Object) -> Result<Self, DesignError> {
        let language = document.get("language").and_then(Value::as_str);
        let language = language.unwrap_or(JAVASCRIPT);
        let views = document.get("views").and_then(Value::as_object);
        let views = views.into_iter().flat_map(Object::iter);
        let views: Vec<_> = views.filter(|(name, _)| *name != LIBRARY).collect();
        let is_query = language == QUERY;
        if language != JAVASCRIPT && !is_query && !views.is_empty() {
            let language = language.to_owned();
            return Err(DesignError::Language { language });
        }
        let mut maps: Vec<Map> = Vec::new();
        let mut named = Vec::new();
        for (name, view) in &views {
            let view = match is_query {
                true => read_index(view),
                false => Some(read_view(name, view)?),
            };
            named.extend(view.map(|view| ((*name).to_owned(), view)));
        }
        // In the order of their text, so that names do not matter.
        let mut sources: Vec<&MapSource> = named.iter().map(|(_, (map, _))| map).collect();
        sources.sort();
        sources.dedup();
        if sources.len() > MAX_MAPS {
            return Err(DesignError::TooManyMaps { limit: MAX_MAPS });
        }
        for source in sources {
            let mut reductions: Vec<Reduction> = named
                .iter()
                .filter(|(_, (map, _))| map == source)
                .filter_map(|(_, (_, reduction))| reduction.clone())
                .collect();
            reductions.sort();
            reductions.dedup();
            let (source, order) = source.clone();
            maps.push(Map {
                source,
                order,
                reductions,
            });
        }
        let views: Vec<(String, ViewLocation)> = named
            .into_iter()
            .filter_map(|(name, view)| Some((name, locate(&maps, &view)?)))
            .collect();
        let library = library(document).filter(|_| !is_query && !maps.is_empty());
        let options = document.get("options");
        let flag = |name| options.and_then(|options| options.get(name)?.as_bool());
        Ok(ViewGroup {
            signature: sign(language, options, &maps, &views, library.as_deref()),
            include_design: flag("include_design").unwrap_or(false),
            local_seq: flag("local_seq").unwrap_or(false),
            is_query,
            wants_partitions: flag("partitioned"),
            is_partitioned: false,
            has_access: false,
            views,
            maps,
            library,
            filter: None,
        })
    }

    /// The same group with an index of its own if it has reduce functions in JavaScript, or sums: their results may grow
    /// with their input, and results refused as growing stand in inner nodes.
    pub fn with_growing_reduces(mut self) -> Self {
        let may_grow =
            |reduction: &Reduction| matches!(reduction, Reduction::Script(_) | Reduction::Sum);
        let mut reductions = self.maps.iter().flat_map(|map| &map.reductions);
        if reductions.any(may_grow) {
            let mut hash = Md5::new();
            hash.update(GROWING);
            hash.update(self.signature.0);
            self.signature = Signature(hash.finalize().into());
        }
        self
    }

    /// The same group in a partitioned database: unless its design document says otherwise, its rows are kept by
    /// partition.
    pub fn by_partition(mut self) -> Self {
        if self.wants_partitions != Some(false) {
            self.is_partitioned = true;
            let mut hash = Md5::new();
            hash.update(PARTITIONED);
            hash.update(self.signature.0);
            self.signature = Signature(hash.finalize().into());
        }
        self
    }

    /// The same group in a database with access: its rows are kept for admins, and again for each name in `_access`.
    ///
    /// # Errors
    /// [`DesignError::TooManyMaps`].
    pub fn by_principal(mut self) -> Result<Self, DesignError> {
        if self.maps.len() > MAX_MAPS_WITH_ACCESS {
            let limit = MAX_MAPS_WITH_ACCESS;
            return Err(DesignError::TooManyMaps { limit });
        }
        self.has_access = true;
        let mut hash = Md5::new();
        hash.update(BY_PRINCIPAL);
        hash.update(self.signature.0);
        self.signature = Signature(hash.finalize().into());
        Ok(self)
    }

    pub(crate) fn has_access(&self) -> bool {
        self.has_access
    }

    /// The tree with the rows of a map function by principal, in a group that has them.
    pub(crate) fn principals_tree(&self, map: usize) -> usize {
        1 + self.maps.len() + map
    }

    /// The tree of readers, in a group with rows by principal.
    pub(crate) fn readers_tree(&self) -> usize {
        1 + 2 * self.maps.len()
    }

    /// How many trees an index has besides the one by document.
    pub(crate) fn trees_of_rows(&self) -> usize {
        match self.has_access {
            true => self.readers_tree(),
            false => self.maps.len(),
        }
    }

    /// Whether rows are kept by partition, and asked of one partition only.
    pub fn is_partitioned(&self) -> bool {
        self.is_partitioned
    }

    /// The name of the group's index file.
    pub fn signature(&self) -> Signature {
        self.signature
    }

    /// Names of the views, in the order of the design document.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.views.iter().map(|(name, _)| name.as_str())
    }

    /// Names of the views whose map functions run without an engine, in the order of the design
    /// document.
    pub fn compiled(&self, how: Compilation) -> impl Iterator<Item = &str> {
        let runs = |map: &Map| match how {
            Compilation::Simple => self.is_query || varve_js::is_compiled(&map.source),
            Compilation::Off => self.is_query,
        };
        let maps: Vec<bool> = self.maps.iter().map(runs).collect();
        let views = self
            .views
            .iter()
            .filter(move |(_, locate)| maps[locate.map]);
        views.map(|(name, _)| name.as_str())
    }

    /// Whether the view of that name has a reduce function.
    ///
    /// # Errors
    /// [`ViewError::NoView`].
    pub fn can_reduce(&self, name: &str) -> Result<bool, ViewError> {
        self.locate(name).map(|locate| locate.reduction.is_some())
    }

    /// Whether the view of that name has a reduce function in JavaScript.
    ///
    /// # Errors
    /// [`ViewError::NoView`].
    pub fn reduces_by_script(&self, name: &str) -> Result<bool, ViewError> {
        let locate = self.locate(name)?;
        let reductions = &self.maps[locate.map].reductions;
        let found = locate.reduction.and_then(|index| reductions.get(index));
        Ok(matches!(found, Some(Reduction::Script(_))))
    }

    /// Whether any view has a reduce function in JavaScript.
    pub(crate) fn reduces_by_scripts(&self) -> bool {
        let mut all = self.maps.iter().flat_map(|map| &map.reductions);
        all.any(|reduction| matches!(reduction, Reduction::Script(_)))
    }

    /// The order of the rows of the view of that name.
    ///
    /// # Errors
    /// [`ViewError::NoView`].
    pub fn order(&self, name: &str) -> Result<Order, ViewError> {
        self.locate(name)
            .map(|locate| self.order_of_map(locate.map))
    }

    pub(crate) fn order_of_map(&self, map: usize) -> Order {
        self.maps.get(map).map(|map| map.order).unwrap_or_default()
    }

    pub(crate) fn locate(&self, name: &str) -> Result<ViewLocation, ViewError> {
        let found = self.views.iter().find(|(known, _)| known == name);
        found
            .map(|(_, locate)| *locate)
            .ok_or_else(|| ViewError::NoView {
                name: name.to_owned(),
            })
    }

    /// A view that uses the map function, for messages.
    pub(crate) fn name_of_map(&self, map: usize) -> &str {
        let found = self.views.iter().find(|(_, locate)| locate.map == map);
        found.map_or("", |(name, _)| name)
    }

    /// The language of the design document.
    pub fn language(&self) -> &'static str {
        match self.is_query {
            true => QUERY,
            false => JAVASCRIPT,
        }
    }

    pub(crate) fn maps(&self) -> &[Map] {
        &self.maps
    }

    /// JSON text of the object in which map functions find modules.
    pub(crate) fn library(&self) -> Option<&[u8]> {
        self.library.as_deref().map(str::as_bytes)
    }

    /// The maps, if they are those of json indexes.
    pub(crate) fn json_maps(&self) -> Option<Vec<JsonMap>> {
        let read = |map: &Map| JsonMap::read(&varve_json::parse(map.source.as_bytes()).ok()?);
        let maps = || self.maps.iter().map(read).collect();
        (self.is_query && self.filter.is_none())
            .then(maps)
            .flatten()
    }

    /// Whether map functions see the sequence of each document.
    pub(crate) fn shows_local_seq(&self) -> bool {
        self.local_seq
    }

    /// Whether a document has rows at all.
    pub(crate) fn takes(&self, id: &str) -> bool {
        (self.include_design || !id.starts_with("_design/"))
            && (!self.is_partitioned || split_id(id).is_some())
    }
}

/// A map function's text, or the JSON text of a json index, and the order of the rows.
type MapSource = (String, Order);

/// The functions of one view.
fn read_view(name: &str, view: &Value) -> Result<(MapSource, Option<Reduction>), DesignError> {
    let Some(map) = view.get("map").and_then(Value::as_str) else {
        return Err(DesignError::Invalid {
            reason: format!("View `{name}` must contain map function"),
        });
    };
    let reduce = view.get("reduce").and_then(Value::as_str);
    let reduce = reduce.map(Reduction::of).transpose()?;
    let options = view.get("options");
    let collation = options.and_then(|options| options.get("collation")?.as_str());
    let order = match collation {
        Some("raw") => Order::Raw,
        _ => Order::Collated,
    };
    Ok(((map.to_owned(), order), reduce))
}

/// The JSON text of a json index, and its count. `None` if the view is none: it may have come by
/// replication.
fn read_index(view: &Value) -> Option<(MapSource, Option<Reduction>)> {
    let map = view.get("map").filter(|map| JsonMap::read(map).is_some())?;
    let reduce = view.get("reduce").and_then(Value::as_str);
    let counts = reduce.and_then(|reduce| Reduction::of(reduce).ok());
    let counts = counts.filter(|reduce| *reduce == Reduction::Count);
    Some(((varve_json::to_string(map), Order::Collated), counts))
}

fn locate(
    maps: &[Map],
    ((source, order), reduction): &(MapSource, Option<Reduction>),
) -> Option<ViewLocation> {
    let is_it = |map: &Map| map.source == *source && map.order == *order;
    let map = maps.iter().position(is_it)?;
    let wanted = reduction.as_ref();
    let found = wanted.and_then(|wanted| {
        maps[map]
            .reductions
            .iter()
            .position(|other| other == wanted)
    });
    Some(ViewLocation {
        map,
        reduction: found,
    })
}

/// Every part is preceded by its length, so that no two groups are the same bytes.
fn sign(
    language: &str,
    options: Option<&Value>,
    maps: &[Map],
    views: &[(String, ViewLocation)],
    library: Option<&str>,
) -> Signature {
    let mut hash = Md5::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(SIGNATURE_VERSION);
    part(language.as_bytes());
    part(
        options
            .map(varve_json::to_string)
            .unwrap_or_default()
            .as_bytes(),
    );
    for map in maps {
        part(map.source.as_bytes());
        part(&[u8::from(map.order == Order::Raw)]);
        part(&(map.reductions.len() as u64).to_le_bytes());
        for reduction in &map.reductions {
            part(reduction.text().as_bytes());
        }
    }
    for (name, locate) in views {
        part(name.as_bytes());
        part(&(locate.map as u64).to_le_bytes());
        let reduction = locate.reduction.map_or(u64::MAX, |index| index as u64);
        part(&reduction.to_le_bytes());
    }
    if let Some(library) = library {
        part(library.as_bytes());
    }
    Signature(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(document: &str) -> ViewGroup {
        ViewGroup::read(&varve_json::parse_object(document.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn views_with_the_same_map_share_it() {
        let group = group(
            r#"{"views":{"b":{"map":"m2","reduce":"_sum"},"a":{"map":"m1"},
                "c":{"map":"m2","reduce":"_count"},"d":{"map":"m2"},"lib":{"x":"y"}}}"#,
        );
        assert_eq!(group.maps().len(), 2);
        assert_eq!(group.names().collect::<Vec<_>>(), ["b", "a", "c", "d"]);
        let locate = |name| group.locate(name).unwrap();
        assert_eq!((locate("a").map, locate("a").reduction), (0, None));
        assert_eq!(locate("b").map, locate("c").map);
        assert_ne!(locate("b").reduction, locate("c").reduction);
        assert_eq!((locate("d").map, locate("d").reduction), (1, None));
        assert!(group.locate("lib").is_err());
    }

    #[test]
    fn a_map_function_in_two_orders_is_two() {
        let raw = r#""options":{"collation":"raw"}"#;
        let both = group(&format!(
            r#"{{"views":{{"a":{{"map":"m"}},"b":{{"map":"m",{raw}}}}}}}"#
        ));
        assert_eq!(both.maps().len(), 2);
        let orders = ["a", "b"].map(|name| both.order(name).unwrap());
        assert_eq!(orders, [Order::Collated, Order::Raw]);
        let plain = group(r#"{"views":{"b":{"map":"m"}}}"#);
        let raw = group(&format!(r#"{{"views":{{"b":{{"map":"m",{raw}}}}}}}"#));
        assert_ne!(plain.signature(), raw.signature());
    }

    #[test]
    fn only_reduces_in_javascript_have_another_index_where_they_may_grow() {
        for (reduce, is_other) in [
            ("_count", false),
            ("_sum", true),
            ("function (k, v) { return v }", true),
        ] {
            let design = format!(r#"{{"views":{{"a":{{"map":"m","reduce":"{reduce}"}}}}}}"#);
            let usual = group(&design);
            let growing = group(&design).with_growing_reduces();
            assert_eq!(usual.signature() != growing.signature(), is_other);
            assert_eq!(usual.maps(), growing.maps());
        }
    }

    #[test]
    fn views_of_a_partitioned_database_are_kept_by_partition_unless_they_say_otherwise() {
        let usual = r#"{"views":{"a":{"map":"m"}}}"#;
        let by_partition = group(usual).by_partition();
        assert!(by_partition.is_partitioned() && !group(usual).is_partitioned());
        assert_ne!(by_partition.signature(), group(usual).signature());
        assert!(by_partition.takes("p:a") && group(usual).takes("a"));
        assert!(!by_partition.takes("a"));
        let global = r#"{"views":{"a":{"map":"m"}},"options":{"partitioned":false}}"#;
        let global = group(global).by_partition();
        assert!(!global.is_partitioned() && global.takes("a"));
    }

    #[test]
    fn the_signature_knows_the_views_and_nothing_else() {
        let one = group(r#"{"views":{"a":{"map":"m","reduce":"_sum"}}}"#);
        let same = group(r#"{"_id":"x","views":{"a":{"reduce":"_sum","map":"m"}},"filters":{}}"#);
        assert_eq!(one.signature(), same.signature());
        for other in [
            r#"{"views":{"a":{"map":"n","reduce":"_sum"}}}"#,
            r#"{"views":{"a":{"map":"m"}}}"#,
            r#"{"views":{"b":{"map":"m","reduce":"_sum"}}}"#,
            r#"{"views":{"a":{"map":"m","reduce":"_sum"}},"options":{"include_design":true}}"#,
            r#"{"views":{"a":{"map":"m","reduce":"_sum"},"lib":{"x":""}}}"#,
        ] {
            assert_ne!(one.signature(), group(other).signature(), "{other}");
        }
        assert_eq!(one.signature().to_string().len(), 32);
    }
}
