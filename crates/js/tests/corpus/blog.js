// Shapes of blogs, forums and publishing applications.
//// recent posts
function (doc) {
  if (doc.type == 'post' && doc.published) {
    emit(new Date(doc.created_at), {title: doc.title, author: doc.author});
  }
}
//// archive by month
function (doc) {
  if (doc.type !== 'post') return;
  var months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
  var date = new Date(doc.created_at);
  emit([date.getFullYear(), months[date.getMonth()]], 1);
}
//// slugs
function (doc) {
  var slug = doc.title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  emit(slug, doc._id);
}
//// excerpts
function (doc) {
  if (doc.text) {
    var text = doc.text.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ');
    emit(doc._id, text.length > 40 ? text.substring(0, 40) + '...' : text);
  }
}
//// comments by post and time
function (doc) {
  if (doc.type === 'comment' && doc.post) {
    emit([doc.post, doc.created_at], {by: doc.author, spam: !!doc.spam});
  }
}
//// hashtags
function (doc) {
  var found = (doc.text || '').match(/#[A-Za-z0-9_]+/g) || [];
  for (var i = 0, len = found.length; i < len; ++i) {
    emit(found[i].substring(1).toLowerCase(), 1);
  }
}
//// mentions
function (doc) {
  if (!doc.text) return;
  doc.text.split(/\s/).filter(function (word) {
    return word.charAt(0) === '@' && word.length > 1;
  }).forEach(function (word) {
    emit(word.slice(1).replace(/\W+$/, ''), doc._id);
  });
}
//// a search index with stop words
function (doc) {
  var stop = {the: true, and: true, of: true, a: true};
  function tokens(text) {
    return (text || '').toLowerCase().replace(/[^\w\s]/g, ' ').split(/\s+/);
  }
  var counts = {};
  tokens(doc.title).concat(tokens(doc.text)).forEach(function (token) {
    if (token.length > 2 && !stop.hasOwnProperty(token)) {
      counts[token] = (counts[token] || 0) + 1;
    }
  });
  for (var token in counts) emit(token, counts[token]);
}
//// prefixes to complete words
function (doc) {
  if (doc.title) {
    var title = doc.title.toLowerCase();
    for (var i = 1; i <= title.length && i < 12; i++) emit(title.slice(0, i), doc.title);
  }
}
//// categories with a default
function (doc) {
  var categories = doc.categories || ['uncategorized'];
  categories.forEach(function (category) { emit(category, 1); });
}
//// permalinks
(doc) => {
  if (doc.type !== 'post') return;
  const [year, month] = doc.created_at.split('-');
  emit([year, month, doc.slug]);
}
//// permalinks without destructuring
(doc) => {
  const parts = doc.created_at.split('T')[0].split('-');
  emit([...parts, doc.slug]);
}
//// templates of text
(doc) => emit(`${doc.type}/${doc._id}`, doc.title)
//// readers of a post
function (doc) {
  var readers = doc.readers;
  if (!readers || readers.indexOf('public') >= 0) emit(['public', doc.created_at], null);
  else for (var i = 0; i < readers.length; i++) emit([readers[i], doc.created_at], null);
}
