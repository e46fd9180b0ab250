// What a server has counted, as its /metrics tell it. Read before and after a measurement by the load programs that
// want to know what the server did meanwhile.

type Headers = Readonly<Record<string, string>>;

/** Values by name and labels, as they stand in the text. */
async function readSamples(url: string, headers: Headers = {}): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers });
  if (!response.ok) throw new Error(`GET /metrics: ${response.status}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** Processor time that the server's process has taken so far. */
export const cpuSeconds = async (url: string, headers?: Headers): Promise<number> =>
  (await readSamples(url, headers)).get('process_cpu_seconds_total') ?? NaN;

/** By how much a value has grown while `work` ran. */
export type Gained = (name: string) => number;

/** `samples`: as they stand afterwards. */
export async function withGains<T>(
  url: string,
  work: () => Promise<T>,
  headers?: Headers,
): Promise<{ result: T; gained: Gained; samples: ReadonlyMap<string, number> }> {
  const before = await readSamples(url, headers);
  const result = await work();
  const samples = await readSamples(url, headers);
  return { result, samples, gained: (name) => (samples.get(name) ?? 0) - (before.get(name) ?? 0) };
}
