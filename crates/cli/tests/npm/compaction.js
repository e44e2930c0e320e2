// PouchDB has a database compacted, and goes on where it was: checkpoints, conflicts, attachments.
'use strict';
const { assert, local, remote, contents, until, run } = require('./common.js');

run(async () => {
  const [one, far, other] = [local(), remote('compacted'), local()];
  const size = async () => (await far.info()).sizes.file;
  const attachment = { 'a.txt': { content_type: 'text/plain', data: Buffer.from('text '.repeat(200)).toString('base64') } };
  await one.bulkDocs(Array.from({ length: 100 }, (_, n) => ({ _id: `d${n}`, n, ...(n % 10 ? {} : { _attachments: attachment }) })));
  for (let round = 0; round < 8; round += 1) {
    const { rows } = await one.allDocs({ include_docs: true });
    await one.bulkDocs(rows.map(({ doc }) => ({ ...doc, round })));
    await one.replicate.to(far);
  }
  const branch = (rev) => ({ _id: 'd1', _rev: rev, branch: rev });
  await one.bulkDocs([branch('2-0a'), branch('3-0b')], { new_edits: false });
  await one.remove(await one.get('d2'));
  await one.replicate.to(far);

  const [before, long] = [await contents(far), await size()];
  await far.compact();
  assert((await size()) * 2 < long, `${await size()} of ${long} bytes`);
  assert.deepStrictEqual(await contents(far), before);
  assert.deepStrictEqual(before, await contents(one));

  const again = await one.replicate.to(far);
  assert.strictEqual(again.docs_read, 0, 'the checkpoint is still there');

  // Both ways while it is compacted again and again.
  const feeds = [one.replicate.to(far, { live: true }), other.replicate.from(far, { live: true })];
  for (let n = 0; n < 20; n += 1) {
    await one.put({ _id: `late${n}`, n });
    await far.compact();
  }
  await until('everything has arrived', async () => (await other.info()).doc_count === 119);
  feeds.forEach((feed) => feed.cancel());
  assert.deepStrictEqual(await contents(other), await contents(one));
  assert.deepStrictEqual(await contents(far), await contents(one));
});
