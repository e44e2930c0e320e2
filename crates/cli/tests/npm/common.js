// Shared by the scripts: clients of the server under test, and the comparison of two databases.
'use strict';
const assert = require('assert');
const PouchDB = require('pouchdb');
PouchDB.plugin(require('pouchdb-adapter-memory'));

// URL of the server with a name and password in it, such as http://admin:secret@127.0.0.1:5984
const server = process.env.SERVER;

let count = 0;
const local = () => new PouchDB(`local-${process.pid}-${count++}`, { adapter: 'memory' });
const remote = (name) => new PouchDB(`${server}/${name}`);

// Everything that replication must carry: all leaves of all documents with their histories,
// conflicts, deletions and bodies; independent of sequence numbers.
async function contents(db) {
  const changes = await db.changes({ style: 'all_docs', since: 0 });
  const found = {};
  for (const { id, changes: leaves } of changes.results) {
    const revs = leaves.map((leaf) => leaf.rev).sort();
    const opened = await db.get(id, { open_revs: revs, revs: true, attachments: true });
    const bodies = opened.map((entry) => entry.ok).filter(Boolean);
    bodies.forEach((body) => stripVolatile(body));
    bodies.sort((a, b) => (a._rev < b._rev ? -1 : 1));
    const winner = await db.get(id).then((doc) => doc._rev, (error) => error.reason);
    found[id] = { winner, bodies };
  }
  return found;
}

// CouchDB's digest of a compressible attachment is that of its compressed bytes, so it differs
// between stores, and so does what was measured of its encoding.
function stripVolatile(body) {
  for (const attachment of Object.values(body._attachments || {})) {
    for (const key of Object.keys(attachment)) {
      if (!['content_type', 'data'].includes(key)) delete attachment[key];
    }
  }
}

async function assertEqual(a, b) {
  const [left, right] = [await contents(a), await contents(b)];
  assert.deepStrictEqual(left, right);
  return Object.keys(left).length;
}

// Waits until a condition holds; a live replication that stalls fails here.
async function until(what, condition) {
  for (let tries = 0; tries < 600; tries++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited in vain until ${what}`);
}

// Runs a script's body; any failure ends the process with 1.
function run(body) {
  body().then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

module.exports = { assert, PouchDB, PouchDB, server, local, remote, contents, assertEqual, until, run };
