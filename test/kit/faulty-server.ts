// Runs a server in a separate process over the fault layer (load/fault), which makes calls on its files fail as a
// kernel would, and sends it requests.
import { join } from 'node:path';
import { Faults, compileShim, faultEnvironment } from '../../load/fault/fault-layer.js';
import { spawnServe, untilReady, type ServeProcess } from './process.js';
import { tempDirectory } from './temp.js';
import { until } from './until.js';

const shim = compileShim();
/** Why tests over the fault layer cannot run on this machine; false where they can. */
export const skip = shim === undefined ? 'there is no C compiler' : false;
export const DOCS = '/v1/collections/acme/docs';

export interface Run extends ServeProcess {
  url: string;
  faults: Faults;
  dataDir: string;
}

export interface StartOptions {
  dataDir?: string;
  settings?: Record<string, string>;
  /** Sets faults before the process starts. */
  prepare?: (faults: Faults) => void;
}

/** Starts the server without waiting for it: it may never become ready. */
export function spawnOverFaults({
  dataDir = join(tempDirectory(), 'data'),
  settings = {},
  prepare,
}: StartOptions = {}): Omit<Run, 'url'> {
  const faults = new Faults(join(tempDirectory(), 'faults'));
  prepare?.(faults);
  const layer = faultEnvironment(shim as string, { root: dataDir, control: faults.path });
  const server = spawnServe({
    SHEAF_DATA_DIR: dataDir,
    SHEAF_STORAGE__PARTITIONS: '2',
    SHEAF_COLLECTIONS__PARTITIONS: '2',
    SHEAF_THREADS: '1',
    ...settings,
    ...layer,
  });
  return { ...server, faults, dataDir };
}

export async function startOverFaults(options: StartOptions = {}): Promise<Run> {
  const run = spawnOverFaults(options);
  const url = await untilReady(run);
  // Readiness does not wait for the log worker. Once it answers this request it has opened its store, so what it syncs
  // while opening meets no fault of a test.
  await ask({ url }, 'GET', '/v1/admin/queries/01a1fd3e-fa54-7702-8c4d-b6b9e71fa897');
  return { ...run, url };
}

export async function killed(run: Pick<Run, 'child' | 'ended'>): Promise<void> {
  run.child.kill('SIGKILL');
  await run.ended;
}

export interface Told {
  status: number;
  json: Record<string, any>;
}

export async function ask({ url }: Pick<Run, 'url'>, method: string, path: string, body?: unknown): Promise<Told> {
  const sent =
    body === undefined
      ? {}
      : body instanceof FormData
        ? { body }
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(url + path, { method, ...sent });
  return { status: response.status, json: (await response.json()) as Record<string, any> };
}

export async function put(run: Pick<Run, 'url'>, docid: string): Promise<{ status: number; code: string }> {
  const { status, json } = await ask(run, 'POST', `${DOCS}/documents`, { docid, text: `the text of ${docid}` });
  return { status, code: String(json.code) };
}

export const statusOf = async ({ url }: Pick<Run, 'url'>, path: string): Promise<number> =>
  (await fetch(url + path)).status;

export const docids = async (run: Pick<Run, 'url'>): Promise<string[]> =>
  (await ask(run, 'GET', `${DOCS}/documents`)).json.documents.map(({ docid }: { docid: string }) => docid);

/** Puts the document until a put is acknowledged. */
export async function untilTaken(run: Run, docid: string): Promise<void> {
  await until(
    async () => (await put(run, docid)).status === 201,
    () => `writes are not taken again: ${run.output()}`,
  );
}
