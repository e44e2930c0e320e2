// Shapes of books and guides: cookbooks of views, answers to what SQL does, snippets of the old wiki.
//// one field, where it is there
function(doc) {
  if(doc.name) {
    emit(doc.name, null);
  }
}
//// last names and ages
function(doc) {
  if (doc.age && doc.name) {
    emit(doc.age, doc.name);
  }
}
//// suffixes of a word
function(doc) {
  var word = doc.name;
  for (var i = 0; i < word.length; i++) {
    emit(word.substr(i), null);
  }
}
//// a reversed key
function(doc) {
  if (doc.name) {
    emit(doc.name.split('').reverse().join(''), 1);
  }
}
//// documents with attachments
function (doc) {
  if (doc._attachments) {
    emit('with attachment', 1);
  } else {
    emit('without attachment', 1);
  }
}
//// names and sizes of attachments
function (doc) {
  for (var name in doc._attachments) {
    emit([doc._id, name], doc._attachments[name].length);
  }
}
//// conflicts
function (doc) {
  if (doc._conflicts) {
    emit(doc._conflicts, null);
  }
}
//// words of a text
function (doc) {
  if (doc.text) {
    var words = doc.text.toLowerCase().split(/\W+/);
    for (var i = 0; i < words.length; i++) {
      if (words[i]) emit(words[i], 1);
    }
  }
}
//// words, each once
function (doc) {
  var seen = {};
  doc.text.replace(/[^A-Za-z ]/g, '').split(' ').forEach(function (word) {
    if (word && !seen[word]) {
      seen[word] = true;
      emit(word.toLowerCase(), doc._id);
    }
  });
}
//// values on both sides of a link
function (doc) {
  emit([doc.from, 'out'], doc.to);
  emit([doc.to, 'in'], doc.from);
}
//// truthiness of a list
function (doc) {
  if (doc.tags && doc.tags.length > 0) {
    for (var idx in doc.tags) {
      emit(doc.tags[idx], null);
    }
  }
}
//// pairs of a list
function (doc) {
  var tags = doc.tags, i, j;
  for (i = 0; i < tags.length; i += 1) {
    for (j = i + 1; j < tags.length; j += 1) {
      emit([tags[i], tags[j]].sort(), 1);
    }
  }
}
//// the whole tree above a path
function (doc) {
  var parts = doc.path.split('/');
  while (parts.length > 0) {
    emit(parts.slice(), 1);
    parts.pop();
  }
}
