// Soaks of a server with front threads: keys that are granted and revoked under searches, and threads of every kind that
// die amid random operations. Each prints its counts, and exits with code 1 on a violation.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../src/base/log.js';
import { type Prng, createPrng } from '../src/base/prng.js';
import { type RunningServer, startServer } from '../src/cli/serve.js';
import { SheafClient } from '../src/client/client.js';
import { readConfig } from '../src/config/load.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import { withFolder, withServer } from './kit/server.js';
import { createSlots } from './torture/model.js';
import { type Work, checkAll, workUntil } from './torture/run.js';
import { counted, emptyTally, printViolations, withSpaces } from './torture/writer.js';

const FRONTS = 3;
const ADMIN = 'root';
const TENANT = 'acme';
const SEARCHERS = 12;
const KEYS_MAX = 20;
/** Revoked keys that are tried further on. */
const REVOKED_KEPT = 200;

interface Grant {
  readonly id: string;
  readonly key: string;
  /** `going` from the request of the revocation on, `gone` from its answer on. */
  state: 'granted' | 'going' | 'gone';
}

/**
 * Keys are granted and revoked while searches with granted and with revoked keys run on connections to all front threads.
 * A violation is an answer to a key after its revocation was answered, and a 401 for a granted one.
 */
export async function revocations({ tiny, number }: LoadOptions): Promise<void> {
  const seed = number('seed', 1);
  const forMs = tiny ? 2000 : number('minutes', 20) * 60_000;
  const prng = createPrng(seed);
  const counts = { granted: 0, revoked: 0, answered: 0, refused: 0, changing: 0 };
  const violations: string[] = [];
  const settings = {
    SHEAF_SERVER__THREADS: String(FRONTS),
    SHEAF_THREADS: '1',
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: ADMIN,
  };
  await withServer(
    undefined,
    async (url) => {
      const admin = new SheafClient({ url, key: ADMIN });
      await admin.ingestText(TENANT, 'docs', { docid: 'a', text: 'the captain' });
      const untilMs = performance.now() + forMs;
      const isOver = (): boolean => performance.now() > untilMs || violations.length > 0;
      const grants: Grant[] = [];
      const change = async (): Promise<void> => {
        while (!isOver()) {
          const granted = grants.filter(({ state }) => state === 'granted');
          if (granted.length < 2 || (granted.length < KEYS_MAX && prng.int(2) === 0)) {
            const { key_id: id, key } = await admin.admin.createKey(TENANT, { scopes: ['search'] });
            grants.push({ id, key, state: 'granted' });
            counts.granted++;
          } else {
            const grant = granted[prng.int(granted.length)] as Grant;
            grant.state = 'going';
            await admin.admin.revokeKey(TENANT, grant.id);
            grant.state = 'gone';
            counts.revoked++;
            const old = grants.findIndex(({ state }) => state === 'gone');
            if (grants.length > REVOKED_KEPT) grants.splice(old, 1);
          }
          await sleep(prng.int(20));
        }
      };
      const search = async (): Promise<void> => {
        while (!isOver()) {
          const grant = grants[grants.length - 1 - Math.floor(grants.length * prng.next() ** 3)];
          if (!grant) {
            await sleep(1);
            continue;
          }
          const before = grant.state;
          const { status } = await searchWith(url, grant.key);
          const after = grant.state;
          if (before === 'gone') {
            if (status === 401) counts.refused++;
            else violations.push(`${status} for a key that was revoked`);
          } else if (after === 'granted') {
            if (status === 200) counts.answered++;
            else violations.push(`${status} for a key that is granted`);
          } else counts.changing++;
        }
      };
      await Promise.all([change(), ...Array.from({ length: SEARCHERS }, search)]);
    },
    settings,
  );
  printTable(`keys granted and revoked over ${FRONTS} front threads, seed ${seed}`, [
    ['what', 'number'],
    ['keys granted, revoked', `${whole(counts.granted)}, ${whole(counts.revoked)}`],
    ['searches answered with granted keys', whole(counts.answered)],
    ['searches refused with revoked keys', whole(counts.refused)],
    ['searches during a revocation', whole(counts.changing)],
    ['violations', whole(violations.length)],
  ]);
  for (const violation of violations) console.log(violation);
  if (violations.length > 0) process.exitCode = 1;
}

