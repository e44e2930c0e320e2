// Shapes of health, survey and field-work applications.
//// contacts by type
function (doc) {
  var types = ['district_hospital', 'health_center', 'clinic', 'person'];
  var idx = types.indexOf(doc.type);
  if (idx !== -1) {
    var dead = !!doc.date_of_death;
    emit([doc.type], dead + ' ' + idx + ' ' + (doc.name && doc.name.toLowerCase()));
  }
}
//// contacts by any word
function (doc) {
  var skip = ['_id', '_rev', 'type', 'refid', 'geolocation'];
  var usedKeys = [];
  var emitMaybe = function (key, value) {
    if (usedKeys.indexOf(key) === -1 && key.length > 2) {
      usedKeys.push(key);
      emit([key], value);
    }
  };
  var emitField = function (key, value, order) {
    if (!key || !value) return;
    key = key.toLowerCase();
    if (skip.indexOf(key) !== -1 || /_date$/.test(key)) return;
    if (typeof value === 'string') {
      value = value.toLowerCase();
      value.split(/\s+/).forEach(function (word) { emitMaybe(word, order); });
    }
    if (typeof value === 'number' || typeof value === 'string') emitMaybe(key + ':' + value, order);
  };
  var order = (doc.dead ? 1 : 0) + ' ' + (doc.name || '');
  Object.keys(doc).forEach(function (key) { emitField(key, doc[key], order); });
}
//// the tree of places above a person
function (doc) {
  var emitPlaces = function (place, depth) {
    if (place && place._id) {
      emit([place._id, depth], doc._id);
      emitPlaces(place.parent, depth + 1);
    }
  };
  emitPlaces(doc.place, 0);
}
//// reports by form and month
function (doc) {
  if (doc.type === 'report' && doc.form && doc.reported) {
    var d = new Date(doc.reported);
    emit([doc.form, d.getFullYear(), d.getMonth()], 1);
  }
}
//// found in a list of inputs
function (doc) {
  if (doc.type === 'case' && doc.items && doc.items[0] && doc.items[0].inputs) {
    var found = false;
    doc.items[0].inputs.forEach(function (input) {
      if (input.name === 'participant' && input.value) { found = true; }
    });
    if (found) emit(doc._id, 1);
  }
}
//// age groups
function (doc) {
  if (typeof doc.age !== 'number') return;
  var low = Math.floor(doc.age / 10) * 10;
  emit(low + '-' + (low + 9), 1);
}
//// phones without punctuation
function (doc) {
  if (doc.phone) emit(doc.phone.replace(/[^0-9+]/g, ''), doc.name);
}
//// answers flattened
function (doc) {
  function flatten(prefix, value) {
    if (Array.isArray(value)) {
      for (var i = 0; i < value.length; i++) flatten(prefix + '[' + i + ']', value[i]);
    } else if (value !== null && typeof value === 'object') {
      for (var key in value) flatten(prefix ? prefix + '.' + key : key, value[key]);
    } else {
      emit(prefix, value);
    }
  }
  flatten('', doc.answers);
}
//// due tasks
function (doc) {
  (doc.tasks || []).forEach(function (task, index) {
    if (task.state == 'due' || task.state == 'scheduled') {
      emit([task.state, task.due], {index: index, of: doc._id});
    }
  });
}
//// missing fields
function (doc) {
  var missing = ['name', 'phone', 'place'].filter(function (field) { return !doc[field]; });
  if (missing.length) emit(missing, doc._id);
}
