// Every form in which an answer of `/embeddings` may come, and every way in which it may be wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallError } from '../../../../src/embedding/remote/endpoint.js';
import { readVectors } from '../../../../src/embedding/openai/calls.js';

const base64 = (...values: number[]): string => Buffer.from(Float32Array.from(values).buffer).toString('base64');
const rounded = (vectors: (Float32Array | undefined)[]): (number[] | undefined)[] =>
  vectors.map((vector) => vector && [...vector].map((value) => Math.round(value * 1000) / 1000));

test('lists and base64 are read side by side, brought to length 1 and into the order of index', () => {
  const data = [
    { index: 1, embedding: [3, 4] },
    { index: 0, embedding: base64(0, -2) },
  ];
  assert.deepEqual(rounded(readVectors({ data }, 2, 2)), [
    [0, -1],
    [0.6, 0.8],
  ]);
});

test('without an index the order of the answer counts', () => {
  assert.deepEqual(rounded(readVectors({ data: [{ embedding: [1, 0] }, { embedding: [0, 1] }] }, 2, 2)), [
    [1, 0],
    [0, 1],
  ]);
});

test('zeros, nulls and numbers that are not finite are no vector', () => {
  const data = [
    { embedding: [0, 0] },
    { embedding: [null, 1] },
    { embedding: base64(NaN, 1) },
    { embedding: ['1', 1] },
    { embedding: [1e39, 1] },
    { embedding: [1, 1e-30] },
  ];
  assert.deepEqual(rounded(readVectors({ data }, 6, 2)), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    [1, 0],
  ]);
});

test('anything else is told for what it is', () => {
  const faults: [unknown, RegExp][] = [
    [null, /no list/],
    ['vectors', /no list/],
    [{ data: {} }, /no list/],
    [{ data: [{ embedding: [1, 0] }] }, /1 vectors for 2 texts/],
    [
      {
        data: [
          { index: 0, embedding: [1, 0] },
          { index: 0, embedding: [1, 0] },
        ],
      },
      /same `index`/,
    ],
    [
      {
        data: [
          { index: 0, embedding: [1, 0] },
          { index: 2, embedding: [1, 0] },
        ],
      },
      /`index` that no text has/,
    ],
    [
      {
        data: [
          { index: 0, embedding: [1, 0] },
          { index: '1', embedding: [1, 0] },
        ],
      },
      /`index` that no text has/,
    ],
    [{ data: [{ embedding: [1, 0] }, { embedding: [1, 0, 0] }] }, /3 dimensions; `dim` of the instance is 2/],
    [{ data: [{ embedding: [1, 0] }, { embedding: base64(1) }] }, /1 dimensions/],
    [{ data: [{ embedding: [1, 0] }, { embedding: 'AAA' }] }, /0 dimensions/],
    [{ data: [{ embedding: [1, 0] }, { embedding: { values: [1, 0] } }] }, /neither a list nor base64/],
    [{ data: [{ embedding: [1, 0] }, null] }, /neither a list nor base64/],
  ];
  for (const [answer, message] of faults) {
    assert.throws(
      () => readVectors(answer, 2, 2),
      (error) => error instanceof CallError && error.failure === 'broken' && message.test(error.message),
      JSON.stringify(answer),
    );
  }
});
