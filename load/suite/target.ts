// The target of a workload: a running server, or one of the suite's own, which can be restarted; resource usage of
// measurements; and the machine.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { SERVICE_VERSION } from '../../src/api/common.js';
import { medianSyncMs } from '../../src/cli/doctor.js';
import { SheafClient } from '../../src/client/client.js';
import { untilServerIdle } from '../kit/fill.js';
import { type ThreadUse, endProfile, profiled } from '../kit/profile/profiled.js';
import { type Gained, withGains } from '../kit/server-usage.js';
import { type LoadServer, type Settings, startServer } from '../kit/server.js';

/** Prefix of the tenants of all collections of the suite. */
const TENANT_PREFIX = 'sheaf-load';

export interface CollectionName {
  tenant: string;
  name: string;
}

export const tenantOf = (name: string | undefined): string =>
  name === undefined ? TENANT_PREFIX : `${TENANT_PREFIX}-${name}`;

interface TargetOptions {
  url?: string;
  apiKey?: string;
  /** Data folder of the suite's own server. */
  folder: string;
  settings?: Settings;
}

const profilesIn = (folder: string): string => join(folder, 'profiles');

function started({ folder, settings }: TargetOptions, fromStart = false): Promise<LoadServer> {
  rmSync(profilesIn(folder), { recursive: true, force: true });
  mkdirSync(profilesIn(folder), { recursive: true });
  return startServer(folder, settings, { folder: profilesIn(folder), fromStart });
}

export class Target {
  readonly headers: Readonly<Record<string, string>>;
  private clientOfNow: SheafClient | undefined;

  private constructor(
    private readonly options: TargetOptions,
    private server: LoadServer | undefined,
  ) {
    this.headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
  }

  static async open(options: TargetOptions): Promise<Target> {
    return new Target(options, options.url === undefined ? await started(options) : undefined);
  }

  /** The server's address, which changes with each restart. */
  get url(): string {
    return (this.server?.url ?? this.options.url ?? '').replace(/\/$/, '');
  }

  get client(): SheafClient {
    return (this.clientOfNow ??= new SheafClient({ url: this.url, key: this.options.apiKey }));
  }

  get isOwn(): boolean {
    return this.server !== undefined;
  }

  /**
   * `isSampled` samples from the start of the new process. Returns the seconds to stop, and from the start of the new
   * process until ready. Requires isOwn.
   */
  async restart(
    signal: 'SIGTERM' | 'SIGKILL',
    isSampled = false,
  ): Promise<{ stopSeconds: number; readySeconds: number }> {
    const server = this.server as LoadServer;
    const startedAtMs = performance.now();
    await (signal === 'SIGTERM' ? server.stop() : server.kill());
    const stopSeconds = (performance.now() - startedAtMs) / 1000;
    this.server = await started(this.options, isSampled);
    this.clientOfNow = undefined;
    return { stopSeconds, readySeconds: this.server.readyMs / 1000 };
  }

  /** Metrics require the admin key if the server has keys. */
  async showsMetrics(): Promise<boolean> {
    return (await fetch(`${this.url}/metrics`, { headers: this.headers })).ok;
  }

  /** Waits until background work is finished; does not wait if the server does not report it. */
  async rest(checkMs: number, withinMs: number): Promise<void> {
    if (await this.showsMetrics()) await untilServerIdle(this.url, checkMs, { headers: this.headers, withinMs });
  }

  /** Samples the server's threads meanwhile. Requires isOwn. */
  profiled<T>(work: () => Promise<T>): Promise<{ result: T; threads: ThreadUse[] }> {
    return profiled((this.server as LoadServer).pid, profilesIn(this.options.folder), work);
  }

  /** The samples since a sampled restart. */
  sinceStart(): Promise<ThreadUse[]> {
    return endProfile((this.server as LoadServer).pid, profilesIn(this.options.folder));
  }

  async close(): Promise<void> {
    await this.server?.kill();
  }
}

export interface Spent {
  serverCpuMs: number;
  loadCpuMs: number;
  /** Resident memory after the work. */
  serverMemoryBytes: number;
  /** Searches or ingests that the server counted; 0 where it had none. */
  count: number;
  /**
   * Mean times of a search or ingest in the server: from its request head to the end of the reply; the operation
   * itself; and each of its phases.
   */
  httpMs: number;
  wholeMs: number;
  phases: readonly Phase[];
}

interface Phase {
  name: string;
  meanMs: number;
}

type What = 'search' | 'ingest';

/**
 * Resource usage of a measurement: CPU of the server and of this load generator, memory, and the phases of a search or
 * ingest by the server's histograms. `spent` is undefined if the server does not show its metrics.
 */
