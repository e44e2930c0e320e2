// Pages about the whole server: changes, active tasks, settings, set-up, checks, documents, news, replication.
'use strict';
const { assert, ask, origin, run } = require('./browser.js');

const expected = [];

run('server', expected, async (fauxton) => {
  const { page } = fauxton;
  await ask('PUT', '/events');
  await fauxton.logIn();

  await fauxton.step('changes are listed and filtered', async () => {
    await ask('PUT', '/events/first', {});
    await fauxton.open('/database/events/_changes');
    await fauxton.sees('first', '#dashboard-content');
    await ask('PUT', '/events/second', {});
    await page.reload();
    await fauxton.sees('second', '#dashboard-content');
    await fauxton.fill('.changes-header input', 'second');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => !document.querySelector('#dashboard-content').innerText.includes('first'));
  });

  await fauxton.step('tasks are listed', async () => {
    await fauxton.open('/activetasks');
    await fauxton.sees('No active tasks.');
  });

  await fauxton.step('a setting is added', async () => {
    await fauxton.open('/_config/_local');
    await fauxton.click('#add-option-button');
    await fauxton.fill('#add-option-popover .input-section-name', 'uuids');
    await fauxton.fill('#add-option-popover .input-option-name', 'max_count');
    await fauxton.fill('#add-option-popover .input-value', '7');
    await fauxton.click('#add-option-popover .btn-create');
    await fauxton.sees('max_count', '#dashboard-content');
    assert.strictEqual(await ask('GET', '/_node/_local/_config/uuids/max_count'), '7');
  });

  await fauxton.step('other sites are let in', async () => {
    await fauxton.open('/_config/_local/cors');
    await fauxton.click('.enable-disable');
    await fauxton.sees('CORS is currently enabled.');
    await fauxton.fill('#corsForm input[type="text"]', 'http://elsewhere.test');
    await page.keyboard.press('Enter');
    await fauxton.sees('http://elsewhere.test', '#corsForm');
    await page.waitForFunction(async () => {
      const answer = await fetch('/_node/_local/_config/cors/origins');
      return answer.ok && await answer.json() === 'http://elsewhere.test';
    }, { polling: 100 });
    const { headers } = await fetch(origin, { headers: { origin: 'http://elsewhere.test' } });
    assert.strictEqual(headers.get('access-control-allow-origin'), 'http://elsewhere.test');
  });

  await fauxton.step('the server is set up', async () => {
    await fauxton.open('/setup');
    await fauxton.sees('configured for production usage as a single node');
    await fauxton.open('/setup/singlenode');
    await fauxton.fill('.setup-username', 'third');
    await fauxton.fill('.setup-password', 'a third word');
    await fauxton.click('#dashboard-content .btn-primary');
    await fauxton.sees('Single node setup successful', '#notifications');
    assert.match(await ask('GET', '/_node/_local/_config/admins/third'), /^-pbkdf2/);
  });

  await fauxton.step('documents and news are offered', async () => {
    await fauxton.open('/documentation');
    await fauxton.sees('Apache Software Foundation');
    const manual = await fetch(`${origin}/_utils/docs/ddocs/ddocs.html`, { redirect: 'manual' });
    assert.strictEqual(manual.headers.get('location'), 'https://docs.couchdb.org/en/stable/ddocs/ddocs.html');
    await fauxton.open('/news');
    await fauxton.sees('Load News');
  });

  await fauxton.step('replications are listed', async () => {
    await fauxton.open('/replication');
    await fauxton.sees('There is no replicator-db activity or history to display.');
    await fauxton.open('/replication/_create');
    await fauxton.sees('Replication type:');
  });
});
