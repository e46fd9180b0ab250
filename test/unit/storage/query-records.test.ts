// Records of logged searches are the same after encoding and decoding, and damaged bytes are recognized.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import type { LoggedQuery } from '../../../src/storage/query-log-commands.js';
import {
  decodeQuery,
  encodeQuery,
  idOfQueryKey,
  queryIdBytes,
  queryIdOf,
  queryKey,
  timeOfQueryKey,
} from '../../../src/storage/query-log-records.js';
import { DamagedRecord } from '../../../src/storage/damage.js';
import { encode } from '../../../src/storage/records.js';

const query: LoggedQuery = {
  text: "O'Brien -- x; y",
  k: 10,
  executedAtMs: 1_790_000_000_000,
  latencyMs: 1.25,
  replayOf: '',
  requestId: 'r-1',
  actor: 'tenant:acme',
  mode: 'hybrid',
  resultIds: ['a::chunk_0', 'é"::page_1'],
  rest: {
    filters: { lang: ['de', null, 5] },
    content_filter: { op: 'phrase', value: 'x' },
    include_common: true,
    timing: { embed_ms: 1, filter_ms: 2, hydrate_ms: 3, search_ms: 4 },
  },
};

test('records are the same after encoding and decoding, with and without a vector', () => {
  assert.deepEqual(decodeQuery(encodeQuery(query)), query);
  const byVector = { ...query, vector: Float32Array.of(1.5, -2, 3e-38) };
  assert.deepEqual(decodeQuery(encodeQuery(byVector)), byVector);
});

test('a key holds the collection, the id and its time, and orders by them', () => {
  const id = '01a1fd3e-fa54-7702-8c4d-b6b9e71fa897';
  const key = queryKey(3 as CollectionId, queryIdBytes(id));
  assert.deepEqual([queryIdOf(idOfQueryKey(key)), timeOfQueryKey(key)], [id, 0x01a1fd3efa54]);
});

const fields = [query.text, 10, 1, 1, '', 'r', 'a', 'vector', ['a'], JSON.stringify(query.rest), Buffer.alloc(0)];
const withField = (at: number, value: unknown): Buffer => encode(fields.map((field, i) => (i === at ? value : field)));
const whole = encodeQuery(query);
const damages: [string, Buffer][] = [
  ['is of another version', Buffer.concat([Buffer.from([9]), whole.subarray(1)])],
  ['is cut off', whole.subarray(0, whole.length - 9)],
  ['is empty', Buffer.alloc(0)],
  ['has another mode', withField(7, 'psychic')],
  ['has numbers for ids', withField(8, [1])],
  ['has a rest that is no JSON', withField(9, '{')],
  ['has a rest of another shape', withField(9, '{"filters":1}')],
  ['has no vector field', withField(10, null)],
  ['has a vector of a broken length', withField(10, Buffer.alloc(5))],
];
for (const [what, bytes] of damages) {
  test(`a record that ${what} is damage`, () => {
    assert.equal(decodeQuery(encode(fields)).text, query.text);
    assert.throws(() => decodeQuery(bytes), DamagedRecord);
  });
}
