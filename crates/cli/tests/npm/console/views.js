// Design documents and their views: made, queried, changed, cloned, deleted.
'use strict';
const { assert, ask, run } = require('./browser.js');

run('views', [], async (fauxton) => {
  const { page } = fauxton;
  await ask('PUT', '/layers');
  const docs = Array.from({ length: 12 }, (_, n) => ({ _id: `l${n}`, year: 2000 + (n % 3), depth: n }));
  await ask('POST', '/layers/_bulk_docs', { docs });
  await fauxton.logIn();

  await fauxton.step('a view is made in the editor', async () => {
    await fauxton.open('/database/layers/new_view');
    await fauxton.fill('#new-ddoc', 'years');
    await fauxton.fill('#index-name', 'by year');
    await fauxton.edit('#map-function', 'function (doc) {\n  emit(doc.year, doc.depth);\n}');
    await page.select('#reduce-function-selector', '_sum');
    await fauxton.click('#save-view');
    await fauxton.sees('Showing document 1 - 12', '#footer');
    const { views } = await ask('GET', '/layers/_design/years');
    assert.strictEqual(views['by year'].reduce, '_sum');
  });

  await fauxton.step('its rows are reduced', async () => {
    await fauxton.click('.control-toggle-queryoptions');
    await page.waitForSelector('#qoReduce');
    await page.evaluate(() => document.querySelector('#qoReduce').click());
    await page.waitForSelector('#qoGroupLevel');
    await page.select('#qoGroupLevel', 'exact');
    await fauxton.click('.js-view-query-update button[type="submit"]');
    await fauxton.sees('Showing document 1 - 3', '#footer');
    const table = await page.$eval('#dashboard-lower-content tbody', (body) => body.innerText);
    for (const sum of ['18', '22', '26']) assert.ok(table.includes(sum), table);
  });

  await fauxton.step('it is changed', async () => {
    await fauxton.open('/database/layers/_design/years/_view/by%20year/edit');
    await fauxton.sees('doc.year', '#map-function');
    await fauxton.edit('#map-function', 'function (doc) {\n  if (doc.depth > 9) emit(doc.year);\n}');
    await fauxton.click('#save-view');
    await fauxton.sees('Showing document 1 - 2', '#footer');
  });

  await fauxton.step('a function that fails is told of', async () => {
    await fauxton.open('/database/layers/new_view/years');
    await fauxton.fill('#index-name', 'custom');
    await page.select('#reduce-function-selector', 'CUSTOM');
    await fauxton.edit('#reduce-function', 'function (keys, values) {\n  return values.length;\n}');
    await fauxton.click('#save-view');
    await fauxton.sees('Showing document 1 - 12', '#footer');
    const { views } = await ask('GET', '/layers/_design/years');
    assert.deepStrictEqual(Object.keys(views), ['by year', 'custom']);
  });

  await fauxton.step('figures of the index are shown', async () => {
    await fauxton.open('/database/layers/_design/years/_info');
    await fauxton.sees('Index Information');
    await fauxton.sees('Update sequence on DB');
  });

  await fauxton.step('a design document is edited as text', async () => {
    await fauxton.open('/database/layers/_design/years');
    await fauxton.sees('"language"', '#doc-editor');
    const stored = await ask('GET', '/layers/_design/years');
    const changed = { ...stored, updates: { touch: 'function (doc, req) { return [null, "touched"]; }' } };
    await fauxton.edit('#doc-editor', JSON.stringify(changed));
    await fauxton.click('#doc-editor-actions-panel .save-doc');
    await fauxton.sees('Document saved successfully', '#notifications');
    assert.ok((await ask('GET', '/layers/_design/years')).updates.touch);
  });

  await fauxton.step('a view is deleted from the list', async () => {
    await fauxton.open('/database/layers/_design/years/_view/custom');
    await fauxton.sees('Showing document 1 - 12', '#footer');
    await fauxton.click('#sidebar-content .active .index-menu-toggle');
    await fauxton.click('.popover .fonticon-trash');
    await fauxton.click('.modal .btn-primary');
    await fauxton.sees('has been deleted', '#notifications');
    const { views } = await ask('GET', '/layers/_design/years');
    assert.deepStrictEqual(Object.keys(views), ['by year']);
  });
});
