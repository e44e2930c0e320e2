// nano: databases, documents, bulk, lists, views, update functions, changes, attachments, sessions.
'use strict';
const { assert, server, until, run } = require('./common.js');
const nano = require('nano')(server);

run(async () => {
  await nano.db.create('nano_test');
  await assert.rejects(nano.db.create('nano_test'), { statusCode: 412, error: 'file_exists' });
  assert((await nano.db.list()).includes('nano_test'));
  const db = nano.use('nano_test');

  const made = await db.insert({ crazy: true }, 'rabbit');
  assert.match(made.rev, /^1-[0-9a-f]{32}$/);
  await assert.rejects(db.insert({ crazy: false }, 'rabbit'), { statusCode: 409, error: 'conflict' });
  const updated = await db.insert({ crazy: false, _rev: made.rev }, 'rabbit');
  const rabbit = await db.get('rabbit', { revs_info: true });
  assert.deepStrictEqual(rabbit._revs_info.map((info) => info.status), ['available', 'available']);
  assert.strictEqual((await db.head('rabbit')).etag, `"${updated.rev}"`);
  assert.strictEqual((await db.get('rabbit', { rev: made.rev })).crazy, true);

  const bulk = await db.bulk({ docs: Array.from({ length: 100 }, (_, n) => ({ _id: `b${n}`, n, even: n % 2 === 0 })) });
  assert(bulk.every((result) => result.ok));
  assert.strictEqual((await db.list({ startkey: 'b', endkey: 'b\ufff0', limit: 200 })).rows.length, 100);
  const fetched = await db.fetch({ keys: ['b1', 'none', 'b99'] });
  assert.deepStrictEqual(fetched.rows.map((row) => (row.doc ? row.doc.n : row.error)), [1, 'not_found', 99]);

  await db.insert({
    views: {
      parity: { map: 'function (doc) { emit(doc.even ? "even" : "odd", doc.n); }', reduce: '_sum' },
      lib: { half: 'exports.half = function (n) { return n / 2; };' },
      half: { map: 'function (doc) { if (doc.even) emit(require("views/lib/half").half(doc.n)); }', reduce: '_top_2' },
      last: { map: 'function (doc) { if (doc.n) emit(doc.n, doc._id); }', reduce: '_last' },
    },
    updates: {
      add: 'function (doc, req) { doc.n += JSON.parse(req.body).by; return [doc, { json: { n: doc.n } }]; }',
    },
  }, '_design/numbers');
  const sums = await db.view('numbers', 'parity', { group: true });
  const value = (key) => sums.rows.find((row) => row.key === key).value;
  assert.strictEqual(value('even'), 2450);
  const rows = await db.view('numbers', 'parity', { reduce: false, key: 'even', limit: 3, include_docs: true });
  assert.deepStrictEqual(rows.rows.map((row) => row.doc._id), ['b0', 'b10', 'b12']);

  const halves = await db.view('numbers', 'half', { reduce: false, descending: true, limit: 2 });
  assert.deepStrictEqual(halves.rows.map((row) => row.key), [49, 48]);
  assert.strictEqual((await db.view('numbers', 'last')).rows[0].value, 'b99');
  assert.deepStrictEqual(await db.atomic('numbers', 'add', 'b1', { by: 500 }), { n: 501 });
  assert.strictEqual((await db.view('numbers', 'last')).rows[0].value, 'b1');

  const changes = await db.changes({ since: 0, include_docs: true });
  assert.strictEqual(changes.results.length, 102);
  const seen = [];
  let stopped = false;
  db.changesReader.start({ since: changes.last_seq, wait: false, batchSize: 10 })
    .on('change', (change) => seen.push(change.id))
    // The request that `stop` cuts off is told as an error, if there is one just then.
    .on('error', (error) => assert(stopped, error));
  await db.insert({ late: true }, 'late');
  await until('the reader sees a change', () => seen.includes('late'));
  stopped = true;
  db.changesReader.stop();

  await db.attachment.insert('holder', 'a.txt', Buffer.from('text'), 'text/plain');
  assert.strictEqual((await db.attachment.get('holder', 'a.txt')).toString(), 'text');

  const binary = Buffer.alloc(200000, 'noise');
  const files = [
    { name: 'b.txt', data: 'more text', content_type: 'text/plain' },
    { name: 'c.bin', data: binary, content_type: 'application/octet-stream' },
  ];
  await db.multipart.insert({ kept: true }, files, 'parts');
  assert.strictEqual((await db.attachment.get('parts', 'b.txt')).toString(), 'more text');
  assert(binary.equals(await db.attachment.get('parts', 'c.bin')));
  const parts = await db.multipart.get('parts');
  assert(parts.includes('"kept":true') && parts.includes('filename="c.bin"'));
  await db.destroy('parts', (await db.get('parts'))._rev);

  const rev = (await db.get('rabbit'))._rev;
  await db.destroy('rabbit', rev);
  await assert.rejects(db.get('rabbit'), { statusCode: 404, reason: 'deleted' });
  assert.strictEqual((await db.info()).doc_count, 103);

  // Login with a cookie instead of a password in the URL.
  const { username, password, origin } = new URL(server);
  const guest = require('nano')(origin);
  await guest.auth(decodeURIComponent(username), decodeURIComponent(password));
  assert.strictEqual((await guest.session()).userCtx.name, decodeURIComponent(username));
  await guest.use('nano_test').insert({ by: 'cookie' });
  await nano.db.destroy('nano_test');
  await assert.rejects(db.info(), { statusCode: 404 });
});
