// `sheaf capacity` compared with a real server: the bytes that it computes are those of real collections, within the
// tolerance that docs/operations/capacity.md states.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type Need, type Plan, needOf } from '../../../src/cli/capacity.js';
import { GRAPH_MIN } from '../../../src/engine/hnsw/vector-index.js';
import { runInProcess } from '../../kit/cli.js';
import { type TestServer, startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const TOLERANCE = 0.3;
const VOCABULARY = 10_000;
const BASE = '/v1/collections/acme/docs';
const PLAN: Plan = {
  chunks: 1,
  dim: 512,
  precision: 'int16',
  words: 0,
  terms: undefined,
  metadataBytes: 20,
  uniqueFields: 0,
  searches: 0,
  hybridShare: 0,
  embedMs: 0,
  writes: 0,
};

async function storeBytes({ call }: TestServer): Promise<number> {
  const { text } = await call('GET', '/metrics');
  return Array.from(text.matchAll(/^sheaf_store_used_bytes\{.*\} (\S+)$/gm), ([, value]) => Number(value)).reduce(
    (sum, value) => sum + value,
    0,
  );
}

async function memoryOf({ call }: TestServer): Promise<Record<string, number>> {
  return (await call('GET', `${BASE}/detail`)).json.memory as Record<string, number>;
}

async function fill(server: TestServer, documents: readonly object[]): Promise<number> {
  const before = await storeBytes(server);
  for (let from = 0; from < documents.length; from += 500) {
    const { json } = await server.call('POST', `${BASE}/documents:batch`, {
      documents: documents.slice(from, from + 500),
    });
    assert.equal(json.failed, 0, JSON.stringify(json.documents?.[0]));
  }
  return (await storeBytes(server)) - before;
}

/** Waits until the postings have about the computed size: a new index takes more until its runs are merged. */
async function postingsNear(server: TestServer, before: number, reckoned: number): Promise<number> {
  let postings = 0;
  await until(
    async () => {
      postings = (await memoryOf(server)).postings ?? 0;
      return Math.abs(reckoned / (postings - before) - 1) <= TOLERANCE;
    },
    () => `the index takes ${postings - before} bytes, reckoned ${reckoned}`,
  );
  return postings;
}

function assertNear(what: string, actual: number, reckoned: number): void {
  const error = reckoned / actual - 1;
  assert.ok(
    Math.abs(error) <= TOLERANCE,
    `${what}: ${actual} bytes, reckoned ${reckoned} (${(100 * error).toFixed(0)} %)`,
  );
}

for (const dim of [128, 384]) {
  test(`vectors of ${dim} dimensions: memory with the graph, and disk`, async () => {
    const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
    const prng = createPrng(5);
    await server.call('POST', BASE, { embedder_type: 'identity', embedder_config: { dim } });
    const chunks = 2 * GRAPH_MIN;
    const onDisk = await fill(
      server,
      Array.from({ length: chunks }, (_, i) => ({
        docid: `D${i}`,
        metadata: { kind: 'abc'[i % 3] },
        vector: Array.from({ length: dim }, () => prng.normal()),
      })),
    );
    // The edges of a row of 384 dimensions take 136 bytes.
    await until(async () => ((await memoryOf(server)).graph as number) > chunks * 100, 'the graph is not built');
    const need: Need = needOf({ ...PLAN, chunks, dim });
    const { vectors = 0, quantized_vectors: quantized = 0, graph = 0 } = await memoryOf(server);
    assertNear('vectors', vectors + quantized + graph, need.memory.vectors);
    assertNear('store', onDisk, need.disk.store);
  });
}

test('texts: text index, metadata index with a value for each document, and disk', async () => {
  const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
  const [chunks, words] = [12_000, 40];
  const prng = createPrng(7);
  // Word frequencies as in a language: the word of rank r occurs at a rate of 1/r (Zipf).
  const known = new Set<string>();
  const word = (): string => {
    const next = `w${Math.floor(VOCABULARY ** prng.next()).toString(36)}`;
    known.add(next);
    return next;
  };
  const onDisk = await fill(
    server,
    Array.from({ length: chunks }, (_, i) => ({
      docid: `D${i}`,
      metadata: { kind: 'abc'[i % 3], title: `Document ${i}` },
      text: Array.from({ length: words }, word).join(' '),
    })),
  );
  const need: Need = needOf({ ...PLAN, chunks, words, terms: known.size, metadataBytes: 40, uniqueFields: 1 });
  assertNear('store', onDisk, need.disk.store);
  await server.call('POST', `${BASE}/search`, { q: 'wab', mode: 'hybrid' });
  const worded = await postingsNear(server, 0, need.memory.textIndex);
  await server.call('POST', `${BASE}/search`, { q: 'wab', filters: { kind: 'a' } });
  await postingsNear(server, worded, need.memory.metadataIndex);
});

test('the command prints the example of the page, and the page states the tolerance', async () => {
  const page = readFileSync('docs/operations/capacity.md', 'utf8');
  const [, command, output] = /```sh\nnpx sheaf (capacity .*)\n```\n\n```text\n(.*?)```/s.exec(page) ?? [];
  assert.ok(command && output);
  const { code, stdout } = await runInProcess(command.split(' '));
  assert.deepEqual([code, stdout], [0, output]);
  assert.match(page, new RegExp(`within ${TOLERANCE * 100} %`));
  const { stdout: json } = await runInProcess([...command.split(' '), '--json']);
  const { total } = JSON.parse(json) as { total: { memory_bytes: number; cores: number } };
  assert.ok(total.memory_bytes > 2e9 && total.cores === 2);
});

test('an invalid plan is rejected', async () => {
  for (const args of [
    [],
    ['--chunks', '0'],
    ['--chunks', '10', '--hybrid', '2'],
    ['--chunks', '10', '--precision', 'float'],
  ])
    assert.equal((await runInProcess(['capacity', ...args])).code, 2, args.join(' '));
});
