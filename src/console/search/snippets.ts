// A search as the command or the program that asks for it. Pure.
import type { SearchBody } from '../../api/search.js';
import type { At } from '../api.js';

export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const;
export type SnippetLanguage = (typeof LANGUAGES)[number];

export interface SnippetOf {
  /** The address of the server. */
  readonly url: string;
  readonly at: At;
  /** Further collections that are searched with it. */
  readonly others: readonly string[];
  readonly body: SearchBody;
  /** Whether the server asks for a key, which is read from the environment. */
  readonly hasKey: boolean;
}

/** What the playground asks for beside what the user has chosen. */
const SHOWN_ONLY = ['explain', 'relevance', 'highlight'];

export function snippetOf(language: SnippetLanguage, search: SnippetOf): string {
  const { others, at, body } = search;
  const chosen = Object.fromEntries(Object.entries(body).filter(([name]) => !SHOWN_ONLY.includes(name)));
  const asked = others.length === 0 ? chosen : { ...chosen, collections: [at.collection, ...others] };
  if (language === 'curl') return curl(search, asked);
  return language === 'TypeScript' ? typescript(search, asked) : python(search, asked, chosen);
}

const pathOf = ({ at: { tenant, collection }, others }: SnippetOf): string =>
  others.length === 0
    ? `/v1/collections/${encodeURIComponent(tenant)}/${encodeURIComponent(collection)}/search`
    : `/v1/search/${encodeURIComponent(tenant)}`;

function curl(search: SnippetOf, asked: object): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const key = search.hasKey ? ' -H "Authorization: Bearer $SHEAF_KEY"' : '';
  return `curl -s ${quoted(search.url + pathOf(search))}${key} --json ${quoted(JSON.stringify(asked))}`;
}

function typescript({ url, at: { tenant, collection }, others, hasKey }: SnippetOf, asked: object): string {
  const text = (value: unknown): string => JSON.stringify(value, undefined, 2);
  const options = `{ url: ${text(url)}${hasKey ? ', key: process.env.SHEAF_KEY' : ''} }`;
  const call =
    others.length === 0
      ? `search(${text(tenant)}, ${text(collection)}, ${text(asked)})`
      : `searchCollections(${text(tenant)}, ${text(asked)})`;
  return `import { SheafClient } from 'sheaf-client';

const client = new SheafClient(${options});
const { matches } = await client.${call};
for (const { id, score } of matches) console.log(id, score);`;
}

function python(
  { url, at: { tenant, collection }, others, hasKey, ...search }: SnippetOf,
  asked: object,
  { q, v, ...chosen }: { q?: unknown; v?: unknown },
): string {
  const connection = `Sheaf(${pythonOf(url)}${hasKey ? ', key=os.environ["SHEAF_KEY"]' : ''}, tenant=${pythonOf(tenant)})`;
  const options = Object.entries(chosen).map(([name, value]) => `, ${name}=${pythonOf(value)}`);
  const query = v === undefined ? pythonOf(q ?? null) : `vector=${pythonOf(v)}`;
  const path = pathOf({ url, at: { tenant, collection }, others, hasKey, ...search });
  const answer =
    others.length === 0
      ? `sheaf.collection(${pythonOf(collection)}).search(${query}${options.join('')})`
      : `sheaf.request("POST", ${pythonOf(path)}, body=${pythonOf(asked)})`;
  return `${hasKey ? 'import os\n\n' : ''}from sheaf_client import Sheaf

with ${connection} as sheaf:
    for hit in ${answer}["matches"]:
        print(hit["id"], hit["score"])`;
}

/** A value of JSON as a Python expression. */
function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${pythonOf(each)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}
