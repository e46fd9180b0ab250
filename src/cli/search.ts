// `sheaf search`: one query, its hits as text or as the JSON the server gave. Called by program.ts, in the process of the
// command line.
import type { SearchMode } from '../contract/resources.js';
import { line, type Output } from './output.js';
import { showHits } from './show-hits.js';
import type { Target } from './target.js';

export interface SearchOptions {
  k: number;
  json: boolean;
  mode?: SearchMode;
}

export async function search({ client, tenant, collection }: Target, query: string, { k, json, mode }: SearchOptions, output: Output): Promise<void> {
  const answer = await client.search(tenant, collection, { q: query, k, mode });
  line(output.stdout, json ? JSON.stringify(answer, null, 2) : showHits(answer.matches, query));
}
