// Drives the console in a real browser as a user would: clicks, keys, dropped files, screenshots.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.js';
import { openPage, type Ender, type Page } from './chromium.js';

/** Lets the nth held request through as soon as it has been sent. */
interface LetThrough {
  (nth: number): Promise<void>;
  /** Resolves when the nth request has been sent, and keeps holding it. */
  arrived(nth: number): Promise<void>;
}

export interface ConsolePage extends Page {
  /**
   * Waits until an element matches the selector and contains the text, if one is given; resolves with the element's
   * text.
   */
  shows(selector: string, text?: string): Promise<string>;
  /** Waits until the element is there and enabled, and clicks it. */
  click(selector: string, text?: string): Promise<void>;
  /** Fills a field by text input, as typing would. */
  fill(selector: string, value: string): Promise<void>;
  /** Chooses an option of a list by its value, once the list has it. */
  choose(selector: string, value: string): Promise<void>;
  /** Presses keys, one right after the other: `/`, `Enter`, `Escape`. */
  press(...keys: string[]): Promise<void>;
  /** Writes a PNG into a folder below the system's temporary directory, and returns its path. */
  shoot(name: string): Promise<string>;
  dress(scheme: 'light' | 'dark'): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  /** Holds requests that match the pattern before they are sent, or their responses before the page receives them. */
  hold(urlPattern: string, stage: 'Request' | 'Response'): Promise<LetThrough>;
  /** The accessibility violations that axe-core finds in the page, one line each. */
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
  await page.send('Emulation.setDeviceMetricsOverride', {
    width: 1280,
    height: 860,
    deviceScaleFactor: 1,
    mobile: false,
  });
  await page.until(`document.querySelector('main') !== null`);
  const shows = async (selector: string, text = ''): Promise<string> => {
    const shown = await page.until(`{ const found = ${finding(selector, text)}; found && { text: found.innerText } }`);
    return (shown as { text: string }).text;
  };
  return {
    ...page,
    shows,
    async click(selector, text = '') {
      // Finding and clicking are one step, since the page may replace the element between two. A disabled element takes
      // no click.
      await page.until(
        `{ const found = ${finding(`${selector}:enabled, ${selector}:not(button)`, text)}; found?.click(); found !== undefined }`,
      );
    },
    async fill(selector, value) {
      const field = `document.querySelector(${JSON.stringify(selector)})`;
      // Focusing and typing are one step, since a page that is still rendering may take the focus away between two.
      await page.until(
        `(${field}?.focus(), ${field} !== null && document.activeElement === ${field} && (${field}.select?.(), document.execCommand('insertText', false, ${JSON.stringify(value)}), true))`,
      );
      assert.equal(await page.evaluate(`${field}.value ?? ${field}.innerText`), value);
    },
    async choose(selector, value) {
      const list = `document.querySelector(${JSON.stringify(selector)})`;
      await page.until(`[...${list}.options].some(({ value }) => value === ${JSON.stringify(value)})`);
      await page.evaluate(
        `{ const list = ${list}; list.value = ${JSON.stringify(value)}; list.dispatchEvent(new Event('change', { bubbles: true })); }`,
      );
    },
    async press(...keys) {
      await Promise.all(
        keys.flatMap((key) =>
          ['keyDown', 'keyUp'].map((type) => page.send('Input.dispatchKeyEvent', { type, ...keyOf(key) })),
        ),
      );
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
    hold: (urlPattern, stage) => hold(page, urlPattern, stage),
    violations: () => violations(page),
  };
}

function keyOf(key: string): object {
  const { code, keyCode, text } = CODES[key] ?? {
    code: key.length > 1 ? key : '',
    keyCode: key.toUpperCase().charCodeAt(0),
    ...(key.length === 1 && { text: key }),
  };
  return { key, code, windowsVirtualKeyCode: keyCode, ...(text && { text }) };
}

/** An expression for the first element that matches the selector and contains the text. */
function finding(selector: string, text: string): string {
  return `[...document.querySelectorAll(${JSON.stringify(selector)})].find((element) => (element.innerText ?? '').includes(${JSON.stringify(text)}))`;
}

async function hold(page: Page, urlPattern: string, requestStage: string): Promise<LetThrough> {
  const held: string[] = [];
  page.hear((method, { requestId }) => void (method === 'Fetch.requestPaused' && held.push(requestId as string)));
  await page.send('Fetch.enable', { patterns: [{ urlPattern, requestStage }] });
  const arrived = (nth: number): Promise<void> => until(() => held.length > nth, `request ${nth} does not come`);
  const letThrough = async (nth: number): Promise<void> => {
    await arrived(nth);
    await page.send('Fetch.continueRequest', { requestId: held[nth] });
  };
  return Object.assign(letThrough, { arrived });
}

/** Runs axe-core through the debugging protocol, because the page's content security policy admits no other script. */
async function violations(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(`${source}; true`);
  const run =
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify(violations.map(({ id, help, nodes }) => id + ": " + help + " at " + nodes.map(({ target, any }) => target.join(" ") + " " + (any[0]?.message ?? "")).join("; "))))';
  return JSON.parse(String(await page.evaluate(run))) as string[];
}
