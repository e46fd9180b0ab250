// Opens a page in a real Chromium and drives it over the browser's debugging protocol: which URLs the page requests,
// which errors its console reports, and what it contains. `skip` names the reason where Debian's package `chromium` is
// absent.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { tempDirectory } from './temp.js';

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

export interface Page {
  /** URLs that the page has requested, in order. */
  readonly requests: string[];
  /** Messages of the page's console at level error, including violations of its content security policy. */
  readonly complaints: string[];
  /** The value of an expression in the page; a promise is awaited. Rejects with what the expression throws. */
  evaluate(expression: string): Promise<unknown>;
  /** Waits until the expression is truthy in the page, and resolves with its value. */
  until(expression: string): Promise<unknown>;
  /** Resolves when the page has reloaded. */
  reload(): Promise<void>;
  /** Sends a command of the debugging protocol to the page. */
  send(method: string, params?: object): Promise<Record<string, any>>;
  /** Calls the listener with each event of the protocol from now on. */
  hear(listener: (method: string, params: Record<string, any>) => void): void;
}

/** A minute of tries, because the machine may be busy with other tests. */
const TRIES_MAX = 1200;

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, any>;
  result?: Record<string, any>;
  error?: { message: string };
}

type Send = (method: string, params?: object) => Promise<Record<string, any>>;

/** A test, or whatever else runs hooks when it ends. */
export interface Ender {
  after(hook: () => Promise<void>): void;
}

/** Opens a page; the browser ends with the test. `prepare` runs before the page navigates to the URL. */
export async function openPage(
  t: Ender,
  url: string,
  prepare?: (send: Page['send']) => Promise<unknown>,
): Promise<Page> {
  const requests: string[] = [];
  const complaints: string[] = [];
  const listeners: ((method: string, params: Record<string, any>) => void)[] = [];
  const hear = ({ method, params }: Message): void => {
    for (const listener of listeners) listener(method ?? '', params ?? {});
    if (method === 'Network.requestWillBeSent') requests.push(params?.request.url as string);
    if (method === 'Log.entryAdded' && params?.entry.level === 'error')
      complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    if (method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(params?.exceptionDetails));
  };
  const send = startBrowser(t, hear);
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const inPage: Send = (method, params = {}) => send(method, { ...params, sessionId });
  for (const domain of ['Network', 'Log', 'Runtime', 'Page']) await inPage(`${domain}.enable`);
  await prepare?.(inPage);
  await inPage('Page.navigate', { url });
  const evaluate = (expression: string): Promise<unknown> => evaluateIn(inPage, expression);
  const until = (expression: string): Promise<unknown> => untilTrue(evaluate, expression, complaints);
  const reload = async (): Promise<void> => {
    await evaluate('void (window.isOld = true)');
    await inPage('Page.reload');
    await until(`window.isOld === undefined && document.readyState === 'complete'`);
  };
  return { requests, complaints, evaluate, until, reload, send: inPage, hear: (listener) => listeners.push(listener) };
}

async function evaluateIn(inPage: Send, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = await inPage('Runtime.evaluate', {
    expression,
    returnByValue: true,
    awaitPromise: true,
  });
  if (exceptionDetails)
    throw new Error(
      `${exceptionDetails.exception?.description ?? exceptionDetails.text} in the page, of ${expression.slice(0, 500)}`,
    );
  return result.value;
}

/**
 * Evaluates the expression until it is truthy. An exception counts as not yet: an element is missing, or the page is
 * being replaced.
 */
async function untilTrue(
  evaluate: Page['evaluate'],
  expression: string,
  complaints: readonly string[],
): Promise<unknown> {
  let thrown: unknown;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const value = await evaluate(expression).catch((error: unknown) => void (thrown = error));
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const shown = await evaluate('document.body.innerText').catch(String);
  throw new Error(
    `never true in the page: ${expression}\n${[thrown, ...complaints].join('\n')}\nThe page shows:\n${shown}`,
  );
}

/**
 * Starts the browser with its protocol over a pipe: JSON messages that end in a zero byte, written to descriptor 3 and
 * read from descriptor 4.
 */
function startBrowser(t: Ender, hear: (message: Message) => void): Send {
  // Hooks run in the order of their registration: the browser has to end before its directory is removed.
  t.after(() => end());
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-breakpad',
    '--no-first-run',
    '--remote-debugging-pipe',
    `--user-data-dir=${tempDirectory()}`,
  ];
  const child = spawn(CHROMIUM as string, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const end = async (): Promise<void> => {
    void send('Browser.close').catch(() => undefined);
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(timer);
    for (const stream of child.stdio) stream?.destroy();
  };
  const waiting = new Map<number, { resolve: (result: Record<string, any>) => void; reject: (error: Error) => void }>();
  let rest = '';
  (child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop() ?? '';
    for (const message of messages.map((each) => JSON.parse(each) as Message)) {
      const caller = waiting.get(message.id ?? 0);
      waiting.delete(message.id ?? 0);
      if (message.error) caller?.reject(new Error(message.error.message));
      else if (caller) caller.resolve(message.result ?? {});
      else hear(message);
    }
  });
  let id = 0;
  const send: Send = (method, params = {}) => {
    const { sessionId, ...others } = params as { sessionId?: string };
    (child.stdio[3] as Writable).write(
      `${JSON.stringify({ id: ++id, method, params: others, ...(sessionId && { sessionId }) })}\0`,
    );
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  return send;
}
