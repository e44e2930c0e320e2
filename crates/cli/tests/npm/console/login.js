// Logs in and out, changes a password, makes another server admin.
'use strict';
const { assert, admin, ask, run } = require('./browser.js');

const expected = [
  { status: 401, method: 'POST', path: /^\/_session$/, why: 'a wrong password' },
];

run('login', expected, async (fauxton) => {
  const session = async () => (await fauxton.fetch('/_session')).body.userCtx.name;
  const logIn = async (name, password) => {
    await fauxton.open('login');
    await fauxton.fill('#username', name);
    await fauxton.fill('#password', password);
    await fauxton.click('#submit');
  };

  await fauxton.step('a wrong password is refused', async () => {
    await logIn(admin.name, 'wrong');
    await fauxton.sees('Name or password is incorrect', '#notifications');
    assert.strictEqual(await session(), null);
  });

  await fauxton.step('the right one leads to the databases', async () => {
    await logIn(admin.name, admin.password);
    await fauxton.sees('_users', '#dashboard-content');
    assert.strictEqual(await session(), admin.name);
  });

  await fauxton.step('another admin is made', async () => {
    await fauxton.open('createAdmin/_local');
    await fauxton.fill('#username', 'second');
    await fauxton.fill('#password', 'first word');
    await fauxton.click('#create-admin');
    await fauxton.sees('CouchDB admin created', '#notifications');
    const stored = await ask('GET', '/_node/_local/_config/admins/second');
    assert.match(stored, /^-pbkdf2/);
  });

  await fauxton.step('who logs out is nobody', async () => {
    await fauxton.open('logout');
    await fauxton.sees('You have been logged out', '#notifications');
    assert.strictEqual(await session(), null);
  });

  await fauxton.step('the other admin changes the password', async () => {
    await logIn('second', 'first word');
    await fauxton.sees('_users', '#dashboard-content');
    await fauxton.open('changePassword/_local');
    await fauxton.fill('#password', 'second word');
    await fauxton.fill('#password-confirm', 'second word');
    await fauxton.click('#change-password button');
    await fauxton.sees('Your password has been updated', '#notifications');
    await fauxton.open('logout');
    await fauxton.sees('You have been logged out', '#notifications');
    await logIn('second', 'second word');
    await fauxton.sees('_users', '#dashboard-content');
    assert.strictEqual(await session(), 'second');
  });
});
