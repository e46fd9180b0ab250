// `sheaf eval` against a real server: figures worked out by hand, settings side by side, fitted weights, and files that
// cannot be used.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runInProcess, type Ran } from '../../kit/cli.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const server = await startTestServer();
const folder = tempDirectory();
const file = (name: string, lines: readonly string[]): string => {
  const path = join(folder, name);
  writeFileSync(path, lines.join('\n'));
  return path;
};
const sheaf = (...args: string[]): Promise<Ran> => runInProcess(args, { env: { SHEAF_URL: server.url } });

const ANIMALS = [
  'heron',
  'otter',
  'badger',
  'lynx',
  'marten',
  'stoat',
  'vole',
  'weasel',
  'beaver',
  'bittern',
  'crane',
  'dipper',
];
const PLACES = ['river', 'forest'];
for (const animal of ANIMALS)
  for (const place of PLACES)
    await server.call('POST', '/v1/collections/default/docs/documents', {
      docid: `${animal}-${place}`,
      text: `A ${animal} lives in the ${place}.`,
    });
const queries = file(
  'queries.jsonl',
  ANIMALS.flatMap((animal) =>
    PLACES.map((place) => JSON.stringify({ _id: `${animal} in ${place}`, text: `${animal} ${place}` })),
  ),
);
const judged = ANIMALS.flatMap((animal) =>
  PLACES.map((place) => [`${animal} in ${place}`, `${animal}-${place}`] as const),
);
const qrels = file('qrels.tsv', [
  'query-id\tcorpus-id\tscore',
  ...judged.map(([query, docid]) => `${query}\t${docid}\t2`),
]);

test('a setting that finds every document first is perfect, and so is its interval', async () => {
  const words = '{"mode":"hybrid","fusion":{"method":"score","weights":{"vector":0,"lexical":1}}}';
  const { code, stdout } = await sheaf(
    'eval',
    queries,
    qrels,
    '--setting',
    `words=${words}`,
    '--setting',
    'vector={"mode":"vector"}',
    '--json',
  );
  assert.equal(code, 0);
  const { queries: count, settings } = JSON.parse(stdout);
  const perfect = { mean: 1, low: 1, high: 1 };
  assert.equal(count, 24);
  assert.deepEqual(settings[0], { setting: 'words', ndcg: perfect, recall: perfect, mrr: perfect });
  assert.equal(settings[1].setting, 'vector');
  const { mean, low, high } = settings[1].difference;
  assert.ok(low <= mean && mean <= high && high <= 0, JSON.stringify(settings[1]));
});

test('a table for people, and weights that are fitted on one half and tested on the other', async () => {
  const { code, stdout } = await sheaf('eval', queries, qrels, '--fit');
  assert.equal(code, 0);
  assert.match(stdout, /^setting +nDCG@10 +recall@100 +MRR/);
  for (const name of ['vector', 'boost', 'hybrid'])
    assert.match(stdout, new RegExp(`^${name} +[01]\\.\\d{3} \\(`, 'm'));
  assert.match(stdout, /^Fitted on 12 queries \(nDCG@10 1\.000\): \{"method":/m);
  assert.match(stdout, /^Tested on 12 queries: /m);
});

test('judgements in the form of TREC, and only queries that are judged', async () => {
  const trec = file(
    'qrels.trec',
    judged.slice(0, 3).map(([query, docid]) => `${query.replaceAll(' ', '_')} 0 ${docid} 1`),
  );
  const renamed = file(
    'renamed.jsonl',
    judged.map(([query]) => JSON.stringify({ id: query.replaceAll(' ', '_'), text: query })),
  );
  const { stdout } = await sheaf('eval', renamed, trec, '--json');
  assert.equal(JSON.parse(stdout).queries, 3);
});

test('files and settings that cannot be used are told in a line', async () => {
  const bad = file('bad.jsonl', ['{"text":"no id"}']);
  for (const [args, message] of [
    [[join(folder, 'nowhere'), qrels], /cannot be read: ENOENT/],
    [[bad, qrels], /bad\.jsonl, line 1: should be JSON with "_id" and "text"/],
    [
      [queries, file('bad.tsv', ['query-id\tcorpus-id\tscore', 'a\tb'])],
      /bad\.tsv, line 2: should be query, document and grade/,
    ],
    [[queries, file('other.tsv', ['a\tb\t1'])], /No query of .* has a judgement/],
    [[queries, qrels, '--setting', 'x'], /--setting x should be a name/],
    [[queries, qrels, '--setting', 'x={"mode":"nonsense"}'], /nonsense|Search modes/],
    [
      [file('few.jsonl', [JSON.stringify({ _id: judged[0]?.[0], text: 'a' })]), qrels, '--fit'],
      /--fit needs at least 20/,
    ],
  ] as const) {
    const { code, stderr } = await sheaf('eval', ...args);
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr);
  }
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
