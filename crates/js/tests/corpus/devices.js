// Shapes of sensors, monitoring, logs and scientific data.
//// readings by device and time
function (doc) {
  if (doc.device && doc.at) emit([doc.device, doc.at], doc.value);
}
//// key out of an id
function (doc) {
  var parts = doc._id.split(':');
  emit(parts, {device: parts[0], date: parts[1]});
}
//// hours
function (doc) {
  if (!doc.at) return;
  emit(doc.at.substring(0, 13), Number(doc.value));
}
//// time bucket of five minutes
function (doc) {
  var t = Date.parse(doc.at);
  if (!isNaN(t)) emit(t - t % 300000, parseFloat(doc.value));
}
//// levels of a log
function (doc) {
  var m = /^\[(\w+)\]\s+(.*)$/.exec(doc.line);
  if (m) emit([m[1], doc.at], m[2]);
}
//// addresses
function (doc) {
  var ip = doc.ip.split('.').map(Number);
  emit(ip, (ip[0] << 24 | ip[1] << 16 | ip[2] << 8 | ip[3]) >>> 0);
}
//// version numbers
function (doc) {
  var v = (doc.version || '0').split('.').map(function (part) { return parseInt(part, 10) || 0; });
  emit(v, doc.device);
}
//// cells of a map
function (doc) {
  if (doc.loc && doc.loc.length === 2) {
    emit([Math.floor(doc.loc[0] * 10) / 10, Math.floor(doc.loc[1] * 10) / 10], 1);
  }
}
//// points as GeoJSON
function (doc) {
  if (doc.loc) emit({type: 'Point', coordinates: [doc.loc[0], doc.loc[1]]}, [doc._id, doc.loc]);
}
//// values of each channel
function (doc) {
  for (var channel in doc.channels) {
    if (doc.channels.hasOwnProperty(channel)) {
      var value = doc.channels[channel];
      if (value != null && isFinite(value)) emit([doc.device, channel], value);
    }
  }
}
//// mean and deviation
function (doc) {
  var n = doc.scores.length;
  var mean = sum(doc.scores) / n;
  var variance = doc.scores.map(function (x) { return (x - mean) * (x - mean); })
    .reduce(function (a, b) { return a + b; }, 0) / n;
  emit(doc.device, [mean, Math.sqrt(variance)]);
}
//// powers
function (doc) {
  emit(Math.pow(2, doc.n), doc._id);
}
//// query strings
function (doc) {
  var query = doc.url.split('?')[1];
  if (query) query.split('&').forEach(function (pair) {
    var at = pair.indexOf('=');
    emit(pair.slice(0, at), decodeURIComponent(pair.slice(at + 1)));
  });
}
//// hosts
function (doc) {
  var m = doc.url && doc.url.match(/^https?:\/\/(www\.)?([^\/:?#]+)/);
  if (m) emit(m[2].split('.').reverse(), 1);
}
//// histogram
function (doc) {
  var bins = [0, 0, 0, 0];
  for (var i = 0; i < doc.scores.length; i++) {
    var bin = Math.min(Math.floor(doc.scores[i] / 25), 3);
    bins[bin] += 1;
  }
  emit(doc.device, bins);
}
