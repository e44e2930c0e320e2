// Shapes of users, rights, messages and applications in the browser (CouchApps, PouchDB).
//// users by mail
function (doc) {
  if (!doc || !doc.type || doc.type !== 'user' || !doc.email) return;
  emit(doc.email, null);
}
//// fields of users
function (doc) {
  if (doc.type == 'user') { emit(doc._id, { name: doc.name, mail: doc.email, roles: doc.roles }); }
}
//// roles of users
function (doc) {
  if (doc.roles) doc.roles.forEach(function (role) { emit([role, doc.name], null); });
}
//// unread messages
function (doc) {
  if (doc.type === 'message' && (!doc.read || doc.read === 'false')) {
    for (var i = 0; i < doc.to.length; i++) { emit(doc.to[i], 1); }
  }
}
//// conversations
function (doc) {
  if (doc.type === 'message') {
    var pair = [doc.from].concat(doc.to).sort().join('|');
    emit([pair, doc.created_at], doc.text);
  }
}
//// friends in both directions
function (doc) {
  if (doc.friends) {
    doc.friends.forEach(function (friend) {
      var key = doc._id < friend ? [doc._id, friend] : [friend, doc._id];
      emit(key, 1);
    });
  }
}
//// initials
function (doc) {
  if (doc.name) {
    var initials = doc.name.split(' ').map(function (part) { return part[0]; }).join('');
    emit(initials, doc.name);
  }
}
//// callback by name
function (doc) {
  function send(role) { emit(role, doc._id); }
  if (doc.roles) doc.roles.forEach(send);
}
//// emit as callback
function (doc) {
  (doc.roles || []).forEach(emit);
}
//// helpers that call each other
function (doc) {
  var isEven = function (n) { return n === 0 ? true : isOdd(n - 1); };
  var isOdd = function (n) { return n === 0 ? false : isEven(n - 1); };
  emit(isEven(Math.abs(doc.age || 0) % 20), doc.age);
}
//// a function that is called where it is written
function (doc) {
  var key = (function () {
    if (doc.email) return doc.email;
    return doc.name || 'nobody';
  })();
  emit(key, 1);
}
//// flags
function (doc) {
  var flags = 0;
  if (doc.active) flags |= 1;
  if (doc.admin) flags |= 2;
  emit(flags, doc.name);
}
//// the document, without parts
function (doc) {
  delete doc.password;
  emit(doc._id, doc);
}
//// a changed document
function (doc) {
  doc.name = doc.name.toLowerCase();
  emit(doc.name, doc);
}
//// JSON as key
function (doc) {
  emit(JSON.stringify([doc.type, doc.name]), toJSON(doc.roles));
}
//// several views in one
function (doc) {
  if (!doc.type) return;
  emit(['type', doc.type], 1);
  if (doc.owner) emit(['owner', doc.owner, doc.type], 1);
  if (doc.tags) for (var t = 0; t < doc.tags.length; t++) emit(['tag', doc.tags[t], doc.type], 1);
}
