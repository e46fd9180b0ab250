// The interface that Sheaf and PaveDB share, as both are measured: rows are vectors of their own with the text among
// the metadata, since a document is either a text or a vector; texts go to the default embedder. Used by
// load/suite/peers/participants.ts.
import { post, send, type Driver, type Filter, type Hit, type Row, type TextDriver } from './peer.js';
import type { CannonRequest } from '../../kit/hammer.js';

const VECTORS = '/v1/collections/load/peers-vectors';
const TEXTS = '/v1/collections/load/peers-texts';

interface Match {
  text?: string;
  meta: { docid: string; passage?: string };
}

export interface PaveInterface {
  readonly name: string;
  readonly url: string;
  /** Of a server with keys. */
  readonly key?: string;
  /** Whether its default embedder is the model that all of them have. */
  readonly embeds: boolean;
}

export function paveInterface({ name, url, key, embeds }: PaveInterface): Driver {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const ask = (path: string, body: unknown): CannonRequest => post(path, body, headers);
  const batch = async (path: string, documents: readonly object[]): Promise<void> => {
    const answer = await send(url, ask(`${path}/documents:batch`, { documents }));
    const { failed } = JSON.parse(answer) as { failed: number };
    if (failed > 0) throw new Error(`${name} refused ${failed} documents: ${answer.slice(0, 300)}`);
  };
  return {
    name,
    version: async () =>
      (JSON.parse(await send(url, { method: 'GET', path: '/health', headers })) as { version: string }).version,
    create: async (dim) =>
      void (await send(url, ask(VECTORS, { embedder_type: 'identity', embedder_config: { dim } }))),
    put: (rows) => batch(VECTORS, rows.map(documentOf)),
    isIndexed: async () => true,
    byVector: (v, k, filter?: Filter) =>
      ask(`${VECTORS}/search`, { v, k, ...(filter && { filters: { [filter.field]: filter.value } }) }),
    hits,
    ...(embeds && { texts: textsBy(url, ask, batch) }),
    drop: async () => {
      for (const path of [VECTORS, ...(embeds ? [TEXTS] : [])]) await send(url, { method: 'DELETE', path, headers });
    },
  };
}

function textsBy(
  url: string,
  ask: (path: string, body: unknown) => CannonRequest,
  batch: (path: string, documents: readonly object[]) => Promise<void>,
): TextDriver {
  return {
    create: async () => void (await send(url, ask(TEXTS, {}))),
    put: (texts, from) =>
      batch(
        TEXTS,
        texts.map((text, i) => ({ docid: `T${from + i}`, text })),
      ),
    byText: (q, k, exact) => ask(`${TEXTS}/search`, { q, k, mode: 'vector', ...(exact && { exact }) }),
    hits,
  };
}

const documentOf = ({ row, vector, text, groups }: Row): object => ({
  docid: `V${row}`,
  vector,
  metadata: { passage: text, ...groups },
});

const hits = (answer: string): Hit[] =>
  (JSON.parse(answer) as { matches: Match[] }).matches.map(({ text, meta }) => ({
    row: Number(meta.docid.slice(1)),
    text: text ?? meta.passage ?? '',
  }));
