// Lists, makes and deletes databases; names who may read and change one.
'use strict';
const { ask, assert, eventually, run } = require('./browser.js');

run('databases', [], async (fauxton) => {
  await ask('PUT', '/old');
  await ask('POST', '/old/_bulk_docs', { docs: [{}, {}, {}] });
  await fauxton.logIn();

  await fauxton.step('databases are listed with their numbers of documents', async () => {
    await fauxton.open('/_all_dbs');
    await fauxton.sees('bytes', '#dashboard-content tbody');
    const cells = (link) => document.querySelector(link).closest('tr').innerText.split('\t');
    const [, size, count] = await fauxton.page.evaluate(cells, 'a[href="database/old/_all_docs"]');
    assert.match(size, /bytes|KB/);
    assert.strictEqual(count, '3');
  });

  await fauxton.step('a database is made', async () => {
    await fauxton.click('.add-new-database-btn');
    await fauxton.fill('#js-new-database-name', 'new+one/below');
    await fauxton.click('#non-partitioned-db');
    await fauxton.click('#js-create-database');
    await fauxton.sees('No Documents Found');
    assert.strictEqual((await ask('GET', '/new%2Bone%2Fbelow')).doc_count, 0);
  });

  await fauxton.step('a partitioned one is made', async () => {
    await fauxton.open('/_all_dbs');
    await fauxton.click('.add-new-database-btn');
    await fauxton.fill('#js-new-database-name', 'parts');
    await fauxton.click('#partitioned-db');
    await fauxton.click('#js-create-database');
    await fauxton.sees('No Documents Found');
    assert.strictEqual((await ask('GET', '/parts')).props.partitioned, true);
    await ask('PUT', '/parts/a:1', {});
    await ask('PUT', '/parts/b:1', {});
    await fauxton.open('/database/parts/_partition/a/_all_docs');
    await fauxton.sees('a:1', '#dashboard-lower-content');
    const shown = await fauxton.page.$eval('#dashboard-lower-content', (list) => list.innerText);
    assert.ok(!shown.includes('b:1'), shown);
  });

  await fauxton.step('rights are given and taken', async () => {
    await fauxton.open('/database/old/permissions');
    await fauxton.sees('Members');
    await fauxton.page.waitForSelector('input[placeholder="Username"]');
    const names = await fauxton.page.$$('input[placeholder="Username"]');
    await names[1].type('ada');
    await names[1].press('Enter');
    await fauxton.sees('ada', '#dashboard-content');
    const roles = await fauxton.page.$$('input[placeholder="Role"]');
    await roles[0].type('keepers');
    await roles[0].press('Enter');
    await fauxton.sees('keepers', '#dashboard-content');
    const expected = {
      admins: { names: [], roles: ['_admin', 'keepers'] },
      members: { names: ['ada'], roles: ['_admin'] },
    };
    // The page shows a name before the server has it.
    await eventually(async () => {
      const stored = await ask('GET', '/old/_security');
      for (const part of ['admins', 'members']) {
        assert.deepStrictEqual(stored[part].names || [], expected[part].names);
        assert.deepStrictEqual(stored[part].roles.sort(), expected[part].roles);
      }
    });
  });

  await fauxton.step('a database is deleted when its name is typed', async () => {
    await fauxton.open('/_all_dbs');
    // The rows are made anew when numbers and sizes come.
    await fauxton.sees('Yes', '#dashboard-content tbody');
    await fauxton.click('a[title="Delete old"]');
    await fauxton.fill('.delete-db-modal input', 'old');
    await fauxton.click('.delete-db-modal .delete');
    await fauxton.misses('a[href="database/old/_all_docs"]');
    assert.ok(!(await ask('GET', '/_all_dbs')).includes('old'));
  });
});
