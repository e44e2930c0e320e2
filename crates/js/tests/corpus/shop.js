// Shapes of shops, invoices, accounts and stocks.
//// products by price
function (doc) {
  if (doc.type === 'product') emit(doc.price, {name: doc.name, stock: doc.stock});
}
//// cents
function (doc) {
  emit(Math.round(doc.price * 100), doc.name);
}
//// price as text
function (doc) {
  if (doc.price) emit(doc.name, '$' + doc.price.toFixed(2));
}
//// price range
function (doc) {
  var range;
  switch (true) {
    case doc.price < 10: range = 'low'; break;
    case doc.price < 100: range = 'middle'; break;
    default: range = 'high';
  }
  emit(range, 1);
}
//// order lines
function (doc) {
  if (doc.type == 'order' && doc.items) {
    doc.items.map(function (item) { return [item.sku, item.qty]; }).forEach(function (pair) {
      emit(pair[0], pair[1]);
    });
  }
}
//// revenue by quarter
function (doc) {
  var date = new Date(doc.created_at);
  var quarter = Math.floor(date.getMonth() / 3) + 1;
  emit([date.getFullYear(), 'Q' + quarter], doc.total);
}
//// open invoices
function (doc) {
  if (doc.type === 'invoice' && !doc.paid && doc.due < '2015') {
    emit(doc.due, {customer: doc.customer, total: doc.total || 0});
  }
}
//// balance of accounts
function (doc) {
  if (doc.type != 'transfer') return;
  emit(doc.from, -doc.amount);
  emit(doc.to, doc.amount);
}
//// both of several fields
function (doc) {
  ['name', 'sku', 'brand'].forEach(function (field) {
    if (doc[field]) emit([field, String(doc[field]).toLowerCase()], null);
  });
}
//// fields of a specification
function (doc) {
  Object.keys(doc.spec || {}).forEach(function (name) {
    emit([name, doc.spec[name]], doc._id);
  });
}
//// entries
(doc) => {
  for (const entry of Object.entries(doc.spec || {})) emit(entry[0], entry[1]);
}
//// entries, taken apart
(doc) => {
  for (const [name, value] of Object.entries(doc.spec || {})) emit(name, value);
}
//// sorted numerically
function (doc) {
  var prices = doc.items.map(function (item) { return item.price; });
  prices.sort(function (a, b) { return a - b; });
  emit(doc._id, prices[0]);
}
//// optional chains
(doc) => {
  if (doc.customer?.address?.city) emit(doc.customer.address.city, doc.total ?? 0);
}
//// an object that grows
function (doc) {
  var totals = {};
  doc.items.forEach(function (item) {
    totals[item.sku] = totals[item.sku] || {qty: 0, lines: 0};
    totals[item.sku].qty += item.qty;
    totals[item.sku].lines++;
  });
  Object.keys(totals).forEach(function (sku) { emit(sku, totals[sku]); });
}
