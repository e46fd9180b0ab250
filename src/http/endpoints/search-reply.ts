// The replies of searches and replays, joined from the hits, which come from the shards as ready JSON and are never
// parsed again. Used by the handlers of searches and of the query log; pure.
import type { FoundQuery } from '../../contract/query-log.js';
import type { SearchTiming } from '../../contract/resources.js';
import type { LoggedResult, Searcher } from '../../service/logged-search.js';
import type { Reply, Request } from '../route.js';

/** Who searches, for the log. */
export const searcherOf = ({ actor, id }: Request): Searcher => ({ actor: actor.name, requestId: id });

/** `startedAtMs`: of the search, by performance.now(). */
export function searchReply({ hits, mode, degraded, timing, queryId }: LoggedResult, startedAtMs: number): Reply {
  const fields = { mode, degraded, query_id: queryId };
  return {
    status: 200,
    jsonParts: [`{"matches":[${hits.join(',')}],${fieldsJson(fields, timing)}`],
    phases: { startedAtMs, timing },
  };
}

export function replayReply(original: FoundQuery, { hits, mode, degraded, timing, queryId }: LoggedResult): Reply {
  const head = { original_query_id: original.id, original_result_count: original.resultIds.length };
  const fields = { mode, degraded, original_latency_ms: original.latencyMs, replay_query_id: queryId };
  return {
    status: 200,
    jsonParts: [`{${fieldsJson(head)},"matches":[${hits.join(',')}],${fieldsJson(fields, timing)}`],
  };
}

/** An object of nothing that has fields of its own. */
type Flat<T> = { readonly [Name in keyof T]: string | number | boolean | undefined };

/** The fields as JSON, without braces; numbers with three decimals, undefined ones left out. */
function fieldsJson<T extends Flat<T>>(fields: T, timing?: SearchTiming): string {
  const own = membersJson(fields);
  return timing ? `${own},"timing":{${membersJson(timing)}}` : own;
}

/** Field by field: an object of rounded values for JSON.stringify took three times as long. */
function membersJson<T extends Flat<T>>(fields: T): string {
  let json = '';
  for (const name in fields) {
    const value: string | number | boolean | undefined = fields[name];
    if (value === undefined) continue;
    json += `${json === '' ? '' : ','}"${name}":${typeof value === 'number' ? Math.round(value * 1000) / 1000 : JSON.stringify(value)}`;
  }
  return json;
}