export async function spending<T>(
  target: Target,
  what: What,
  work: () => Promise<T>,
): Promise<{ result: T; seconds: number; spent: Spent | undefined }> {
  let [seconds, loadCpuMs] = [0, 0];
  const timed = async (): Promise<{ result: T }> => {
    const [startedAtMs, cpuBefore] = [performance.now(), process.cpuUsage()];
    const result = await work();
    const { user, system } = process.cpuUsage(cpuBefore);
    [seconds, loadCpuMs] = [(performance.now() - startedAtMs) / 1000, (user + system) / 1000];
    return { result };
  };
  if (!(await target.showsMetrics())) return { ...(await timed()), seconds, spent: undefined };
  const { result, gained, samples } = await withGains(target.url, timed, target.headers);
  const serverMemoryBytes = samples.get('process_resident_memory_bytes') ?? NaN;
  return {
    ...result,
    seconds,
    spent: {
      serverCpuMs: 1000 * gained('process_cpu_seconds_total'),
      loadCpuMs,
      serverMemoryBytes,
      ...phasesOf(what, gained, [...samples.keys()]),
    },
  };
}

/** Means over all searches, so that phases add up even if some searches lack a phase. */
export function phasesOf(
  what: What,
  gained: Gained,
  names: readonly string[],
): Pick<Spent, 'count' | 'httpMs' | 'wholeMs' | 'phases'> {
  const family = `sheaf_${what}`;
  const parts = names.flatMap((name) =>
    name.startsWith(`${family}_phase_seconds_sum{`) ? [{ name, phase: /phase="([^"]+)"/.exec(name)?.[1] ?? '' }] : [],
  );
  const phased = Math.max(0, ...parts.map(({ name }) => gained(name.replace('_sum{', '_count{'))));
  const count = what === 'search' ? gained(`${family}_duration_seconds_count`) : phased;
  const mean = (seconds: number, times: number): number => (times > 0 ? (1000 * seconds) / times : 0);
  const route = names.filter(
    (name) =>
      name.startsWith('sheaf_http_request_duration_seconds_sum{') &&
      name.includes(what === 'search' ? '/search"' : '/documents:batch"'),
  );
  const http = route.reduce(
    (sum, name) => ({
      seconds: sum.seconds + gained(name),
      times: sum.times + gained(name.replace('_sum{', '_count{')),
    }),
    { seconds: 0, times: 0 },
  );
  return {
    count,
    httpMs: mean(http.seconds, http.times),
    wholeMs: what === 'search' ? mean(gained(`${family}_duration_seconds_sum`), count) : 0,
    phases: parts
      .map(({ name, phase }) => ({ name: phase, meanMs: mean(gained(name), count) }))
      .filter(({ meanMs }) => meanMs > 0),
  };
}

/** Properties of the machine that matter for comparing reports, as names and values. `folder` is the data folder. */
export async function machineOf(folder: string): Promise<Record<string, string>> {
  return {
    cores: String(availableParallelism()),
    processor: cpus()[0]?.model ?? 'unknown',
    memory: `${(totalmem() / 1e9).toFixed(1)} GB`,
    disk: await diskOf(folder),
    kernel: `${type()} ${release()}`,
    'load before': `${loadavg()[0]!.toFixed(1)}, a minute's average`,
    node: process.version,
    version: SERVICE_VERSION,
    commit: commitOf(),
  };
}

async function diskOf(folder: string): Promise<string> {
  const { bavail, bsize } = await statfs(folder);
  return `${mountOf(folder)}, ${Math.round((bavail * bsize) / 1e9)} GB free, a sync of 4 kB takes ${(await medianSyncMs(folder)).toFixed(1)} ms`;
}

/** File system and device, if Linux reports them: fields 5, 9 and 10 of a line of mountinfo (proc(5)). */
function mountOf(folder: string): string {
  try {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const [before = '', after = ''] = line.split(' - ');
        const [fileSystem, device] = after.split(' ');
        return { point: before.split(' ')[4] ?? '', told: `${fileSystem} on ${device}` };
      });
    const above = mounts.filter(
      ({ point }) => folder === point || folder.startsWith(point.endsWith('/') ? point : `${point}/`),
    );
    return above.sort((a, b) => b.point.length - a.point.length)[0]?.told ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

function commitOf(): string {
  const git = (...args: string[]): string =>
    (spawnSync('git', args, { encoding: 'utf8' }).stdout as string | null)?.trim() ?? '';
  const commit = git('rev-parse', '--short', 'HEAD');
  return commit === ''
    ? 'unknown'
    : `${commit}${git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ', with changes'}`;
}
