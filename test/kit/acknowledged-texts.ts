// What a client knows of a collection on a server in a process of its own that is killed now and then: what has been
// acknowledged of each document, and what may have been applied.
import assert from 'node:assert/strict';
import { type Told, ask } from './faulty-server.js';
import { type ServeProcess, startServe } from './process.js';
import { until } from './until.js';

export const BASE = '/v1/collections/acme/docs';

export interface Process {
  serve: ServeProcess;
  call: (method: string, path: string, body?: unknown) => Promise<Told>;
}

export async function startProcess(env: Record<string, string>): Promise<Process> {
  const serve = await startServe(env);
  const call: Process['call'] = (method, path, body) => ask(serve, method, path, body);
  await until(async () => (await call('GET', '/health/ready')).status === 200, serve.output);
  return { serve, call };
}

/**
 * What has been acknowledged: text and version of each document; null for a removed one. A write that was in flight at
 * a kill may or may not have been applied.
 */
export class AcknowledgedTexts {
  readonly texts = new Map<string, string | null>();
  readonly unsure = new Map<string, (string | null)[]>();

  constructor(private readonly seed: number) {}

  async write({ call }: Process, docid: string, text: string | null): Promise<void> {
    const before = this.unsure.get(docid) ?? [this.texts.get(docid) ?? null];
    this.unsure.set(docid, [...before, text]);
    const { status, json } =
      text === null
        ? await call('DELETE', `${BASE}/documents/${docid}`)
        : await call('POST', `${BASE}/documents`, { docid, text });
    assert.ok(status < 300 || status === 503, JSON.stringify(json));
    if (status >= 300) return;
    this.texts.set(docid, text);
    this.unsure.delete(docid);
  }

  async check({ call }: Process): Promise<void> {
    const { json } = await call('GET', `${BASE}/documents`);
    const there = new Set(json.documents.map(({ docid }: { docid: string }) => docid));
    for (const docid of new Set([...this.texts.keys(), ...this.unsure.keys(), ...there])) {
      const text = there.has(docid as string) ? await this.textOf(call, docid as string) : null;
      const allowed = this.unsure.get(docid as string) ?? [this.texts.get(docid as string) ?? null];
      assert.ok(allowed.includes(text), `${docid}: ${text} is none of ${JSON.stringify(allowed)}, seed ${this.seed}`);
    }
  }

  private async textOf(call: Process['call'], docid: string): Promise<string> {
    const { json } = await call('POST', `${BASE}/search`, { q: 'x', k: 1, filters: { docid } });
    return json.matches[0]?.text;
  }
}
