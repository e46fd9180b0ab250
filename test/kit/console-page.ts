// The console in a real browser, used as its user would: clicks, keys, dropped files, screenshots. For the tests
// below test/ui.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPage, type Ender, type Page } from './chromium.js';

export interface ConsolePage extends Page {
  /** Waits until an element fits the selector, and has the text where one is given; then its text. */
  shows(selector: string, text?: string): Promise<string>;
  /** Waits until it is there, and clicks it. */
  click(selector: string, text?: string): Promise<void>;
  /** Fills a field as typing would. */
  fill(selector: string, value: string): Promise<void>;
  /** Chooses of a list by value. */
  choose(selector: string, value: string): Promise<void>;
  /** Presses a key: `/`, `Enter`, `Escape`. */
  press(key: string): Promise<void>;
  /** Writes a PNG to a folder below the system's temporary one, and gives its path. */
  shoot(name: string): Promise<string>;
  dress(scheme: 'light' | 'dark'): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  /** What axe-core has against the page, a line each. */
  violations(): Promise<string[]>;
}

const SHOTS = join(tmpdir(), 'sheaf-console');

const CODES: Readonly<Record<string, { code: string; keyCode: number; text?: string }>> = {
  ArrowRight: { code: 'ArrowRight', keyCode: 39 },
  Enter: { code: 'Enter', keyCode: 13, text: '\r' },
  Escape: { code: 'Escape', keyCode: 27 },
};

export async function openConsole(t: Ender, url: string): Promise<ConsolePage> {
  const page = await openPage(t, url);
  await page.send('Emulation.setDeviceMetricsOverride', { width: 1280, height: 860, deviceScaleFactor: 1, mobile: false });
  await page.until(`document.querySelector('main') !== null`);
  const shows = async (selector: string, text = ''): Promise<string> => {
    await page.until(`${finding(selector, text)} !== undefined`);
    return String(await page.evaluate(`${finding(selector, text)}.innerText`));
  };
  return {
    ...page,
    shows,
    async click(selector, text = '') {
      await shows(selector, text);
      await page.evaluate(`${finding(selector, text)}.click()`);
    },
    async fill(selector, value) {
      const field = `document.querySelector(${JSON.stringify(selector)})`;
      await page.until(`(${field}?.focus(), ${field} !== null && document.activeElement === ${field})`);
      await page.evaluate(`(${field}.select?.(), document.execCommand('insertText', false, ${JSON.stringify(value)}))`);
      assert.equal(await page.evaluate(`${field}.value ?? ${field}.innerText`), value);
    },
    async choose(selector, value) {
      await shows(selector);
      await page.evaluate(`(() => { const list = document.querySelector(${JSON.stringify(selector)}); list.value = ${JSON.stringify(value)}; list.dispatchEvent(new Event('change', { bubbles: true })); })()`);
    },
    async press(key) {
      const { code, keyCode, text } = CODES[key] ?? { code: key.length > 1 ? key : '', keyCode: key.toUpperCase().charCodeAt(0), ...(key.length === 1 && { text: key }) };
      const event = { key, code, windowsVirtualKeyCode: keyCode, ...(text && { text }) };
      await page.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
      await page.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
    async shoot(name) {
      const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
      mkdirSync(SHOTS, { recursive: true });
      const path = join(SHOTS, `${name}.png`);
      writeFileSync(path, Buffer.from(String(data), 'base64'));
      return path;
    },
    async dress(scheme) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    },
    async resize(width, height) {
      await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    },
    violations: () => violations(page),
  };
}

/** The first element that fits and has the text, as an expression. */
function finding(selector: string, text: string): string {
  return `[...document.querySelectorAll(${JSON.stringify(selector)})].find((element) => (element.innerText ?? '').includes(${JSON.stringify(text)}))`;
}

/** Through the protocol: the policy of the page lets no script in, and need not. */
async function violations(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(`${source}; true`);
  const run = 'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify(violations.map(({ id, help, nodes }) => id + ": " + help + " at " + nodes.map(({ target, any }) => target.join(" ") + " " + (any[0]?.message ?? "")).join("; "))))';
  const { result } = await page.send('Runtime.evaluate', { expression: run, awaitPromise: true, returnByValue: true });
  return JSON.parse(String(result.value ?? '["axe did not run"]')) as string[];
}
