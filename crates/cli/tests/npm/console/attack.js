// What users upload, opened by a logged-in admin: it neither reads nor writes in the admin's name.
'use strict';
const { assert, ask, origin, run } = require('./browser.js');

// Shows in its title how far it got.
const script = `
  document.title = 'ran';
  const json = { 'content-type': 'application/json' };
  const put = (path, body) => fetch(path, { method: 'PUT', headers: json, body: JSON.stringify(body) });
  fetch('/_session').then((answer) => answer.json())
    .then((session) => { document.title = 'read the session of ' + session.userCtx.name; })
    .then(() => put('/_users/org.couchdb.user:mallory',
      { name: 'mallory', password: 'loot', roles: [], type: 'user' }))
    .then(() => put('/_node/_local/_config/admins/mallory', 'loot'))
    .then(() => { document.title = 'took over'; });`;
const form = `
  <form method="post" action="/_session"><input name="name" value="mallory"><button>go on</button></form>`;
const html = `<!doctype html><body><script>${script}</script>${form}<img src="x" onerror="document.title = 'ran'">`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>${script}</script></svg>`;
const page = JSON.stringify(html);
const opened = '{ "content-security-policy": "sandbox allow-scripts allow-same-origin", "content-type": "text/html" }';

const design = {
  shows: {
    plain: `function () { return ${page}; }`,
    open: `function () { return { headers: ${opened}, body: ${page} }; }`,
  },
  lists: {
    open: `function () { start({ headers: ${opened} }); send(${page}); }`,
  },
  views: { all: { map: 'function (doc) { emit(doc._id); }' } },
  rewrites: `function () { return { code: 200, headers: ${opened}, body: ${page} }; }`,
};

// The same page as it is without a policy, which shows that all that follows could go wrong.
async function openUnprotected(browser) {
  await ask('PUT', '/_node/_local/_config/csp/attachments_enable', JSON.stringify('false'));
  const tab = await browser.newPage();
  await tab.goto(`${origin}/loot/doc/evil.html`);
  await tab.waitForFunction(() => document.title === 'took over');
  await tab.close();
  const users = await ask('GET', '/_users/_all_docs');
  assert.strictEqual(users.rows.filter(({ id }) => id.endsWith(':mallory')).length, 1);
  const { _rev } = await ask('GET', '/_users/org.couchdb.user:mallory');
  await ask('DELETE', `/_users/org.couchdb.user:mallory?rev=${_rev}`);
  await ask('DELETE', '/_node/_local/_config/admins/mallory');
  await ask('DELETE', '/_node/_local/_config/csp/attachments_enable');
}

async function openProtected(browser, path) {
  const tab = await browser.newPage();
  const answer = await tab.goto(`${origin}${path}`, { waitUntil: 'load' });
  // The browser may have kept the page from when it had no policy.
  assert.ok([200, 304].includes(answer.status()), path);
  // Scripts in a page run before it is loaded.
  assert.strictEqual(await tab.title(), '', path);
  assert.strictEqual(await tab.evaluate(() => window.origin), 'null', path);
  const button = await tab.$('button');
  if (button) {
    const blocked = new Promise((resolve) => {
      tab.on('console', (message) => /Blocked form submission/.test(message.text()) && resolve());
    });
    await button.click();
    await blocked;
    assert.strictEqual(tab.url(), `${origin}${path}`);
  }
  await tab.close();
}

run('attack', [], async (fauxton, browser) => {
  await ask('PUT', '/loot');
  await ask('PUT', '/loot/_design/evil', design);
  const { rev } = await ask('PUT', '/loot/doc', {});
  const put = (name, type, rev, text) => ask('PUT', `/loot/doc/${name}?rev=${rev}`, text, { 'content-type': type });
  const { rev: second } = await put('evil.html', 'text/html', rev, html);
  const { rev: third } = await put('evil.svg', 'image/svg+xml', second, svg);
  await put('evil.xhtml', 'application/xhtml+xml', third,
    `<html xmlns="http://www.w3.org/1999/xhtml"><body><script><![CDATA[${script}]]></script></body></html>`);
  await fauxton.logIn();
  await openUnprotected(browser);

  const paths = [
    '/loot/doc/evil.html',
    '/loot/doc/evil.svg',
    '/loot/doc/evil.xhtml',
    '/loot/_design/evil/_show/plain',
    '/loot/_design/evil/_show/open',
    '/loot/_design/evil/_list/open/all',
    '/loot/_design/evil/_rewrite/any',
  ];
  for (const path of paths) {
    await fauxton.step(`${path} is opened`, () => openProtected(browser, path));
  }
  const { rows } = await ask('GET', '/_users/_all_docs');
  assert.deepStrictEqual(rows.filter(({ id }) => id.includes('mallory')), []);
  assert.ok(!('mallory' in await ask('GET', '/_node/_local/_config/admins')));

  await fauxton.step('the console itself runs no script that was put into it', async () => {
    const tab = await browser.newPage();
    await tab.goto(`${origin}/_utils/`);
    const inserted = await tab.evaluate(() => {
      const element = document.createElement('script');
      element.textContent = 'window.inserted = true';
      document.body.append(element);
      const image = document.createElement('p');
      image.innerHTML = '<b onclick="window.inserted = true">text</b>';
      document.body.append(image);
      image.firstChild.click();
      return window.inserted;
    });
    assert.strictEqual(inserted, undefined);
    await tab.close();
  });
});
