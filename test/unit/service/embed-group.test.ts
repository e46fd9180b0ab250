// Documents of a group that could not be embedded are removed from it; the other documents and all results keep their
// places. Compared with a naive version that keeps a list of documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { PreparedGroup } from '../../../src/extract/messages.js';
import type { WireError } from '../../../src/api/errors.js';
import type { DocId } from '../../../src/api/ids.js';
import { withFailures } from '../../../src/service/ingest/batch.js';
import { nothingOf, withoutFailed } from '../../../src/service/ingest/embed.js';
import type { Stored } from '../../../src/service/ingest/put.js';

interface Member {
  place: number;
  docid: DocId;
  bytes: number[];
  rows: number[][];
}

function randomMembers(prng: Prng, dim: number): Member[] {
  const numbers = (length: number): number[] => Array.from({ length }, () => prng.int(250));
  return Array.from({ length: 1 + prng.int(8) }, (_, i) => ({
    place: 3 * i + prng.int(3),
    docid: `D${prng.int(4)}` as DocId,
    bytes: numbers(1 + prng.int(6)),
    rows: Array.from({ length: 1 + prng.int(4) }, () => numbers(dim)),
  }));
}

function packed(members: readonly Member[]): PreparedGroup {
  let end = 0;
  return {
    slot: 2,
    spread: 3,
    hasTexts: true,
    places: members.map(({ place }) => place),
    docids: members.map(({ docid }) => docid),
    chunks: members.map(({ rows }) => rows.length),
    ends: members.map(({ bytes }) => (end += bytes.length)),
    documents: Uint8Array.from(members.flatMap(({ bytes }) => bytes)),
    vectors: Float32Array.from(members.flatMap(({ rows }) => rows.flat())),
  };
}

const errorOf = (document: number): WireError => ({ code: 'embedder_unavailable', message: `document ${document}` });

test('the others are packed as if the failed documents had never been there, and each has its own result', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const prng = createPrng(seed);
    const members = randomMembers(prng, 1 + prng.int(5));
    const failures = new Map(
      members.flatMap((_, document) => (prng.next() < 0.4 ? [[document, errorOf(document)] as const] : [])),
    );
    const others = members.filter((_, document) => !failures.has(document));
    assert.deepEqual(withoutFailed(packed(members), failures), packed(others), `seed ${seed}`);
    const stored: Stored = others.map(({ place }) => ({ value: { chunks: place, version: 1 } }));
    const expected = members.map(({ place }, document) =>
      failures.has(document) ? { error: errorOf(document) } : { value: { chunks: place, version: 1 } },
    );
    assert.deepEqual(withFailures(stored, failures), expected, `seed ${seed}`);
  }
});

test('a group of which nothing was embedded fails as a whole, even if its buffers were transferred', () => {
  const group = packed(randomMembers(createPrng(5), 3));
  structuredClone(group, { transfer: [group.documents.buffer as ArrayBuffer, group.vectors.buffer as ArrayBuffer] });
  const { group: rest, failures } = nothingOf(group, errorOf(0));
  assert.deepEqual([rest.docids, rest.documents.length, rest.vectors.length], [[], 0, 0]);
  assert.deepEqual(
    withFailures([], failures),
    group.docids.map(() => ({ error: errorOf(0) })),
  );
});
