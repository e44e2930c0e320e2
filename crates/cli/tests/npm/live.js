// Live replication in both directions between two clients through the server.
'use strict';
const { assert, local, remote, assertEqual, until, run } = require('./common.js');

run(async () => {
  const [a, b, there] = [local(), local(), remote('live')];
  await there.info();
  const syncs = [a, b].map((db) => db.sync(there, { live: true, retry: true }));
  const failures = [];
  for (const sync of syncs) {
    sync.on('error', (error) => failures.push(error));
    sync.on('denied', (error) => failures.push(error));
  }
  for (let n = 0; n < 50; n++) {
    await [a, b, there][n % 3].put({ _id: `doc-${n}`, n });
    if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 30));
  }
  const full = async (db) => (await db.info()).doc_count === 50;
  for (const db of [a, b, there]) await until('all documents are everywhere', () => full(db));

  await a.put({ ...(await a.get('doc-1')), seen: true });
  await until('an edit arrives', async () => (await b.get('doc-1')).seen === true);
  await b.remove(await b.get('doc-2'));
  await until('a deletion arrives', () => a.get('doc-2').then(() => false, () => true));

  // Two clients fight over one document while both are connected.
  await Promise.all([a, b].map(async (db, side) => db.put({ ...(await db.get('doc-3')), side })));
  const rev = async (db) => (await db.get('doc-3'))._rev;
  await until('one winner everywhere', async () => {
    const revs = [await rev(a), await rev(b), await rev(there)];
    return revs[0].startsWith('2-') && revs.every((one) => one === revs[0]);
  });
  for (const sync of syncs) sync.cancel();
  assert.deepStrictEqual(failures, []);
  for (const db of [a, b]) {
    await db.sync(there);
    await assertEqual(db, there);
  }

  // A live feed of the server itself, through long polls.
  const seen = [];
  const feed = there.changes({ since: 'now', live: true, include_docs: true });
  feed.on('change', (change) => seen.push(change));
  await until('the feed has begun', async () => {
    await there.post({ late: true });
    return seen.length > 0;
  });
  feed.cancel();
  assert.strictEqual(seen[0].doc.late, true);
});
