// Fifty feeds that wait over one TLS connection, as a browser has them, and a write that all of them see.
'use strict';
const assert = require('assert');
const fs = require('fs');
const http2 = require('http2');
const { URL } = require('url');

const FEEDS = 50;
const server = new URL(process.env.SERVER);
const login = Buffer.from(`${server.username}:${server.password}`).toString('base64');
const usual = { authorization: `Basic ${login}`, 'content-type': 'application/json' };

const session = http2.connect(`https://localhost:${server.port}`, {
  ca: fs.readFileSync(process.env.AUTHORITY),
});

// The status and the body of one request.
const ask = (method, path, body = '') =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ...usual, ':method': method, ':path': path }, { endStream: !body });
    let status;
    let text = '';
    stream.setEncoding('utf8');
    stream.on('response', (headers) => { status = headers[':status']; });
    stream.on('data', (piece) => { text += piece; });
    stream.on('end', () => resolve({ status, text }));
    stream.on('error', reject);
    if (body) stream.end(body);
  });

// A feed: `opened` once its head is there, `seen` once a line names the document.
function feed(kind, id) {
  const path = `/db/_changes?feed=${kind}&since=now&heartbeat=60000`;
  const stream = session.request({ ...usual, ':path': path });
  stream.setEncoding('utf8');
  const opened = new Promise((resolve, reject) => {
    stream.on('response', (headers) => resolve(headers[':status']));
    stream.on('error', reject);
  });
  const seen = new Promise((resolve) => {
    let text = '';
    stream.on('data', (piece) => {
      text += piece;
      if (text.includes(`"id":"${id}"`)) resolve();
    });
  });
  return { stream, opened, seen };
}

(async () => {
  assert.strictEqual((await ask('PUT', '/db')).status, 201);
  assert.strictEqual(session.alpnProtocol, 'h2');
  const kinds = ['longpoll', 'continuous', 'eventsource'];
  const feeds = Array.from({ length: FEEDS }, (_, n) => feed(kinds[n % kinds.length], 'news'));
  for (const { opened } of feeds) assert.strictEqual(await opened, 200);
  assert.strictEqual((await ask('PUT', '/db/news', '{}')).status, 201);
  await Promise.all(feeds.map(({ seen }) => seen));
  // Escaped quotation marks are the form that HTTP has for them.
  const found = await ask('GET', '/db/_all_docs?key=%22news%22');
  assert.strictEqual(JSON.parse(found.text).rows.length, 1);
  for (const { stream } of feeds) stream.close();
  session.destroy();
})();
