// A stand-in for a database in tests of the comparison itself: rows in memory, exact cosine search, its own HTTP
// protocol, and the driver for it.
import type { TestContext } from 'node:test';
import { cosine } from '../../load/kit/cosine.js';
import { type Driver, type Hit, type Row, post, send } from '../../load/suite/peers/drivers.js';
import type { Candidate } from '../../load/suite/peers/participants.js';
import { startFakeServer } from './fake-server.js';

interface Search {
  readonly vector: readonly number[];
  readonly k: number;
  readonly filter?: { readonly field: 'tenth' | 'hundredth'; readonly value: string };
}

export function standIn(t: TestContext): Candidate {
  return {
    name: 'StandIn',
    start: async () => {
      const url = await startDatabase(t);
      const driver = driverAt(url);
      return { driver, url, stop: () => driver.drop() };
    },
  };
}

async function startDatabase(t: TestContext): Promise<string> {
  let rows: Map<number, Row> | undefined;
  const { url } = await startFakeServer(t, ({ method, path, body }) => {
    const given = (): unknown => JSON.parse(body.toString());
    if (method === 'GET' && path === '/') return { json: { version: '1.0' } };
    if (method === 'PUT') return (rows = new Map()), {};
    if (!rows) return { status: 404, json: { error: 'there are no rows' } };
    if (method === 'DELETE') return (rows = undefined), {};
    if (path === '/search') return { json: { hits: nearest([...rows.values()], given() as Search) } };
    for (const row of given() as Row[]) rows.set(row.row, row);
    return { json: { stored: rows.size } };
  });
  return url;
}

function nearest(rows: readonly Row[], { vector, k, filter }: Search): Hit[] {
  return rows
    .filter(({ groups }) => !filter || groups[filter.field] === filter.value)
    .map((row) => ({ row, cosine: cosine(vector, row.vector) }))
    .sort((a, b) => b.cosine - a.cosine)
    .slice(0, k)
    .map(({ row: { row, text } }) => ({ row, text }));
}

const driverAt = (url: string): Driver => ({
  name: 'StandIn',
  version: async () => (JSON.parse(await send(url, { method: 'GET', path: '/' })) as { version: string }).version,
  create: async () => void (await send(url, { method: 'PUT', path: '/rows' })),
  put: async (rows) => void (await send(url, post('/rows', rows))),
  isIndexed: async () => true,
  byVector: (vector, k, filter) => post('/search', { vector, k, filter }),
  hits: (answer) => (JSON.parse(answer) as { hits: Hit[] }).hits,
  drop: async () => void (await send(url, { method: 'DELETE', path: '/rows' })),
});
