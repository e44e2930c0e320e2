// nano: partitioned databases.
'use strict';
const { assert, server, run } = require('./common.js');
const nano = require('nano')(server);

const ids = (answer) => answer.rows.map((row) => row.id);

run(async () => {
  await nano.db.create('parts', { partitioned: true });
  const db = nano.use('parts');
  assert.deepStrictEqual((await db.info()).props, { partitioned: true });
  const docs = Array.from({ length: 40 }, (_, n) => ({ _id: `${n % 2 ? 'odd' : 'even'}:${100 + n}`, n }));
  assert((await db.bulk({ docs })).every((result) => result.ok));
  await assert.rejects(db.insert({}, 'nopart'), { statusCode: 400, error: 'illegal_docid' });

  const info = await db.partitionInfo('odd');
  assert.deepStrictEqual([info.partition, info.doc_count, info.doc_del_count], ['odd', 20, 0]);
  assert.deepStrictEqual(ids(await db.partitionedList('odd', { limit: 2 })), ['odd:101', 'odd:103']);

  await db.insert({ views: { n: { map: 'function (doc) { emit(-doc.n, doc.n); }', reduce: '_sum' } } }, '_design/d');
  const view = await db.partitionedView('even', 'd', 'n', { reduce: false, limit: 2 });
  assert.deepStrictEqual(ids(view), ['even:138', 'even:136']);
  const sum = await db.partitionedView('even', 'd', 'n', {});
  assert.strictEqual(sum.rows[0].value, 380);
  await assert.rejects(db.view('d', 'n'), { statusCode: 400, error: 'query_parse_error' });

  await db.createIndex({ index: { fields: ['n'] }, name: 'n' });
  const found = await db.partitionedFind('odd', { selector: { n: { $gt: 34 } } });
  assert.deepStrictEqual(found.docs.map((doc) => doc._id), ['odd:135', 'odd:137', 'odd:139']);
  await nano.db.destroy('parts');
});
