// The same documents edited on both sides: after a sync both sides hold the same trees, winners
// and conflicts, and resolving on one side resolves on the other.
'use strict';
const { assert, local, remote, assertEqual, run } = require('./common.js');

run(async () => {
  const [a, b, there] = [local(), local(), remote('conflicts')];
  await a.bulkDocs(Array.from({ length: 30 }, (_, n) => ({ _id: `doc-${n}`, value: 'first' })));
  await a.sync(there);
  await b.sync(there);
  for (let n = 0; n < 30; n++) {
    for (const [side, db, edits] of [['a', a, 1 + (n % 3)], ['b', b, 1 + (n % 2)], ['there', there, 1]]) {
      for (let edit = 0; edit < edits; edit++) {
        const doc = await db.get(`doc-${n}`);
        await db.put({ ...doc, value: `${side} ${edit}` });
      }
      if (n % 7 === 0 && side === 'b') await db.remove(await db.get(`doc-${n}`));
    }
  }
  for (let round = 0; round < 2; round++) for (const db of [a, b]) await db.sync(there);
  await assertEqual(a, there);
  await assertEqual(b, there);

  const conflicted = await there.get('doc-1', { conflicts: true });
  assert.strictEqual(conflicted._conflicts.length, 2);
  for (const rev of conflicted._conflicts) await there.remove('doc-1', rev);
  await a.sync(there);
  const resolved = await a.get('doc-1', { conflicts: true });
  assert.strictEqual(resolved._conflicts, undefined);
  assert.strictEqual(resolved._rev, conflicted._rev);

  // A stale edit is refused, here as there.
  const stale = { _id: 'doc-2', _rev: '1-00000000000000000000000000000000' };
  await assert.rejects(there.put(stale), { status: 409, name: 'conflict' });
  await a.sync(there);
  await b.sync(there);
  await assertEqual(a, b);
});
