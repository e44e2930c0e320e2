// Opens every kind of page of a repository in headless Chromium, in light and on a wide screen, in dark and on a narrow one: axe
// finds nothing that breaks WCAG's level AA, no page is wider than its screen, and the console stays empty.
'use strict';
const { ask, assert, eventually, origin, run } = require('../console/browser.js');
const fs = require('fs');

const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
// Colours go by the scheme and layout by the width, so that two views show both of each; people look at pictures of all four.
const VIEWS = [{ scheme: 'light', ...WIDE }, { scheme: 'dark', ...NARROW }];
const VIEWS_TO_LOOK_AT = [...VIEWS, { scheme: 'dark', ...WIDE }, { scheme: 'light', ...NARROW }];

// Addresses of pages, each of another kind, a space between two.
const addresses = process.env.ADDRESSES.split(' ');

// Refusals are pages, too.
const expected = [
  { status: 404, method: 'GET', path: /^\/hg\/lake\/rev\/nope$/, why: 'there is no such changeset' },
  { status: 400, method: 'GET', path: /^\/hg\/lake\/nosuch$/, why: 'there is no such page' },
  { status: 404, method: 'GET', path: /^\/hg\/nosuch$/, why: 'there is no such repository' },
];

// The faults of the page that is shown.
async function faults(page) {
  await page.evaluate(axe);
  return page.evaluate(async (tags) => {
    const { violations } = await window.axe.run(document, { runOnly: tags, resultTypes: ['violations'] });
    const found = violations.flatMap(({ id, impact, nodes }) => nodes.map((node) => `${impact} ${id}: ${node.html}`));
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push(`wider than the screen: ${root.scrollWidth} px`);
    return found;
  }, RULES);
}

run('pages', expected, async (fauxton) => {
  const { page } = fauxton;
  const found = [];
  // The database follows the repository soon, and its index it.
  const counted = () => ask('GET', '/hg%2Flake/_design/history/_view/by_author');
  await eventually(async () => assert.strictEqual((await counted()).rows[0].value, 2));
  const about = `/hg%2Flake/${process.env.NODE_OF_CHANGESET}`;
  await ask('PUT', `${about}:build:linux`, { type: 'build', state: 'failed', text: 'it broke', url: 'https://ci.example/1' });
  await ask('PUT', `${about}:review:1`, { type: 'review', state: 'approved', author: 'Ada', path: 's/g', line: 2 });
  const views = process.env.VARVE_SCREENSHOTS ? VIEWS_TO_LOOK_AT : VIEWS;
  for (const { scheme, width, height } of views) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setViewport({ width, height });
    for (const address of addresses) {
      await fauxton.step(`${scheme} ${width} ${address}`, async () => {
        await page.goto(`${origin}${address}`);
        found.push(...(await faults(page)).map((fault) => `${scheme} ${address}: ${fault}`));
      });
    }
  }
  assert.deepStrictEqual(found, []);
});
