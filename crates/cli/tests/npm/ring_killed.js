// Two servers and a PouchDB replicate in a ring while the servers are killed in turns, with edits of the same documents
// everywhere: all three end equal. `DONE` names a file that is there as soon as no server is killed any more.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const { assert, PouchDB, local, server, contents, until, run } = require('./common.js');

const other = process.env.OTHER;
const DOCUMENTS = 24;
const LEAST_TURNS = 6;

const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

// The connection to a server that was killed is refused or cut.
const isAway = (error) => error.result?.status === 'aborting' || error.name === 'FetchError' || /^E[A-Z]+$/.test(error.code) || error.status >= 500;

// PouchDB leaves some failed requests of a replication behind, which ends with an error of its own besides.
process.on('unhandledRejection', (error) => {
  if (!isAway(error)) throw error;
});

async function patiently(work) {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || tries === 3000) throw error;
      await pause(20);
    }
  }
}

// One edit by one peer. A conflict means that another peer's edit, or this one before its answer was lost, has arrived.
async function edit(name, db, n, turn) {
  const id = `doc-${n}`;
  const doc = await db.get(id).catch((error) => {
    if (error.status === 404) return { _id: id };
    throw error;
  });
  if ((n + turn) % 7 === 6 && doc._rev) return db.remove(doc);
  if (n % 4 === 0) {
    // PouchDB pulls an attachment of a conflict by its name alone, so each name is that of one content.
    const kept = Object.entries(doc._attachments || {}).slice(-3);
    const data = Buffer.from(`${name} ${turn} `.repeat(400)).toString('base64');
    doc._attachments = { ...Object.fromEntries(kept), [`${name}-${turn}.txt`]: { content_type: 'text/plain', data } };
  }
  return db.put({ ...doc, by: name, turn });
}

async function editAll(name, db, turn) {
  for (let n = turn % 3; n < DOCUMENTS; n += 3) {
    await patiently(() =>
      edit(name, db, n, turn).catch((error) => {
        if (error.status !== 409) throw error;
      }),
    );
  }
}

// What all peers have; until they have the same, `difference` names the leaves that are not.
let difference = [];
async function common(...peers) {
  const found = await Promise.all(peers.map((db) => contents(db)));
  const leaves = found.map((one) => new Set(Object.values(one).flatMap((doc) => doc.bodies.map((body) => inspect(body)))));
  const everywhere = (leaf) => leaves.every((one) => one.has(leaf));
  difference = leaves.map((one) => [...one].filter((leaf) => !everywhere(leaf)));
  return difference.every((one) => one.length === 0) ? found[0] : null;
}

// A leaf in one line, with a digest in the place of what its attachments have.
function inspect(body) {
  const attachments = Object.entries(body._attachments || {}).map(([name, { content_type, data }]) => {
    const digest = crypto.createHash('md5').update(data).digest('hex');
    return [name, content_type, digest];
  });
  const members = Object.entries({ ...body, _attachments: attachments.sort() }).sort();
  return JSON.stringify(members);
}

run(async () => {
  const here = local();
  const [one, two] = [new PouchDB(`${server}ring`), new PouchDB(`${other}ring`)];
  const peers = [['here', here], ['one', one], ['two', two]];
  // Each document begins on all three before anything is replicated, so that each has conflicts for certain.
  for (let turn = 0; turn < 3; turn++) {
    await Promise.all(peers.map(([name, db]) => editAll(name, db, turn)));
  }
  let isOver = false;
  const follow = async (from, to) => {
    while (!isOver) {
      await patiently(() => PouchDB.replicate(from, to));
      await pause(50);
    }
  };
  const following = [follow(here, one), follow(two, here)];
  console.log('following');
  for (let turn = 3; turn < LEAST_TURNS || !fs.existsSync(process.env.DONE); turn++) {
    await Promise.all(peers.map(([name, db]) => editAll(name, db, turn)));
    await pause(100);
  }
  let same = null;
  await until('all three are equal', async () => (same = await common(here, one, two))).catch((error) => {
    console.error(difference);
    throw error;
  });
  isOver = true;
  await Promise.all(following);
  const bodies = Object.values(same).flatMap((doc) => doc.bodies);
  assert.strictEqual(Object.keys(same).length, DOCUMENTS);
  assert(bodies.length > 2 * DOCUMENTS, `${bodies.length} leaves`);
  for (const [name] of peers) {
    const names = bodies.flatMap((body) => Object.keys(body._attachments || {}));
    assert(names.some((file) => file.startsWith(name)), `an attachment by ${name}`);
    assert(bodies.some((body) => body.by === name), `a leaf by ${name}`);
  }
  assert(bodies.some((body) => body._deleted), 'a deleted leaf');
});
