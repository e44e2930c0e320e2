// Drives Fauxton in headless Chromium. What the browser's console, its scripts and its requests complain about fails
// the script, unless it is expected by name; then it must come.
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const puppeteer = require('puppeteer-core');

// URL of the server with an admin's name and password in it.
const server = new URL(process.env.SERVER);
const origin = server.origin;
const admin = { name: server.username, password: server.password };
// Where pictures of pages go: those of failures always, and with VARVE_SCREENSHOTS those of all steps.
const pictures = process.env.PICTURES;
const keepAll = Boolean(process.env.VARVE_SCREENSHOTS);

// A request whose refusal belongs to the page: `{ status, method, path, why }`, where the path is a regular expression.
const isExpected = (response, wanted) => response.status() === wanted.status
  && response.request().method() === wanted.method
  && wanted.path.test(new URL(response.url()).pathname);

class Faults {
  constructor(expected) {
    this.expected = expected.map((wanted) => ({ ...wanted, urls: [] }));
    this.found = [];
  }

  watch(page) {
    page.on('pageerror', (error) => this.found.push(`script: ${error.stack || error}`));
    page.on('response', (response) => {
      if (response.status() < 400) return;
      const known = this.expected.find((wanted) => isExpected(response, wanted));
      if (known) known.urls.push(response.url());
      else this.found.push(`${response.status()} for ${response.request().method()} ${response.url()}`);
    });
    page.on('requestfailed', (request) => {
      const { errorText } = request.failure() || {};
      // A page that is left ends its requests.
      if (errorText !== 'net::ERR_ABORTED') this.found.push(`${errorText} for ${request.method()} ${request.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      this.found.push({ text: message.text(), url: message.location().url });
    });
  }

  check() {
    // The browser tells of each refused request once more.
    const urls = new Set(this.expected.flatMap((wanted) => wanted.urls));
    const isRepeated = (fault) => /^Failed to load resource/.test(fault.text) && urls.has(fault.url);
    assert.deepStrictEqual(this.found.filter((fault) => !isRepeated(fault)), []);
    for (const { urls: seen, ...wanted } of this.expected) {
      assert.notStrictEqual(seen.length, 0, `expected ${wanted.status} for ${wanted.method} ${wanted.path}`);
    }
  }
}

// Says what was tried when something failed.
const named = (words) => (error) => {
  throw new Error(words, { cause: error });
};

class Fauxton {
  constructor(name, page) {
    this.name = name;
    this.page = page;
    this.steps = 0;
  }

  async picture(what) {
    fs.mkdirSync(pictures, { recursive: true });
    const file = path.join(pictures, `${this.name}-${what}.png`);
    await this.page.screenshot({ path: file });
    return file;
  }

  // One thing that a person does, with what shows that it was done.
  async step(words, body) {
    this.steps += 1;
    try {
      await body();
    } catch (error) {
      throw new Error(`where ${words}`, { cause: error });
    }
    if (keepAll) {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await this.picture(`${this.steps}-${words.replace(/[^a-z0-9]+/gi, '-')}`);
    }
  }

  // Goes to a page by the part of its address behind `#`.
  async open(hash) {
    // From another page, so that it is loaded anew and no notification lies over its buttons.
    await this.page.goto('about:blank');
    await this.page.goto(`${origin}/_utils/#${hash}`);
  }

  async click(selector) {
    await this.page.locator(selector).click().catch(named(`cannot click ${selector}`));
  }

  async fill(selector, text) {
    await this.page.locator(selector).fill(text).catch(named(`cannot fill ${selector}`));
  }

  // Waits until a text stands on the page, anywhere or below a selector.
  async sees(text, selector = 'body') {
    const isThere = (below, wanted) => [...document.querySelectorAll(below)]
      .some((element) => element.innerText.replace(/\s+/g, ' ').includes(wanted));
    const waited = this.page.waitForFunction(isThere, {}, selector, text);
    await waited.catch(named(`${text} is not below ${selector}`));
  }

  async misses(selector) {
    await this.page.waitForSelector(selector, { hidden: true });
  }

  // Replaces the text of the code editor at a selector, from the keyboard.
  async edit(selector, text) {
    await this.click(`${selector} .ace_content`);
    await this.page.keyboard.down('Control');
    await this.page.keyboard.press('a');
    await this.page.keyboard.up('Control');
    await this.page.keyboard.sendCharacter(text);
  }

  // What the page's own scripts get from the server.
  async fetch(address, options = {}) {
    const ask = async (to, given) => {
      const answer = await fetch(to, given);
      return { status: answer.status, body: await answer.json() };
    };
    return this.page.evaluate(ask, address, options);
  }

  async logIn({ name, password } = admin) {
    await this.page.goto(`${origin}/_utils/`);
    const body = JSON.stringify({ name, password });
    const headers = { 'content-type': 'application/json' };
    const { status } = await this.fetch('/_session', { method: 'POST', headers, body });
    assert.strictEqual(status, 200);
    await this.page.reload();
  }
}

// Asks the server as its admin, beside the browser.
async function ask(method, address, body, headers = {}) {
  const basic = Buffer.from(`${admin.name}:${admin.password}`).toString('base64');
  const isText = typeof body === 'string' || body instanceof Buffer;
  const answer = await fetch(`${origin}${address}`, {
    method,
    headers: { authorization: `Basic ${basic}`, accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: body === undefined || isText ? body : JSON.stringify(body),
  });
  const json = await answer.json();
  assert.ok(answer.ok, `${method} ${address}: ${answer.status} ${JSON.stringify(json)}`);
  return json;
}

// Asks again until a check passes; its failure counts after a minute.
async function eventually(check) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await check();
    } catch (error) {
      if (tries === 600) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function launch() {
  const args = ['--disable-dev-shm-usage', '--disable-gpu', '--lang=en'];
  // Chromium has no sandbox of its own for root, as in most containers.
  if (process.getuid() === 0) args.push('--no-sandbox');
  return puppeteer.launch({ executablePath: process.env.CHROMIUM, args });
}

// Runs a script in a browser of its own.
async function inBrowser(name, expected, body) {
  const browser = await launch();
  let failure;
  try {
    const page = await browser.newPage();
    // Only what never comes waits for so long.
    page.setDefaultTimeout(60000);
    await page.setViewport({ width: 1280, height: 900 });
    const faults = new Faults(expected);
    faults.watch(page);
    const fauxton = new Fauxton(name, page);
    fauxton.faults = faults;
    await body(fauxton, browser).then(() => faults.check()).catch(async (error) => {
      failure = error;
      console.error(faults.found);
      console.error(`a picture of the page: ${await fauxton.picture('failed')}`);
    });
  } finally {
    await browser.close();
  }
  if (failure) throw failure;
}

function run(name, expected, body) {
  inBrowser(name, expected, body).then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

module.exports = { assert, admin, ask, eventually, origin, run };
