// The page of `examples/offline-log` follows a repository, takes a comment without a network, and sends it when that is back.
'use strict';
const { admin, ask, assert, eventually, origin, run } = require('../console/browser.js');
const fs = require('fs');
const http = require('http');
const path = require('path');

const files = {
  '/': ['text/html', fs.readFileSync(path.join(process.env.EXAMPLES, 'offline-log/index.html'))],
  '/pouchdb.min.js': ['text/javascript', fs.readFileSync(require.resolve('pouchdb/dist/pouchdb.min.js'))],
};
const node = process.env.NODE_OF_CHANGESET;

const expected = [
  { status: 404, method: 'GET', path: /\/_local\//, why: 'a replication has no checkpoint yet' },
];

run('offline-log', expected, async (fauxton) => {
  const { page } = fauxton;
  const site = http.createServer((request, answer) => {
    const [type, body] = files[request.url] || ['text/plain', ''];
    answer.setHeader('content-type', type);
    answer.end(body);
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  const url = `http://localhost:${site.address().port}`;
  const set = (name, value) => ask('PUT', `/_node/_local/_config/${name}`, JSON.stringify(value));
  await set('chttpd/enable_cors', 'true');
  await set('cors/origins', url);
  await set('cors/credentials', 'true');
  page.on('dialog', (dialog) => dialog.accept('seen on the <train>'));
  await page.goto(`${url}/`);

  await fauxton.step('the log is copied', async () => {
    await fauxton.fill('input[name=url]', `${origin}/hg%2Flake`);
    await fauxton.fill('input[name=name]', admin.name);
    await fauxton.fill('input[name=password]', admin.password);
    await fauxton.click('form button');
    await fauxton.sees('side', '#log');
    await fauxton.sees('Up to date.');
  });

  await fauxton.step('a comment is kept without a network', async () => {
    await page.setOfflineMode(true);
    await page.evaluate((id) => here.get(id).then((changeset) => write(changeset)), node);
    await fauxton.sees('seen on the <train>', '#log');
    assert.deepStrictEqual((await comments()).length, 0);
  });

  await fauxton.step('it arrives when the network is back', async () => {
    await page.setOfflineMode(false);
    await eventually(async () => assert.deepStrictEqual((await comments()).length, 1));
    const [{ doc }] = await comments();
    assert.deepStrictEqual([doc.type, doc.author, doc.text], ['comment', admin.name, 'seen on the <train>']);
    const shown = await (await fetch(`${origin}/hg/lake/rev/${node}`)).text();
    assert.match(shown, /seen on the &#60;train&#62;/);
  });
  site.close();
  // Requests without a network fail, and the browser says so.
  const isOfNetwork = (fault) => /ERR_INTERNET_DISCONNECTED/.test(fault.text || fault);
  fauxton.faults.found = fauxton.faults.found.filter((fault) => !isOfNetwork(fault));
});

async function comments() {
  const range = `include_docs=true&startkey="${node}:comment:"&endkey="${node}:comment;"`;
  return (await ask('GET', `/hg%2Flake/_all_docs?${range}`)).rows;
}
