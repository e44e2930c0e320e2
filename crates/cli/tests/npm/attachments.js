// Attachments: text, binary, empty and large; put and fetched directly and replicated.
'use strict';
const { assert, local, remote, assertEqual, run } = require('./common.js');

run(async () => {
  const [here, there] = [local(), remote('attachments')];
  const binary = Buffer.alloc(300000);
  for (let at = 0, state = 7; at < binary.length; at++) {
    state = (state * 1103515245 + 12345) % 2147483648;
    binary[at] = state >> 16;
  }
  await there.put({
    _id: 'inline',
    _attachments: {
      'note.txt': { content_type: 'text/plain', data: Buffer.from('Grüße\n').toString('base64') },
      empty: { content_type: 'application/octet-stream', data: '' },
    },
  });
  const note = await there.getAttachment('inline', 'note.txt');
  assert.strictEqual(note.toString(), 'Grüße\n');
  assert.strictEqual((await there.getAttachment('inline', 'empty')).length, 0);
  const stub = (await there.get('inline'))._attachments['note.txt'];
  assert.strictEqual(stub.stub, true);
  assert.strictEqual(stub.length, 8);

  // A later edit that keeps a stub keeps the attachment; one without it drops it.
  const doc = await there.get('inline');
  delete doc._attachments.empty;
  await there.put({ ...doc, edited: true });
  assert.strictEqual((await there.getAttachment('inline', 'note.txt')).toString(), 'Grüße\n');
  await assert.rejects(there.getAttachment('inline', 'empty'), { status: 404 });

  await here.put({ _id: 'large' });
  const { _rev } = await here.get('large');
  await here.putAttachment('large', 'noise.bin', _rev, binary, 'application/octet-stream');
  await here.sync(there);
  await assertEqual(here, there);
  const back = await there.getAttachment('large', 'noise.bin');
  assert(binary.equals(back));

  const second = local();
  await second.replicate.from(there);
  await assertEqual(second, there);
  assert(binary.equals(await second.getAttachment('large', 'noise.bin')));
});