/** The client would repeat a request, and hides the status. */
async function searchWith(url: string, key: string): Promise<Response> {
  const response = await fetch(`${url}/v1/collections/${TENANT}/docs/search?q=captain`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await response.arrayBuffer();
  return response;
}

const SHARDS = 2;
const KILLS_A_ROUND = 8;
const KILL_EVERY_MS_MAX = 200;

/** Ends threads of one kind, as a crash would. */
const KILLS: Readonly<Record<string, (parts: RunningServer['parts'], prng: Prng) => Promise<void>>> = {
  'front threads': ({ fronts }, prng) => fronts.kill(prng.int(FRONTS)),
  owners: ({ shards }, prng) => shards.kill(prng.int(SHARDS)),
  'search workers': ({ searches }) => searches.kill(),
  'log workers': ({ queryLog }) => queryLog.kill(),
  'embed workers': ({ embed }) => embed.kill(),
  'batch workers': ({ batch }) => batch.kill(),
};

/**
 * The operations of torture on a server in this process, whose threads are ended at random moments. After some deaths all
 * is compared with the model: what was acknowledged is there, and what was cut off has happened or has not.
 */
export async function deaths({ tiny, number }: LoadOptions): Promise<void> {
  const seed = number('seed', 1);
  const wanted = number('deaths', tiny ? 12 : 1000);
  const startedMs = performance.now();
  const prng = createPrng(seed);
  const tally = emptyTally();
  const killed = new Map<string, number>();
  let total = 0;
  await withSpaces(seed, (spaces) =>
    withFolder(async (folder) => {
      const settings = {
        SHEAF_SERVER__PORT: '0',
        SHEAF_SERVER__THREADS: String(FRONTS),
        SHEAF_STORAGE__PARTITIONS: String(SHARDS),
        SHEAF_THREADS: '2',
        ...spaces,
        SHEAF_DATA_DIR: folder,
      };
      const server = await startServer(readConfig(settings), SILENT);
      const work: Work = {
        url: `http://127.0.0.1:${server.port}`,
        slots: createSlots(3, 4),
        prng: createPrng(seed),
        seed,
        tally,
      };
      const client = new SheafClient({ url: work.url });
      await client.ready({ retriesMax: 20 });
      while (total < wanted && tally.violations.length === 0) {
        let isOver = false;
        const traffic = workUntil({ ...work, isMortal: true }, () => isOver);
        for (let kill = 0; kill < KILLS_A_ROUND; kill++, total++) {
          await sleep(prng.int(KILL_EVERY_MS_MAX));
          const kinds = Object.entries(KILLS);
          const [kind, end] = kinds[prng.int(kinds.length)] as (typeof kinds)[number];
          await end(server.parts, prng);
          killed.set(kind, (killed.get(kind) ?? 0) + 1);
        }
        isOver = true;
        await traffic;
        await server.parts.fronts.whenReady();
        await client.ready({ retriesMax: 20 });
        await checkAll(work, `after ${total} deaths`);
      }
      await server.stop();
    }),
  );
  printTable(`threads that die amid random operations, seed ${seed}`, [
    ['what', 'number'],
    ['deaths', whole(total)],
    ['of them', counted(killed)],
    ['changes acknowledged', whole(tally.acknowledged)],
    ['changes cut off, of them kept', `${whole(tally.cutOff)}, ${whole(tally.kept)}`],
    ['operations', counted(tally.operations)],
    ['reindex jobs by their end', counted(tally.jobs)],
    ['searches, chunks compared', `${whole(tally.searches)}, ${whole(tally.chunks)}`],
    ['time', seconds(performance.now() - startedMs)],
    ['violations', whole(tally.violations.length)],
  ]);
  printViolations(tally);
  if (tally.violations.length > 0) process.exitCode = 1;
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
