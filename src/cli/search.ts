// `sheaf search`: one query, its hits as text or as the JSON the server gave. Called by search-commands.ts, in the
// process of the command line.
import type { SearchBody } from '../contract/api/search.js';
import { tellMissing } from './missing-collection.js';
import { line, type Output } from './output.js';
import { showHits } from './show-hits.js';
import { PLAIN, type Style } from './style.js';
import type { Target } from './target.js';

export interface SearchOptions {
  body: Omit<SearchBody, 'q'>;
  json: boolean;
  style?: Style;
}

export async function search(
  target: Target,
  query: string,
  { body, json, style = PLAIN }: SearchOptions,
  output: Output,
): Promise<void> {
  const { client, tenant, collection } = target;
  const { stdout, stderr } = output;
  const answer = await client.search(tenant, collection, { q: query, ...body });
  line(stdout, json ? JSON.stringify(answer, null, 2) : showHits(answer.matches, query, style));
  if (answer.degraded) line(stderr, 'Ranked by words alone: the embedder does not answer.');
  if (!json && answer.matches.length === 0) await tellMissing(target, output);
}
