// PouchDB in a page of another site: it replicates both ways, at once and live, with a login.
'use strict';
const { admin, ask, assert, origin, run } = require('./browser.js');
const fs = require('fs');
const http = require('http');

const library = fs.readFileSync(require.resolve('pouchdb/dist/pouchdb.min.js'));

// A site with one page.
async function serve() {
  const site = http.createServer((request, answer) => {
    const isLibrary = request.url === '/pouchdb.js';
    answer.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html');
    answer.end(isLibrary ? library : '<!doctype html><link rel="icon" href="data:,"><script src="/pouchdb.js"></script>');
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  return { site, url: `http://localhost:${site.address().port}` };
}

const expected = [
  { status: 404, method: 'GET', path: /^\/shared\/_local\//, why: 'a replication has no checkpoint yet' },
];

run('pouchdb', expected, async (fauxton) => {
  const { page } = fauxton;
  const { site, url } = await serve();
  const set = (name, value) => ask('PUT', `/_node/_local/_config/${name}`, JSON.stringify(value));
  await set('chttpd/enable_cors', 'true');
  await set('cors/origins', url);
  await set('cors/credentials', 'true');
  await ask('PUT', '/shared');
  await ask('POST', '/shared/_bulk_docs', { docs: Array.from({ length: 120 }, (_, n) => ({ _id: `there-${n}` })) });
  await page.goto(url);

  const open = (remote, auth) => {
    window.here = new PouchDB('here');
    window.there = new PouchDB(remote, { auth, skip_setup: true });
  };
  await page.evaluate(open, `${origin}/shared`, { username: admin.name, password: admin.password });

  await fauxton.step('documents and attachments go both ways', async () => {
    const counts = await page.evaluate(async () => {
      const data = btoa('year by year');
      const attachments = { 'a.txt': { content_type: 'text/plain', data } };
      await here.put({ _id: 'here-1', odd: '☃', _attachments: attachments });
      const pushed = await here.replicate.to(there);
      const pulled = await here.replicate.from(there);
      return [pushed.docs_written, pulled.docs_written, (await here.allDocs()).rows.length];
    });
    assert.deepStrictEqual(counts, [1, 120, 121]);
    const stored = await ask('GET', '/shared/here-1?attachments=true');
    assert.deepStrictEqual([stored.odd, stored._attachments['a.txt'].data], ['☃', btoa('year by year')]);
  });

  await fauxton.step('changes go both ways while they are made', async () => {
    await page.evaluate(() => {
      window.syncing = here.sync(there, { live: true, retry: true });
      window.failed = [];
      window.syncing.on('error', (error) => window.failed.push(String(error)));
    });
    await ask('PUT', '/shared/live-there', { side: 'there' });
    const arrived = async () => here.get('live-there').then((doc) => doc.side === 'there', () => false);
    await page.waitForFunction(arrived, { polling: 50 });
    await page.evaluate(() => here.put({ _id: 'live-here', side: 'here' }));
    const pushed = async () => there.get('live-here').then((doc) => doc.side === 'here', () => false);
    await page.waitForFunction(async () => {
      const { rows } = await there.allDocs({ key: 'live-here' });
      return rows.length === 1;
    }, { polling: 50 });
    assert.strictEqual((await ask('GET', '/shared/live-here')).side, 'here');
    assert.deepStrictEqual(await page.evaluate(() => { syncing.cancel(); return failed; }), []);
  });

  await fauxton.step('a conflict is the same on both sides', async () => {
    const [here, there] = await page.evaluate(async () => {
      await window.here.put({ _id: 'fork', side: 'here' });
      await window.there.put({ _id: 'fork', side: 'there' });
      await window.here.sync(window.there);
      const both = [window.here, window.there].map((db) => db.get('fork', { conflicts: true }));
      return Promise.all(both);
    });
    assert.deepStrictEqual(here, there);
    assert.strictEqual(here._conflicts.length, 1);
  });
  site.close();
});
