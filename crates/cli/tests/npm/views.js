// A design document put by PouchDB and queried on the server, against the same query run locally.
'use strict';
const { assert, local, remote, run } = require('./common.js');

run(async () => {
  const [here, there] = [local(), remote('views')];
  const design = {
    _id: '_design/all',
    views: {
      mixed: { map: 'function (doc) { emit(doc.key, doc.n); }' },
      sum: { map: 'function (doc) { emit([doc.group, doc.n % 3], doc.n); }', reduce: '_sum' },
      count: { map: 'function (doc) { emit(doc.group); }', reduce: '_count' },
      stats: { map: 'function (doc) { if (doc.n) emit(null, doc.n); }', reduce: '_stats' },
    },
  };
  const keys = [null, false, true, -1.5, 0, 10, 'a', 'A', 'aa', 'ä', [], [1], [1, 2], ['a'], {}, { a: 1 }];
  const docs = Array.from({ length: 160 }, (_, n) => ({
    _id: `doc-${String(n).padStart(3, '0')}`, n, group: `g${n % 5}`, key: keys[n % keys.length],
  }));
  await here.bulkDocs([...docs, design]);
  await here.replicate.to(there);

  const same = async (view, options) => {
    const [ours, theirs] = [await there.query(view, options), await here.query(view, options)];
    const rows = (answer) => answer.rows.map(({ id, key, value, doc }) => ({ id, key, value, doc: doc && doc._rev }));
    assert.deepStrictEqual(rows(ours), rows(theirs), `${view} ${JSON.stringify(options)}`);
    return ours;
  };
  // PouchDB collates text by code units: only keys whose order both agree on are ranged over.
  await same('all/sum', { reduce: false });
  await same('all/sum', { group: true });
  await same('all/sum', { group_level: 1 });
  await same('all/sum', { reduce: true });
  await same('all/sum', { startkey: ['g1'], endkey: ['g3', {}], reduce: false, descending: false });
  await same('all/sum', { startkey: ['g3', {}], endkey: ['g1'], reduce: false, descending: true });
  await same('all/sum', { startkey: ['g1', 1], endkey: ['g2', 1], inclusive_end: false, group: true });
  await same('all/count', { group: true });
  await same('all/count', { key: 'g2' });
  await same('all/count', { keys: ['g4', 'g0', 'none'], reduce: false, include_docs: true });
  await same('all/count', { reduce: false, limit: 7, skip: 30 });
  await same('all/stats', {});
  await same('all/mixed', { key: 10 });
  await same('all/mixed', { startkey: -2, endkey: 20 });
  const all = await there.query('all/mixed', { limit: 0 });
  assert.strictEqual(all.total_rows, 160);

  // The index follows edits and deletions.
  await there.remove(await there.get('doc-002'));
  await there.put({ ...(await there.get('doc-007')), group: 'moved' });
  await here.replicate.from(there);
  await same('all/count', { group: true });
  await same('all/stats', {});
  await assert.rejects(there.query('all/none'), { status: 404 });
  await assert.rejects(there.query('nothing/none'), { status: 404 });
});
