// What is wrong with a logged search of an archive: whatever no search can have left, for it will be listed, shown and
// replayed as one. Pure; used where archives are verified, and where they are written.
import typia, { type tags } from 'typia';
import { changedNumber } from '../base/exact-numbers.js';
import type { ContentFilter, Ef, Fusion, K, Rerank } from '../contract/api/search.js';
import { DIM_MAX, type K_MAX } from '../contract/limits.js';
import type { LoggedQuery } from '../contract/query-log.js';
import { parseFilter } from '../rank/parse-filter.js';

/** What a search takes, as far as its log entry has it. */
interface Asked {
  k: K;
  replayOf: '' | (string & tags.Format<'uuid'>);
  requestId: string & tags.Pattern<'^[!-~]{0,128}$'>;
  actor: string & tags.MaxLength<1024>;
  latencyMs: number & tags.Minimum<0>;
  resultIds: (string & tags.MaxLength<2048>)[] & tags.MaxItems<typeof K_MAX>;
  rest: {
    content_filter?: ContentFilter;
    rerank?: Rerank;
    fusion?: Fusion;
    ef?: Ef;
    common_tenant?: string & tags.MaxLength<128>;
    common_collection?: string & tags.MaxLength<128>;
  };
}

const isAsked = typia.createIs<Asked>();

/** The end of a sentence that begins with the search; undefined where nothing is wrong. */
export function faultOfQuery(query: LoggedQuery): string | undefined {
  if (!isAsked(query)) return 'no search asks for this';
  const { vector, rest } = query;
  if (vector && (vector.length > DIM_MAX || !vector.every(Number.isFinite))) return 'its vector is none';
  for (const filters of [rest.filters, rest.embedded_filters])
    if (filters && !areFilters(filters)) return 'its filters are none';
  return undefined;
}

function areFilters(filters: Readonly<Record<string, unknown>>): boolean {
  try {
    parseFilter(filters, { stringOperators: false });
    return changedNumber(JSON.stringify(filters)) === undefined;
  } catch {
    return false;
  }
}
