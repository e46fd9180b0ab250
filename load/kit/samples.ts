// What a server has counted, as its /metrics tell it. Read before and after a measurement by the load programs that want to know
// what the server did meanwhile.

/** Values by name and labels, as they stand in the text. */
export async function readSamples(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  if (!response.ok) throw new Error(`GET /metrics: ${response.status}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

/** By how much a value has grown while `work` ran. */
export type Gained = (name: string) => number;

export async function withGains<T>(url: string, work: () => Promise<T>): Promise<{ result: T; gained: Gained }> {
  const before = await readSamples(url);
  const result = await work();
  const after = await readSamples(url);
  return { result, gained: (name) => (after.get(name) ?? 0) - (before.get(name) ?? 0) };
}
