// How many requests a pull of 1,000 documents takes in batches of 100: for each batch one for the changes, one for the
// documents, one for information on the database and two for the checkpoint. The last changes are empty, by which the client
// knows that it has all. A server that does not answer one of them as the client likes is asked for single documents.
'use strict';
const { assert, PouchDB, server, local, remote, run } = require('./common.js');

run(async () => {
  const docs = [];
  for (let n = 0; n < 1000; n++) docs.push({ _id: `doc-${String(n).padStart(4, '0')}`, n, text: 'x'.repeat(1000) });
  for (const result of await remote('pulled').bulkDocs(docs)) assert(result.ok, JSON.stringify(result));

  const sent = {};
  const fetch = (url, options) => {
    const path = new URL(url).pathname.replace(/^\/pulled\/?/, '').replace(/^(_local)\/.*/, '$1');
    const name = `${options.method || 'GET'} ${path}`;
    sent[name] = (sent[name] || 0) + 1;
    return PouchDB.fetch(url, options);
  };
  const there = new PouchDB(`${server}/pulled`, { fetch, skip_setup: true });
  const here = local();
  const pulled = await here.replicate.from(there, { batch_size: 100 });
  assert.strictEqual(pulled.docs_written, 1000);
  assert.deepStrictEqual(sent, {
    'GET /': 1,
    'GET ': 11,
    'GET _changes': 11,
    'POST _bulk_get': 10,
    'GET _local': 10,
    'PUT _local': 10,
  });
});
