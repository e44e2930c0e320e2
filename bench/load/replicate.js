// PouchDB pushes documents into a database and another one pulls them; prints the seconds of both.
// replicate.js URL COUNT
'use strict';
const PouchDB = require('pouchdb');
PouchDB.plugin(require('pouchdb-adapter-memory'));

const [url, count] = [process.argv[2], Number(process.argv[3])];
const words = 'lake layer silt clay summer winter thaw pollen core drill depth sample'.split(' ');
let state = 1;
const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;

function documents() {
  const all = [];
  for (let n = 0; n < count; n++) {
    const data = Array.from({ length: 40 }, () => Math.round(random() * 1e9) / 1e6);
    const text = Array.from({ length: 60 }, () => words[Math.floor(random() * words.length)]);
    all.push({ _id: `doc${String(n).padStart(9, '0')}`, n, data, text: text.join(' ') });
  }
  return all;
}

async function timed(work) {
  const begun = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - begun) / 1e9;
}

// The driver tells when a phase begins and ends, so that it can read the server's CPU time.
async function phase(name, work) {
  console.log(JSON.stringify({ begins: name }));
  await new Promise((go) => process.stdin.once('data', go));
  console.log(JSON.stringify({ ended: name, seconds: await timed(work) }));
  await new Promise((go) => process.stdin.once('data', go));
}

(async () => {
  const remote = new PouchDB(url);
  const [one, other] = ['one', 'other'].map((name) => new PouchDB(name, { adapter: 'memory' }));
  await one.bulkDocs(documents());
  await phase('push', () => one.replicate.to(remote, { batch_size: 500 }));
  await phase('pull', () => other.replicate.from(remote, { batch_size: 500 }));
  if ((await other.info()).doc_count !== count) throw new Error('documents are missing');
  process.exit(0);
})();
