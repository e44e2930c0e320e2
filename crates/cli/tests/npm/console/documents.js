// All documents, one document: made, edited, cloned, deleted; attachments; conflicts.
'use strict';
const { assert, ask, eventually, run } = require('./browser.js');
const fs = require('fs');
const os = require('os');
const path = require('path');

run('documents', [], async (fauxton) => {
  const { page } = fauxton;
  await ask('PUT', '/deposits');
  const docs = Array.from({ length: 45 }, (_, n) => ({ _id: `doc-${String(n).padStart(2, '0')}`, depth: n }));
  await ask('POST', '/deposits/_bulk_docs', { docs });
  await fauxton.logIn();
  // Holds the file until the end: on a slow page it is sometimes sent twice.
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'console-'));

  await fauxton.step('documents are listed in pages', async () => {
    await fauxton.open('/database/deposits/_all_docs');
    await fauxton.sees('doc-19', '#dashboard-lower-content');
    await fauxton.sees('Showing document 1 - 20', '#footer');
    await fauxton.click('#next');
    await fauxton.sees('doc-39', '#dashboard-lower-content');
    await fauxton.click('#next');
    await fauxton.sees('Showing document 41 - 45', '#footer');
    await fauxton.click('#previous');
    await fauxton.sees('doc-20', '#dashboard-lower-content');
  });

  await fauxton.step('they are shown as a table and as JSON', async () => {
    await fauxton.click('.document-result-screen__toolbar button ::-p-text(Table)');
    await fauxton.sees('depth', '#dashboard-lower-content thead');
    await fauxton.click('.document-result-screen__toolbar button ::-p-text(JSON)');
    await fauxton.sees('"depth": 20', '#doc-list');
  });

  await fauxton.step('options choose keys', async () => {
    await fauxton.open('/database/deposits/_all_docs');
    await fauxton.sees('doc-05', '#dashboard-lower-content');
    await fauxton.click('.control-toggle-queryoptions');
    await fauxton.click('#betweenKeys');
    await fauxton.fill('#startkey', '"doc-30"');
    await fauxton.fill('#endkey', '"doc-31"');
    await fauxton.click('.js-view-query-update button[type="submit"]');
    await fauxton.sees('Showing document 1 - 2', '#footer');
    await fauxton.sees('doc-31', '#dashboard-lower-content');
  });

  await fauxton.step('a document is made', async () => {
    await fauxton.open('/database/deposits/_new');
    await page.waitForSelector('#doc-editor .ace_content');
    await fauxton.sees('_id', '#doc-editor');
    await fauxton.edit('#doc-editor', '{ "_id": "silt", "grain": "fine", "odd": "☃ ä" }');
    await fauxton.click('#doc-editor-actions-panel .save-doc');
    await fauxton.sees('Document saved successfully', '#notifications');
    assert.strictEqual((await ask('GET', '/deposits/silt')).odd, '☃ ä');
  });

  await fauxton.step('it is edited', async () => {
    await fauxton.open('/database/deposits/silt');
    await fauxton.sees('"fine"', '#doc-editor');
    const doc = await ask('GET', '/deposits/silt');
    await fauxton.edit('#doc-editor', JSON.stringify({ ...doc, grain: 'coarse' }));
    await fauxton.click('#doc-editor-actions-panel .save-doc');
    await fauxton.sees('Document saved successfully', '#notifications');
    const { grain, _rev } = await ask('GET', '/deposits/silt');
    assert.deepStrictEqual([grain, _rev.slice(0, 2)], ['coarse', '2-']);
  });

  await fauxton.step('it is cloned', async () => {
    await fauxton.open('/database/deposits/silt');
    await fauxton.click('button[title="Clone Document"]');
    await fauxton.fill('.clone-doc-modal input', 'clay');
    await fauxton.click('.clone-doc-modal .save');
    await fauxton.sees('"clay"', '#doc-editor');
    assert.strictEqual((await ask('GET', '/deposits/clay')).grain, 'coarse');
  });

  await fauxton.step('a file is attached and opened', async () => {
    const file = path.join(directory, 'läyers & so.txt');
    fs.writeFileSync(file, 'year by year');
    await fauxton.open('/database/deposits/silt');
    await fauxton.click('#doc-editor-actions-panel .upload');
    const input = await page.waitForSelector('.upload-file-modal input[name="_attachments"]');
    await input.uploadFile(file);
    await fauxton.click('#upload-btn');
    await fauxton.sees('"content_type": "text/plain"', '#doc-editor');
    // The page may be about to send it again.
    await fauxton.open('/database/deposits/silt');
    await fauxton.sees('"content_type": "text/plain"', '#doc-editor');
    const { _attachments: stored } = await ask('GET', '/deposits/silt');
    assert.strictEqual(stored['läyers & so.txt'].length, 12);
    await fauxton.click('#doc-editor-actions-panel .view-attachments-section button');
    const link = await page.waitForSelector('#doc-editor-actions-panel .view-attachments-section a[href*="deposits"]');
    const href = await link.evaluate((element) => element.href);
    const text = await page.evaluate(async (address) => (await fetch(address)).text(), href);
    assert.strictEqual(text, 'year by year');
  });

  await fauxton.step('the clone is deleted', async () => {
    await fauxton.open('/database/deposits/clay');
    await fauxton.sees('"clay"', '#doc-editor');
    await fauxton.click('button[title="Delete"]');
    await fauxton.click('.confirmation-modal .btn-primary');
    await fauxton.sees('Showing document', '#footer');
    const { rows } = await ask('POST', '/deposits/_all_docs', { keys: ['clay'] });
    assert.strictEqual(rows[0].value.deleted, true);
  });

  await fauxton.step('some are deleted at once', async () => {
    await fauxton.open('/database/deposits/_all_docs');
    await fauxton.click('[id="checkbox-doc-00"]');
    await fauxton.click('[id="checkbox-doc-01"]');
    page.once('dialog', (dialog) => dialog.accept());
    await fauxton.click('button.fonticon-trash');
    await fauxton.misses('[id="checkbox-doc-01"]');
    // The rows are gone also while the list is drawn anew, before the server was asked.
    await eventually(async () => {
      assert.strictEqual((await ask('GET', '/deposits')).doc_count, 44);
    });
  });

  await fauxton.step('a conflict is compared and solved', async () => {
    const [one, other] = [`1-${'a'.repeat(32)}`, `1-${'b'.repeat(32)}`];
    const sides = [one, other].map((_rev) => ({ _id: 'fork', _rev, side: _rev.slice(2, 3) }));
    await ask('POST', '/deposits/_bulk_docs', { new_edits: false, docs: sides });
    // The document takes as long as over a network: Fauxton's page fails when one with conflicts is there before its editor.
    await page.setRequestInterception(true);
    const isDocument = (request) => request.url().includes('/fork?conflicts=true');
    page.on('request', (request) => setTimeout(() => request.continue(), isDocument(request) ? 500 : 0));
    await fauxton.open('/database/deposits/fork');
    await fauxton.click('.panel-button.conflicts');
    await fauxton.sees('Conflicting Revisions');
    await fauxton.sees(other);
    await fauxton.click('[data-id="button-select-theirs"]');
    await fauxton.click('.modal .btn-primary, .modal .btn-success, .modal .btn-danger');
    await fauxton.misses('[data-id="button-select-theirs"]');
    await eventually(async () => {
      const solved = await ask('GET', '/deposits/fork?conflicts=true');
      assert.deepStrictEqual([solved.side, solved._conflicts], ['a', undefined]);
    });
  });

  fs.rmSync(directory, { recursive: true });
});
