// Which content coding a client gets for its Accept-Encoding header.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codingFor } from '../../../src/http/compression.js';

const CASES: [string, string | undefined][] = [
  ['', undefined],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br', 'br'],
  ['GZIP, BR;q=0.9', 'gzip'],
  ['gzip;q=0.5, br;q=0.4', 'gzip'],
  ['gzip ; q=0.2 , br ; q=0.3', 'br'],
  ['gzip;q=0', undefined],
  ['br;q=0, gzip', 'gzip'],
  ['*', 'br'],
  ['*, br;q=0', 'gzip'],
  ['*;q=0', undefined],
  ['identity', undefined],
  ['identity;q=1, gzip;q=0.5', undefined],
  ['identity;q=0.5, gzip', 'gzip'],
  ['identity;q=0, gzip;q=0.001', 'gzip'],
  ['deflate, zstd, compress', undefined],
  ['gzip;q=nonsense', undefined],
  [',,;q=1,', undefined],
];

test('a client gets the supported coding with the highest weight', () => {
  for (const [header, coding] of CASES) assert.equal(codingFor(header), coding, header);
});
