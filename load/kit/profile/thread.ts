// Samples a thread of a measured server with V8's profiler. Each thread imports this module first (`node --import`, see
// ../server.ts) and says so with a file in the folder that the address of this module names. SIGUSR2 to the process
// starts sampling in all threads, and the next one ends it and writes a file per thread there. Costs nothing until then.
import { existsSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { basename, join } from 'node:path';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
import { selfTimes, type ThreadProfile } from './self-times.js';

/** Sampling interval in microseconds; taking a sample costs some tens. */
const INTERVAL_US = 2000;

const { searchParams } = new URL(import.meta.url);
const folder = searchParams.get('folder') as string;
/** The thread's id in Linux. */
const tid = basename(readlinkSync('/proc/thread-self'));
/** Exists while threads sample: a thread that starts meanwhile does too. */
const sampling = join(folder, 'sampling');
const channel = new BroadcastChannel('sheaf-load-profile');
let session: Session | undefined;

async function begin(): Promise<void> {
  if (session) return;
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await session.post('Profiler.start');
  writeFileSync(join(folder, `${tid}.begun`), '');
}

async function end(): Promise<void> {
  const ended = session;
  if (!ended) return;
  session = undefined;
  const { profile } = await ended.post('Profiler.stop');
  const scripts: string[] = [];
  ended.on('Debugger.scriptParsed', ({ params }) => scripts.push(params.url));
  await ended.post('Debugger.enable');
  ended.disconnect();
  const told: ThreadProfile = { tid: Number(tid), role: roleOf(scripts), ...selfTimes(profile) };
  writeFileSync(join(folder, `${tid}.part`), JSON.stringify(told));
  renameSync(join(folder, `${tid}.part`), join(folder, `${tid}.json`));
}

/** The role of a thread: a worker is named by the folder of the program that it runs. */
function roleOf(scripts: readonly string[]): string {
  if (isMainThread) return 'front';
  return scripts.flatMap((url) => /\/dist\/workers\/(\w+)\//.exec(url)?.[1] ?? [])[0] ?? 'another thread';
}

let done = Promise.resolve();

function turn(isSampling: boolean): void {
  done = done.then(() => (isSampling ? begin() : end()));
}

channel.onmessage = ({ data }) => turn(data as boolean);
channel.unref();
writeFileSync(join(folder, `${tid}.thread`), '');
if (isMainThread) {
  let isSampling = searchParams.has('from_start');
  const tell = (): void => (isSampling ? writeFileSync(sampling, '') : rmSync(sampling, { force: true }));
  tell();
  process.on('SIGUSR2', () => {
    isSampling = !isSampling;
    tell();
    channel.postMessage(isSampling);
    turn(isSampling);
  });
}
if (existsSync(sampling)) turn(true);
await done;
