// Shapes of CouchDB's own documentation: design documents, views, joins, pagination, best practices.
//// tags of posts
function (doc) {
  if (doc.type === 'post' && doc.tags && Array.isArray(doc.tags)) {
    doc.tags.forEach(function (tag) {
      emit(tag.toLowerCase(), 1);
    });
  }
}
//// all documents
function(doc) {
  emit(null, doc);
}
//// by date of a post
function (doc) {
  if (doc.date && doc.title) {
    emit(doc.date, doc.title);
  }
}
//// sizes by file name
function (doc) {
  if (doc.filename) { emit(doc.filename, doc.size || 0); }
}
//// day out of an ISO date
function (doc) {
  var dt = new Date(doc.created_at);
  emit([dt.getDate(), doc.type], 1);
}
//// parts of an ISO date
function (doc) {
  var datetime = doc.created_at;
  var year = parseInt(datetime.substr(0, 4));
  var month = parseInt(datetime.substr(5, 2), 10);
  var day = parseInt(datetime.substr(8, 2), 10);
  var hour = parseInt(datetime.substr(11, 2), 10);
  var minute = parseInt(datetime.substr(14, 2), 10);
  emit([doc.type, year, month, day, hour, minute], 1);
}
//// collation of all kinds of values
function (doc) {
  emit([doc.group, doc.n], null);
}
//// linked documents
function (doc) {
  if (doc.ancestors) {
    for (var i in doc.ancestors) {
      emit([doc._id, Number(i) + 1], {_id: doc.ancestors[i]});
    }
  }
}
//// a post and its comments side by side
function (doc) {
  if (doc.type == 'post') {
    emit([doc._id, 0], null);
  } else if (doc.type == 'comment') {
    emit([doc.post, 1], null);
  }
}
//// with modules of the design document
function (doc) {
  var library = require('views/lib/text');
  emit(library.slug(doc.title), 1);
}
//// logging
function (doc) {
  log('mapping ' + doc._id);
  emit(doc._id, 1);
}
