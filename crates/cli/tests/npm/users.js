// Users of `_users`: made by an admin, logging in, replicating where a database names them.
'use strict';
const { assert, PouchDB, server, local, assertEqual, run } = require('./common.js');
const admin = require('nano')(server);

const as = (name, password) => {
  const url = new URL(server);
  [url.username, url.password] = [name, password];
  return url.toString().replace(/\/$/, '');
};

run(async () => {
  const users = admin.use('_users');
  const make = (name, password, roles) => users.insert(
    { name, password, roles, type: 'user' }, `org.couchdb.user:${name}`);
  await make('ada', 'secret ☃', ['crew']);
  await make('bob', 'word', []);
  const stored = await users.get('org.couchdb.user:ada');
  assert.strictEqual(stored.password, undefined);
  assert.strictEqual(stored.password_scheme, 'pbkdf2');
  await assert.rejects(users.insert({ name: 'x', roles: [], type: 'user' }, 'org.couchdb.user:y'),
    { statusCode: 403, reason: 'Doc ID must be of the form org.couchdb.user:name' });

  // nano keeps the cookie.
  const nano = require('nano')({ url: new URL(server).origin, jar: true });
  await assert.rejects(nano.auth('ada', 'wrong'), { statusCode: 401 });
  assert.deepStrictEqual((await nano.auth('ada', 'secret ☃')).roles, ['crew']);
  assert.deepStrictEqual((await nano.session()).userCtx, { name: 'ada', roles: ['crew'] });
  const own = nano.use('_users');
  assert.strictEqual((await own.get('org.couchdb.user:ada')).name, 'ada');
  await assert.rejects(own.get('org.couchdb.user:bob'), { statusCode: 404 });
  await assert.rejects(own.list(), { statusCode: 403 });

  await admin.db.create('ship');
  await admin.request({
    db: 'ship', path: '_security', method: 'PUT',
    body: { admins: { names: [], roles: ['_admin'] }, members: { names: [], roles: ['crew'] } },
  });
  const [here, there] = [local(), new PouchDB(`${as('ada', 'secret ☃')}/ship`)];
  await here.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
  await here.replicate.to(there);
  assert.strictEqual(await assertEqual(here, there), 2);
  await assert.rejects(there.put({ _id: '_design/d' }), { status: 403 });
  const stranger = new PouchDB(`${as('bob', 'word')}/ship`, { skip_setup: true });
  await assert.rejects(stranger.get('a'), { status: 403 });
  await assert.rejects(here.replicate.to(stranger), { status: 403 });

  // A password of one's own is changed by oneself, and ends the session.
  const mine = await own.get('org.couchdb.user:ada');
  await own.insert({ ...mine, password: 'other' }, mine._id);
  assert.strictEqual((await nano.session()).userCtx.name, null);
  assert.strictEqual((await nano.auth('ada', 'other')).ok, true);
});
