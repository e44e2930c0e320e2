// Two servers and a PouchDB replicate in a ring, with edits of the same documents everywhere: all three end equal.
'use strict';
const { assert, PouchDB, local, remote, assertEqual, server, run } = require('./common.js');

const other = process.env.OTHER;

async function replicate(on, body) {
  const response = await PouchDB.fetch(`${on.replace(/\/\/[^@]*@/, '//')}_replicate`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Basic ${Buffer.from(decodeURIComponent(new URL(on).username + ':' + new URL(on).password)).toString('base64')}`,
    },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  assert(answer.ok, JSON.stringify(answer));
  return answer;
}

run(async () => {
  const here = local();
  const one = new PouchDB(`${server}ring`);
  const two = new PouchDB(`${other}ring`);
  for (let n = 0; n < 30; n++) {
    await here.put({ _id: `doc-${n}`, by: 'here', n });
  }
  await here.put({
    _id: 'attached',
    _attachments: { 'a.txt': { content_type: 'text/plain', data: Buffer.from('sediment '.repeat(400)).toString('base64') } },
  });
  const round = async () => {
    await here.replicate.to(one);
    await replicate(other, { source: `${server}ring`, target: `${other}ring`, create_target: true });
    await here.replicate.from(two);
  };
  await round();
  for (let turn = 0; turn < 3; turn++) {
    for (const [name, db] of [['here', here], ['one', one], ['two', two]]) {
      for (let n = turn; n < 30; n += 3) {
        const doc = await db.get(`doc-${n}`);
        if ((n + turn) % 7 === 0) await db.remove(doc);
        else await db.put({ ...doc, by: name, turn });
      }
    }
    await round();
    await round();
  }
  await replicate(server, { source: `${other}ring`, target: `${server}ring` });
  await round();
  await assertEqual(here, one);
  await assertEqual(one, two);
  const conflicts = await one.get('doc-1', { conflicts: true });
  assert(conflicts._conflicts.length > 0, JSON.stringify(conflicts));
});
