// PouchDB as an ordinary user of a database with access: pulls and pushes what names the user, and nothing else.
'use strict';
const { assert, PouchDB, server, local, assertEqual, until, run } = require('./common.js');
PouchDB.plugin(require('pouchdb-find'));
const admin = require('nano')(server);

const as = (name) => {
  const url = new URL(server);
  [url.username, url.password] = [name, 'secret'];
  return new PouchDB(`${url.toString().replace(/\/$/, '')}/shared`, { skip_setup: true });
};

const ids = async (db) => (await db.allDocs()).rows.map((row) => row.id);

run(async () => {
  const users = admin.use('_users');
  for (const [name, roles] of [['ann', ['team']], ['bob', ['team']], ['eve', []]]) {
    await users.insert({ name, password: 'secret', roles, type: 'user' }, `org.couchdb.user:${name}`);
  }
  await admin.request({ path: 'shared', method: 'PUT', qs: { access: true } });
  await admin.request({
    db: 'shared', path: '_security', method: 'PUT',
    body: { admins: { names: [], roles: [] }, members: { names: [], roles: [] } },
  });
  const all = admin.use('shared');
  await all.bulk({ docs: Array.from({ length: 300 }, (_, n) => ({ _id: `b${n}`, _access: ['bob'] })) });
  await all.insert({ views: {} }, '_design/admins');

  // Ann pushes with an attachment, a conflict and a deletion.
  const [ann, here] = [as('ann'), local()];
  await here.bulkDocs(Array.from({ length: 120 }, (_, n) => ({ _id: `a${n}`, _access: ['ann'], n })));
  await here.put({ _id: 'shared', _access: ['team'], _attachments: { f: { content_type: 'text/plain', data: 'aGk=' } } });
  await here.bulkDocs([{ _id: 'a1', _rev: '2-ffffffffffffffffffffffffffffffff', _access: ['ann'], n: -1 }], { new_edits: false });
  await here.remove(await here.get('a2'));
  await here.put({ _id: 'nameless' });
  const denied = [];
  const pushed = await here.replicate.to(ann).on('denied', (error) => denied.push(error));
  assert.strictEqual(pushed.doc_write_failures, 1);
  assert.strictEqual(denied.length, 1);
  await here.remove(await here.get('nameless'));
  await here.replicate.to(ann);

  // A second device gets the same, and goes on from its checkpoint.
  const second = local();
  const pulled = await second.replicate.from(ann);
  assert.strictEqual(pulled.ok, true);
  assert.strictEqual(await assertEqual(second, ann), 122);
  assert.deepStrictEqual((await second.get('a1', { conflicts: true }))._access, ['ann']);
  assert.strictEqual((await second.replicate.from(ann)).docs_read, 0);

  // Bob shares the one, Eve has nothing.
  const bobs = local();
  await bobs.replicate.from(as('bob'));
  assert.strictEqual((await ids(bobs)).length, 301);
  assert.strictEqual((await bobs.getAttachment('shared', 'f')).toString(), 'hi');
  const eves = local();
  await eves.replicate.from(as('eve'));
  assert.deepStrictEqual(await ids(eves), []);
  await assert.rejects(as('eve').get('shared'), { status: 404 });

  // Live in both directions, while others write.
  const live = second.sync(ann, { live: true, retry: false });
  await bobs.put({ ...(await bobs.get('shared')), by: 'bob' });
  await bobs.replicate.to(as('bob'));
  await all.insert({ _access: ['bob'] }, 'not for ann');
  await until('bob\'s change arrives', async () => (await second.get('shared')).by === 'bob');
  await second.put({ _id: 'from ann', _access: ['ann'] });
  await until('ann\'s document is there', () => ann.get('from ann').then(() => true, () => false));
  live.cancel();
  assert.strictEqual((await ids(second)).includes('not for ann'), false);

  // Indexes and views of admins answer each user about their own documents.
  await all.createIndex({ index: { fields: ['n'] }, ddoc: 'by-n', name: 'n' });
  const map = 'function (doc) { if (doc.n >= 0) { emit(doc.n, 1); } }';
  await all.insert({ views: { n: { map, reduce: '_sum' } } }, '_design/q');
  const high = await ann.find({ selector: { n: { $gte: 100 } }, fields: ['_id'], limit: 100 });
  assert.deepStrictEqual(high.docs.map((doc) => doc._id), Array.from({ length: 20 }, (_, n) => `a${100 + n}`));
  assert.deepStrictEqual((await as('bob').find({ selector: { n: { $gte: 0 } } })).docs, []);
  assert.strictEqual((await ann.getIndexes()).indexes.length, 2);
  await assert.rejects(ann.createIndex({ index: { fields: ['x'] } }), { status: 403 });
  const rows = await ann.query('q/n', { reduce: false, startkey: 118, include_docs: true });
  assert.deepStrictEqual(rows.rows.map((row) => row.doc._id), ['a118', 'a119']);
  assert.strictEqual((await ann.query('q/n')).rows[0].value, (await all.view('q', 'n')).rows[0].value);
  assert.deepStrictEqual((await as('eve').query('q/n', { reduce: false })).rows, []);

  // A history that was made up takes nothing away.
  const thief = local();
  const taken = (await all.get('a5'))._rev.slice(2);
  await thief.bulkDocs([{ _id: 'a5', _access: ['eve'], _rev: '2-ee', _revisions: { start: 2, ids: ['ee', taken] } }], { new_edits: false });
  const robbed = await thief.replicate.to(as('eve'));
  assert.strictEqual(robbed.doc_write_failures, 1);
  assert.strictEqual((await all.get('a5')).n, 5);
  await admin.db.destroy('shared');
});
