// Shapes of questions and answers on forums and mailing lists.
//// a loop variable that nobody declares
function(doc) {
  for (i = 0; i < doc.items.length; i++) {
    emit(doc.items[i].sku, doc.items[i].qty);
  }
}
//// a loop over names without var
function(doc) {
  for (key in doc) {
    emit(key, doc[key]);
  }
}
//// names of fields
function(doc) {
  var k, keys = [];
  for (k in doc) keys.push(k);
  emit(doc._id, keys);
};
//// year and month of milliseconds
function (doc) {
  if (doc.created) {
    var d = new Date(doc.created);
    emit([d.getFullYear(), d.getMonth() + 1, d.getDate()], 1);
  }
}
//// seconds since 1970
function (doc) {
  var date = new Date(doc.created / 1000 * 1000);
  emit(date.toISOString(), null);
}
//// day as text with zeros
function (doc) {
  function pad(n) { return n < 10 ? '0' + n : n; }
  var d = new Date(doc.created_at);
  emit(d.getUTCFullYear() + '-' + pad(d.getUTCMonth() + 1) + '-' + pad(d.getUTCDate()), 1);
}
//// age in days
function (doc) {
  var from = new Date(doc.created_at), to = new Date(doc.updated_at);
  emit(doc._id, Math.floor((to - from) / 86400000));
}
//// a date in the words of a mail
function (doc) {
  emit(new Date(doc.mailed).getTime(), doc.subject);
}
//// documents of today
function (doc) {
  if (new Date(doc.created_at) < new Date()) emit(doc._id);
}
//// sums inside of a document
function (doc) {
  var total = 0;
  doc.items.forEach(function (item) { total += item.qty * item.price; });
  emit(doc.customer, total);
}
//// the largest of a list
function (doc) {
  emit(doc._id, Math.max.apply(null, doc.scores));
}
//// maximum without apply
function (doc) {
  emit(doc._id, doc.scores.reduce(function (a, b) { return Math.max(a, b); }, 0));
}
//// instanceof
function (doc) {
  if (doc.tags instanceof Array) emit(doc.tags.length, doc.tags);
}
//// typeof
function (doc) {
  if (typeof doc.name === 'string') emit(doc.name.trim(), typeof doc.tags);
}
//// case of a key
function (doc) {
  emit([doc.name.toUpperCase(), doc.email.toLowerCase()], doc._id);
}
//// domain of an address
function (doc) {
  if (doc.email && doc.email.indexOf('@') > -1) emit(doc.email.split('@')[1], 1);
}
//// a pattern
function (doc) {
  if (/^user[-_]\d+$/.test(doc._id)) emit(doc._id, doc.name);
}
//// groups of a pattern
function (doc) {
  var m = doc.created_at.match(/^(\d{4})-(\d\d)-(\d\d)/);
  if (m) emit([m[1], m[2], m[3]], null);
}
//// a pattern without regard to case
function (doc) {
  if (doc.title && doc.title.match(/couch|sofa/i)) emit(doc.title, null);
}
//// matches one after the other
function (doc) {
  var re = /#(\w+)/g, m;
  while ((m = re.exec(doc.text)) !== null) {
    emit(m[1].toLowerCase(), 1);
  }
}
//// try and catch
function (doc) {
  try {
    emit(doc.profile.address.city, 1);
  } catch (e) {
    emit('unknown', 1);
  }
}
//// for each of old engines, as people write it today
function (doc) {
  for (const item of doc.items) {
    emit(item.sku, item);
  }
}
