// Queries by selector: PouchDB's find plugin on the server against the same queries run locally, and nano's.
'use strict';
const { assert, PouchDB, local, remote, server, run } = require('./common.js');
PouchDB.plugin(require('pouchdb-find'));
const nano = require('nano')(server);

run(async () => {
  const [here, there] = [local(), remote('find')];
  const docs = Array.from({ length: 120 }, (_, n) => ({
    _id: `doc-${String(n).padStart(3, '0')}`,
    n,
    kind: ['lake', 'river', 'sea'][n % 3],
    tags: n % 4 ? ['a', `t${n % 5}`] : [],
    nested: n % 2 ? { deep: n % 7 } : {},
    name: `name ${n % 11}`,
  }));
  await here.bulkDocs(docs);
  await here.replicate.to(there);
  for (const db of [here, there]) {
    await db.createIndex({ index: { fields: ['kind', 'n'], ddoc: 'by', name: 'kind-n' } });
    await db.createIndex({ index: { fields: ['nested.deep'] } });
    const again = await db.createIndex({ index: { fields: ['kind', 'n'], ddoc: 'by', name: 'kind-n' } });
    assert.strictEqual(again.result, 'exists');
  }
  const listed = await there.getIndexes();
  assert.deepStrictEqual(listed.indexes.map((index) => index.type), ['special', 'json', 'json']);

  const same = async (query) => {
    const [ours, theirs] = [await there.find(query), await here.find(query)];
    const shown = (answer) => answer.docs.map((doc) => ({ ...doc }));
    assert.deepStrictEqual(shown(ours), shown(theirs), JSON.stringify(query));
    assert(ours.docs.length > 0, JSON.stringify(query));
    return ours;
  };
  await same({ selector: { kind: 'sea' }, limit: 200 });
  await same({ selector: { kind: 'sea', n: { $gt: 40, $lte: 80 } }, limit: 200 });
  await same({ selector: { kind: 'lake' }, sort: [{ kind: 'desc' }, { n: 'desc' }], limit: 7, skip: 3 });
  await same({ selector: { kind: 'river', n: { $gte: 0 } }, sort: ['kind', 'n'], fields: ['_id', 'n'] });
  await same({ selector: { 'nested.deep': { $in: [1, 3] } }, limit: 200 });
  await same({ selector: { _id: { $gt: 'doc-050' }, tags: { $all: ['a', 't2'] } }, limit: 200 });
  await same({ selector: { _id: { $gte: null }, tags: { $size: 0 } }, limit: 200 });
  await same({ selector: { _id: { $gte: null }, name: { $regex: '^name 1' } }, limit: 200 });
  await same({ selector: { _id: { $gte: null }, $or: [{ n: 3 }, { n: { $mod: [50, 1] } }] }, limit: 200 });
  await same({ selector: { kind: 'sea', $not: { n: { $lt: 100 } } }, limit: 200 });
  await same({ selector: { _id: { $gte: null }, tags: { $elemMatch: { $eq: 't3' } } }, limit: 200 });
  const told = await there.explain({ selector: { kind: 'sea', n: { $gt: 40 } } });
  assert.deepStrictEqual([told.index.ddoc, told.index.name], ['_design/by', 'kind-n']);

  // Indexes follow edits, and what is deleted is gone.
  await there.put({ ...(await there.get('doc-002')), kind: 'moved' });
  await there.remove(await there.get('doc-005'));
  await here.replicate.from(there);
  await same({ selector: { kind: 'moved' } });
  await same({ selector: { kind: 'sea' }, limit: 200 });

  // Pages by bookmark, and what is told of a scan.
  const db = nano.use('find');
  const found = [];
  for (let bookmark; ;) {
    const page = await db.find({ selector: { kind: 'river' }, limit: 15, bookmark });
    if (page.docs.length === 0) break;
    found.push(...page.docs.map((doc) => doc.n));
    bookmark = page.bookmark;
  }
  assert.deepStrictEqual(found, docs.map((doc) => doc.n).filter((n) => n % 3 === 1));
  const scan = await db.find({ selector: { name: 'name 5' }, execution_stats: true });
  assert.match(scan.warning, /No matching index found/);
  assert.strictEqual(scan.execution_stats.results_returned, scan.docs.length);
  const made = await db.createIndex({ index: { fields: ['name'] }, name: 'by-name' });
  assert.strictEqual(made.result, 'created');
  assert.strictEqual((await db.find({ selector: { name: 'name 5' } })).warning, undefined);
  await there.deleteIndex({ ddoc: made.id, name: 'by-name' });
  assert.match((await db.find({ selector: { name: 'name 5' } })).warning, /No matching index found/);
  await assert.rejects(db.find({ selector: { n: { $nope: 1 } } }), { statusCode: 400, error: 'invalid_operator' });
  await assert.rejects(there.find({ selector: { n: 1 }, sort: ['tags'] }), /No index exists for this sort/);
});
