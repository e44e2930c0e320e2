//! The design document with the ready views.

use varve_json::{Object, Value};

/// Views by name: the map function, and the reduce function if there is one.
const VIEWS: [(&str, &str, &str); 9] = [
    (
        "by_author",
        "function (doc) {\n  if (doc.type === 'changeset') emit([doc.author.name, doc.author.email, doc.seconds], null);\n}",
        "_count",
    ),
    (
        "by_date",
        "function (doc) {\n  if (doc.type === 'changeset' && doc.date) {\n    emit([parseInt(doc.date.slice(0, 4), 10), parseInt(doc.date.slice(5, 7), 10), parseInt(doc.date.slice(8, 10), 10)], null);\n  }\n}",
        "_count",
    ),
    (
        "by_branch",
        "function (doc) {\n  if (doc.type === 'changeset') emit([doc.branch, doc.seconds], null);\n}",
        "_count",
    ),
    (
        "by_file",
        "function (doc) {\n  if (doc.type !== 'changeset') return;\n  doc.files.added.forEach(function (path) { emit(path.split('/'), 'added'); });\n  doc.files.modified.forEach(function (path) { emit(path.split('/'), 'modified'); });\n  doc.files.removed.forEach(function (path) { emit(path.split('/'), 'removed'); });\n}",
        "_count",
    ),
    (
        "by_word",
        "function (doc) {\n  if (doc.type !== 'changeset') return;\n  var seen = {};\n  var words = doc.description.toLowerCase().split(/[\\s!-\\/:-@\\[-`{-~]+/);\n  words.forEach(function (word) {\n    if (word && seen['=' + word] === undefined) {\n      seen['=' + word] = true;\n      emit(word, null);\n    }\n  });\n}",
        "_count",
    ),
    (
        "churn",
        "function (doc) {\n  if (doc.type !== 'changeset' || !doc.lines || !doc.date) return;\n  var month = doc.date.slice(0, 7);\n  Object.keys(doc.lines.files).forEach(function (path) {\n    emit([path, month], doc.lines.files[path]);\n  });\n}",
        "_sum",
    ),
    (
        "merges",
        "function (doc) {\n  if (doc.type === 'changeset' && doc.parents.length === 2) emit(doc.seconds, null);\n}",
        "_count",
    ),
    (
        "heads",
        "function (doc) {\n  if (doc.type === 'head') emit([doc.branch, doc.closed], doc.node);\n}",
        "_count",
    ),
    (
        "first_and_last",
        "function (doc) {\n  if (doc.type === 'changeset') emit([doc.author.name, doc.author.email], doc.seconds);\n}",
        "_stats",
    ),
];

/// The design document, without its id.
pub(crate) fn design() -> Object {
    let views = VIEWS.iter().map(|(name, map, reduce)| {
        let mut view = Object::new();
        view.insert("map", *map);
        view.insert("reduce", *reduce);
        ((*name).to_owned(), Value::from(view))
    });
    let mut design = Object::new();
    design.insert("language", "javascript");
    design.insert("views", views.collect::<Object>());
    design
}
