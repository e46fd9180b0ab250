// `sheaf log`: logged searches, the latest first, and one with all that is known of it.
// Called by log-commands.ts.
import { line, table, type Output } from './output.js';
import type { Target } from './target.js';

export async function log(
  { client, tenant, collection }: Target,
  limit: number,
  json: boolean,
  { stdout }: Output,
): Promise<void> {
  const { queries } = await client.queries.list(tenant, collection, { limit });
  if (json) return queries.forEach((query) => line(stdout, JSON.stringify(query)));
  if (queries.length === 0) return line(stdout, `No searches of ${tenant}/${collection} are logged.`);
  const rows = queries.map(
    ({ executed_at: at, query_text: text, k, result_count: hits, latency_ms: ms, query_id: id }) => [
      at,
      hits,
      k,
      ms === undefined ? '-' : ms.toFixed(1),
      id,
      text || '(a vector)',
    ],
  );
  line(stdout, table(['time', 'hits', 'k', 'ms', 'query id', 'query'], rows));
}

export async function logEntry(
  { client, tenant, collection }: Target,
  queryId: string,
  { stdout }: Output,
): Promise<void> {
  const { query } = await client.queries.get(tenant, collection, queryId);
  line(stdout, JSON.stringify(query, null, 2));
}
