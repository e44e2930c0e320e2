// Databases that were imported from CouchDB's files: read by nano, replicated by PouchDB, which goes on editing.
'use strict';
const { assert, server, local, remote, assertEqual, run } = require('./common.js');
const nano = require('nano')(server);

run(async () => {
  const db = nano.use('snappy-fresh');
  const info = await db.info();
  assert.strictEqual(info.doc_count, 298);
  const doc = await db.get('conflict', { conflicts: true, deleted_conflicts: true });
  assert.strictEqual(doc._rev, `2-${'c'.repeat(32)}`);
  assert.deepStrictEqual(doc._deleted_conflicts, [`2-${'d'.repeat(32)}`]);
  const gzip = await db.attachment.get('files', 'plain.txt');
  assert(gzip.length > 20000, `${gzip.length} bytes`);
  const rows = await db.view('views', 'n', { reduce: false, startkey: 0 });
  assert.strictEqual(rows.rows.length, 290);
  // Edits go on where CouchDB stopped, and its validation functions count.
  const d = await db.get('d0100');
  const edited = await db.insert({ ...d, edited: true });
  assert.match(edited.rev, /^2-/);
  await assert.rejects(db.insert({ _id: 'no', forbidden: true }), { statusCode: 403 });

  const there = remote('snappy-fresh');
  const here = local();
  const down = await here.replicate.from(there);
  assert(down.ok, JSON.stringify(down));
  assert(await assertEqual(here, there) >= 298);
  await here.put({ _id: 'made-here' });
  const up = await here.replicate.to(there);
  assert.strictEqual(up.docs_written, 1);
  await assertEqual(here, there);

  const parts = nano.use('parts');
  const listed = await parts.partitionInfo('p1');
  assert.strictEqual(listed.doc_count, 20);
});
