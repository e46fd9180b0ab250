// What a vector database has to be able to do to be compared: take rows, and be searched over HTTP. The files beside
// this one say how each of them is spoken to; load/suite/peers.ts compares them.
import type { CannonRequest } from '../../kit/hammer.js';

/** Metadata by which searches are narrowed: one row in ten, and one in a hundred, has the value that is asked for. */
export interface Groups {
  readonly tenth: string;
  readonly hundredth: string;
}

export interface Row {
  /** Its number, from 0: the id of it, in whatever form the database wants ids. */
  readonly row: number;
  readonly vector: readonly number[];
  readonly text: string;
  readonly groups: Groups;
}

export interface Filter {
  readonly field: keyof Groups;
  readonly value: string;
}

export interface Hit {
  readonly row: number;
  readonly text: string;
}

/**
 * One database, at one address. Every call throws with what it answered where that is not what its documentation says.
 */
export interface Driver {
  readonly name: string;
  /** As the server tells it. */
  version(): Promise<string>;
  /** A collection for vectors of this length, cosine, with everything else as it comes. */
  create(dim: number): Promise<void>;
  /**
   * Stores a batch, durably by the database's own standard. Rows that are not `fresh` replace those of the same number.
   */
  put(rows: readonly Row[], fresh: boolean): Promise<void>;
  /** Whether all that was stored is in its index, as far as it tells. */
  isIndexed(): Promise<boolean>;
  /** The nearest `k` rows with text and metadata. */
  byVector(vector: readonly number[], k: number, filter?: Filter): CannonRequest;
  /** Out of the answer's body, best first. */
  hits(answer: string): Hit[];
  /** Where the database embeds texts itself. */
  readonly texts?: TextDriver;
  /** Removes what `create` made. */
  drop(): Promise<void>;
}

export interface TextDriver {
  create(): Promise<void>;
  /** Numbered from `from`. */
  put(texts: readonly string[], from: number): Promise<void>;
  /** `exact`: every vector is scored, where that can be asked for. */
  byText(text: string, k: number, exact?: boolean): CannonRequest;
  hits(answer: string): Hit[];
}

/** JSON as databases of HTTP want it. */
export function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): CannonRequest {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** The answer's body. Throws where the status is not 2xx. */
export async function send(url: string, { method, path, headers, body }: CannonRequest): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return text;
}
