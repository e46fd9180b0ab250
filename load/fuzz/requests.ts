// Random requests for the operations of an OpenAPI document: valid ones, nearly valid ones with one thing wrong, and
// hostile ones. The n-th request of a seed is always the same.
import fc from 'fast-check';
import { fitting } from './arbitrary.js';
import { encoded, sentType, wellFormed } from './bodies.js';
import { damagedBody, damagedHeaders, damagedSegment } from './damage.js';
import type { Document, Operation, Parameter } from './operations.js';

export interface RandomRequest {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the document says what the answer looks like: not when method or path are not the operation's own. */
  readonly isDescribed: boolean;
}

type Damage = 'none' | 'path' | 'query' | 'body' | 'headers' | 'method';

/** Requests come out of few tenants, collections and documents, so that most meet something. */
const POOLS: Readonly<Record<string, readonly string[]>> = {
  tenant: ['t0', 't1'],
  name: ['c0', 'c1', 'c2'],
  collection: ['c0', 'c1', 'c2'],
  docid: ['d0', 'd1', 'a', 'captain'],
  rid: ['d0::chunk_0', 'd1::chunk_0', 'd0::0', 'none'],
  new_name: ['c0', 'c1', 'c2', 'c3'],
};

const DAMAGES: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Damage>('none') },
  { weight: 5, arbitrary: fc.constant<Damage>('body') },
  { weight: 3, arbitrary: fc.constantFrom<Damage>('path', 'query') },
  { weight: 1, arbitrary: fc.constantFrom<Damage>('headers', 'method') },
);

/** The requests from `first` on, `count` of them, of a seed. `queryIds` are those that searches have given so far. */
export function requestsOf(
  document: Document,
  operations: readonly Operation[],
  seed: number,
  first: number,
  count: number,
  queryIds: readonly string[],
): RandomRequest[] {
  const request = fc
    .constantFrom(...operations)
    .chain((operation) => DAMAGES.chain((damage) => requestOf(document, operation, damage, queryIds)));
  return fc.sample(request, { seed: seed * 1_000_003 + first, numRuns: count });
}

function requestOf(
  document: Document,
  operation: Operation,
  damage: Damage,
  queryIds: readonly string[],
): fc.Arbitrary<RandomRequest> {
  return fc
    .record({
      path: pathOf(operation, damage, queryIds),
      query: queryOf(document, operation, damage),
      sent: bodyOf(document, operation, damage),
      headers: damage === 'headers' ? damagedHeaders() : fc.constant({}),
      method:
        damage === 'method'
          ? fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')
          : fc.constant(operation.method),
    })
    .map(({ path, query, sent, headers, method }) => ({
      operation,
      method,
      path: `${path}${query}`,
      headers: { ...(sent.type === '' ? {} : { 'content-type': sent.type }), ...headers },
      body: sent.bytes,
      isDescribed: damage !== 'method' && damage !== 'path' && damage !== 'headers',
    }));
}

function pathOf({ path, parameters }: Operation, damage: Damage, queryIds: readonly string[]): fc.Arbitrary<string> {
  const names = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const values = names.map((name) => {
    const pool = name === 'query_id' && queryIds.length > 0 ? queryIds : (POOLS[name] ?? ['x']);
    return fc.constantFrom(...pool).map(encodeURIComponent);
  });
  return fc
    .record({ values: fc.tuple(...values), at: fc.nat(Math.max(0, names.length - 1)), hostile: damagedSegment() })
    .map(({ values: chosen, at, hostile }) =>
      names.reduce(
        (filled, name, i) =>
          filled.replace(`{${name}}`, () => (damage === 'path' && i === at ? hostile : (chosen[i] as string))),
        path,
      ),
    );
}

function queryOf(document: Document, { parameters }: Operation, damage: Damage): fc.Arbitrary<string> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const some = known.map((parameter) => optional(parameter, fitting(document, parameter.schema)));
  const wild =
    damage === 'query'
      ? fc.array(
          fc.tuple(
            fc.constantFrom('k', 'q', 'limit', 'offset', 'cursor', 'force', 'mode', 'x'),
            fc.oneof(damagedSegment(), fc.constantFrom('-1', '0', '1e9', 'NaN', 'true')),
          ),
          { maxLength: 3 },
        )
      : fc.constant([]);
  return fc.tuple(fc.tuple(...some), wild).map(([given, more]) => {
    const pairs = [
      ...given.flatMap((value, i) =>
        value === undefined ? [] : [[known[i]?.name, encodeURIComponent(wellFormed(String(value)))]],
      ),
      ...more,
    ];
    return pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`;
  });
}

const optional = ({ required }: Parameter, value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  required ? value : fc.option(value, { nil: undefined });

interface Sent {
  type: string;
  bytes: Buffer;
}

function bodyOf(document: Document, { bodies }: Operation, damage: Damage): fc.Arbitrary<Sent> {
  if (bodies.size === 0)
    return damage === 'body' ? damagedBody(undefined, '') : fc.constant({ type: '', bytes: Buffer.alloc(0) });
  return fc.constantFrom(...bodies).chain(([type, schema]) => {
    const value = fitting(document, schema).map((given) => withPools(given));
    return damage === 'body'
      ? value.chain((given) => damagedBody(given, type))
      : value.map((given) => ({ type: sentType(type), bytes: encoded(given, type) }));
  });
}

/** Names in a body come out of the pools too. */
function withPools(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('new_name' in given) || typeof given.new_name !== 'string')
    return given;
  return { ...given, new_name: POOLS.new_name?.[given.new_name.length % 4] };
}
