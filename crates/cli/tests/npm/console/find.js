// Queries by selectors and the editor of their indexes.
'use strict';
const { assert, ask, run } = require('./browser.js');

run('find', [], async (fauxton) => {
  const { page } = fauxton;
  await ask('PUT', '/grains');
  const docs = Array.from({ length: 30 }, (_, n) => ({ _id: `g${n}`, size: n, kind: n % 2 ? 'sand' : 'silt' }));
  await ask('POST', '/grains/_bulk_docs', { docs });
  await fauxton.logIn();

  await fauxton.step('an index is made', async () => {
    await fauxton.open('/database/grains/_index');
    await fauxton.sees('special: _id', '#doc-list');
    await fauxton.edit('#query-field', '{ "index": { "fields": ["size"] }, "name": "by-size", "type": "json" }');
    await fauxton.click('#create-index-btn');
    await fauxton.sees('json: size', '#doc-list');
    const { indexes } = await ask('GET', '/grains/_index');
    assert.deepStrictEqual(indexes.map((index) => index.name), ['_all_docs', 'by-size']);
  });

  await fauxton.step('a query finds documents with it', async () => {
    await fauxton.open('/database/grains/_find');
    await fauxton.edit('#query-field', '{ "selector": { "size": { "$gt": 24 }, "kind": "sand" } }');
    await fauxton.click('#create-index-btn');
    await fauxton.sees('Showing document 1 - 3', '#footer');
    await fauxton.sees('g29', '#dashboard-lower-content');
    await fauxton.sees('Executed in');
  });

  await fauxton.step('it is explained', async () => {
    await fauxton.click('#explain-btn');
    await fauxton.sees('by-size', '#right-content');
  });

  await fauxton.step('a query without an index warns', async () => {
    await fauxton.open('/database/grains/_find');
    await fauxton.edit('#query-field', '{ "selector": { "kind": "silt" } }');
    await fauxton.click('#create-index-btn');
    await fauxton.sees('Showing document 1 - 15', '#footer');
    await page.hover('.execution-stats');
    await fauxton.sees('No matching index found');
  });

  await fauxton.step('the index is deleted', async () => {
    await fauxton.open('/database/grains/_index');
    await fauxton.sees('json: size', '#doc-list');
    page.once('dialog', (dialog) => dialog.accept());
    await page.evaluate(() => {
      const rows = [...document.querySelectorAll('#doc-list .doc-row')];
      rows.find((row) => row.innerText.includes('json: size')).querySelector('input[type="checkbox"]').click();
    });
    await fauxton.click('button.fonticon-trash');
    await fauxton.misses('#doc-list input[type="checkbox"]');
    assert.strictEqual((await ask('GET', '/grains/_index')).total_rows, 1);
  });
});
