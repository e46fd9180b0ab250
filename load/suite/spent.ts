// What a measurement took beside time: processor time of the server and of this load generator, memory, and where
// inside the server the time of a search or of an ingest went, as the server's own histograms have it. Used around each
// measurement of the suite.
import { withGains, type Gained } from '../kit/samples.js';
import type { Target } from './target.js';

export interface Spent {
  serverCpuMs: number;
  loadCpuMs: number;
  /** Resident, afterwards. */
  serverMemoryBytes: number;
  /** Searches or ingests that the server counted; 0 where it had none. */
  count: number;
  /** Of one of them, in the server: from the head of its request to the end of the reply; itself; each phase of it. */
  httpMs: number;
  wholeMs: number;
  phases: readonly Phase[];
}

interface Phase {
  name: string;
  meanMs: number;
}

type What = 'search' | 'ingest';

/** `spent` is undefined where the server does not show its metrics. */
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

/** Means over all searches, so that phases add up though some searches have not all of them. */
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
