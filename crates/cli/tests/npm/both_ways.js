// One-shot replication to the server, from it, and into a second client.
'use strict';
const { assert, local, remote, assertEqual, run } = require('./common.js');

run(async () => {
  const [here, there] = [local(), remote('both_ways')];
  const docs = [];
  for (let n = 0; n < 500; n++) {
    docs.push({ _id: `doc-${String(n).padStart(4, '0')}`, n, half: n / 2, text: `Grüße ☃ ${n}` });
  }
  docs.push({ _id: 'ünï/cödé & more?', z: null, a: [1.5, -0.1, 1e21, true], nested: { b: {}, a: [] } });
  for (const result of await here.bulkDocs(docs)) assert(result.ok, JSON.stringify(result));

  const up = await here.replicate.to(there);
  assert.strictEqual(up.docs_written, 501);
  assert.strictEqual(await assertEqual(here, there), 501);

  // A second replication has nothing to do, because the checkpoint was kept on both sides.
  const again = await here.replicate.to(there);
  assert.strictEqual(again.docs_read, 0);

  for (let n = 0; n < 20; n++) {
    const doc = await there.get(`doc-${String(n).padStart(4, '0')}`);
    if (n % 2) await there.remove(doc);
    else await there.put({ ...doc, changed: 'there' });
  }
  await there.post({ made: 'there' });
  const down = await here.replicate.from(there);
  assert.strictEqual(down.docs_written, 21);
  await assertEqual(here, there);

  const second = local();
  await second.replicate.from(there);
  await assertEqual(second, there);
  assert.strictEqual((await second.info()).doc_count, (await there.info()).doc_count);

  // Filtered by ids and by a selector, which the server evaluates or the client asks for.
  const some = local();
  await some.replicate.from(there, { doc_ids: ['doc-0100', 'doc-0101', 'not there'] });
  assert.strictEqual((await some.info()).doc_count, 2);
});
