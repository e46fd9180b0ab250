// Words that match other words (typing errors, the beginning of the last word, synonyms) and the syntax of queries,
// against naive versions: in the modes boost and hybrid, with filters, with and without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LANGUAGE_DEFAULT } from '../../../src/api/choices.js';
import { createPrng } from '../../../src/base/prng.js';
import { termOfWord } from '../../../src/text/stemming.js';
import { tokensOf } from '../../../src/text/tokenize.js';
import { download, upload, withManifest } from '../../kit/archives.js';
import { edited } from '../../kit/engine/naive-edits.js';
import { type Answer, startTestServer, type TestServer } from '../../kit/server.js';
import { jobUntil, status as statusOf } from '../../kit/reindex.js';
import { type NaiveChunk, type NaiveQuery, naiveSearch } from '../../kit/service/naive-search.js';
import type { NaiveWords } from '../../kit/service/naive-words.js';
import { FILTERS, PATH, chunksFor, fill, pick, randomDocument } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_126;
const WORDS = [
  ...['whale', 'whales', 'whaler', 'wale', 'captain', 'captains', 'capital', 'submarine', 'submarines', 'sea', 'seal'],
  ...['seam', 'nautilus', 'nautical', 'budget', 'parliament', 'oven', 'coven', 'graph', 'graphs', 'bergamot', 'boat'],
];
const LETTERS = [...'aeilnstw'];
const SYNONYMS = [
  { words: ['whale', 'leviathan', 'sea mammal'] },
  { words: ['boat'], to: ['submarine', 'nautilus'] },
  { words: ['budget', 'money'] },
];
const MODES = ['boost', 'hybrid', 'hybrid'] as const;
const FUSIONS = [undefined, { method: 'score', weights: { vector: 0.6, lexical: 0.4 } }] as const;

const prng = createPrng(SEED);
const words = (count: number): string => Array.from({ length: count }, () => pick(prng, WORDS)).join(' ');
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(
  servers,
  Array.from({ length: 90 }, (_, i) => ({ ...randomDocument(prng, `D${i}`), text: words(3 + prng.int(30)) })),
);

const search = ({ call }: TestServer, body: object): Promise<Answer> => call('POST', `${PATH}/search`, body);

async function setSynonyms(synonyms: object[]): Promise<void> {
  for (const { call } of servers) assert.equal((await call('PATCH', PATH, { synonyms })).status, 200);
}

/** A query of which some words have typing errors; the last one may be cut. */
function erring(): string {
  const some = Array.from({ length: 1 + prng.int(3) }, () =>
    prng.int(2) === 0 ? pick(prng, WORDS) : edited(prng, pick(prng, WORDS), 1 + prng.int(2), LETTERS),
  );
  const last = some.pop() as string;
  return [...some, prng.int(2) === 0 ? last : last.slice(0, 1 + prng.int(last.length))].join(' ');
}

async function assertLikeNaive(
  count: number,
  make: () => { q: string; body: object; words?: NaiveWords; fits?: (chunk: NaiveChunk) => boolean; text?: string },
): Promise<void> {
  for (let i = 0; i < count; i++) {
    const [filter, fitsFilter] = pick(prng, FILTERS);
    const { q, body: options, words: matching, fits = () => true, text = q } = make();
    const mode = MODES[i % 3]!;
    const fusion = mode === 'hybrid' ? pick(prng, FUSIONS) : undefined;
    const query: NaiveQuery = {
      q: text,
      mode,
      k: pick(prng, [1, 5, 20]),
      fits: (chunk) => fitsFilter(chunk) && fits(chunk),
      ...(matching && { words: matching }),
      ...(fusion && { fusion }),
    };
    const body = { q, mode, k: query.k, fusion, ...filter, ...options };
    const expected = naiveSearch(await chunksFor(servers[0] as TestServer, text), query);
    const what = `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`;
    for (const server of servers) {
      const { status, json } = await search(server, body);
      assert.equal(status, 200, `${what} ${JSON.stringify(json)}`);
      assert.deepEqual(
        json.matches.map(({ id }: any) => id),
        expected.map(({ id }) => id),
        what,
      );
      json.matches.forEach(({ score }: any, at: number) =>
        assert.ok(Math.abs(score - (expected[at]?.score ?? NaN)) < 1e-6, `${what}: ${score} ${expected[at]?.score}`),
      );
    }
  }
}

const inWords = (): Parameters<typeof assertLikeNaive>[1] => () => {
  const fuzzy = pick<true | { edits: 1 | 2 } | undefined>(prng, [undefined, true, { edits: 1 }, { edits: 2 }]);
  const prefix = prng.int(2) === 0;
  const edits = fuzzy === true ? 2 : fuzzy?.edits;
  return {
    q: erring(),
    body: { fuzzy, prefix },
    words: { ...(edits && { fuzzy: edits }), prefix, synonyms: [] },
  };
};

test('random queries with typing errors and cut words', () => assertLikeNaive(90, inWords()));

test('random queries with synonyms, which are changed without indexing anew', async () => {
  await setSynonyms(SYNONYMS);
  const drawn = ['leviathan', 'money', 'boat', 'whales', 'sea mammal', 'the whale', 'budgets'];
  await assertLikeNaive(45, () => {
    const q = `${pick(prng, drawn)} ${prng.int(2) === 0 ? words(1) : pick(prng, drawn)}`;
    const fuzzy = prng.int(2) === 0;
    return { q, body: { fuzzy }, words: { ...(fuzzy && { fuzzy: 2 }), synonyms: SYNONYMS } };
  });
  await assertLikeNaive(6, () => ({ q: pick(prng, drawn), body: { synonyms: false } }));
  const { json } = await (servers[1] as TestServer).call('GET', `${PATH}/detail`);
  assert.deepEqual(json.synonyms, SYNONYMS);
  await setSynonyms([]);
  await assertLikeNaive(6, () => ({ q: pick(prng, drawn), body: {} }));
});

// Chunks are cut within words, so that pieces of words have stems too.
const stemOf = (word: string): string => termOfWord(word, LANGUAGE_DEFAULT) ?? word;
const hasWord = ({ text }: NaiveChunk, word: string): boolean =>
  tokensOf(text).some((own) => stemOf(own) === stemOf(word));
const hasPhrase = ({ text }: NaiveChunk, phrase: string): boolean =>
  ` ${tokensOf(text).join(' ')} `.includes(` ${phrase} `);

/** A query with signs, the words that rank, and what it demands. */
function signed(): { q: string; text: string; fits: (chunk: NaiveChunk) => boolean } {
  const plain = pick(prng, WORDS);
  const parts: [string, string, (chunk: NaiveChunk) => boolean][] = [[plain, `${plain} `, () => true]];
  for (let i = 1 + prng.int(3); i > 0; i--) {
    const [a, b] = [pick(prng, WORDS), pick(prng, WORDS)];
    parts.push(
      pick<[string, string, (chunk: NaiveChunk) => boolean]>(prng, [
        [`"${a} ${b}"`, `${a} ${b} `, (chunk) => hasPhrase(chunk, `${a} ${b}`)],
        [`"${a}"`, `${a} `, (chunk) => hasPhrase(chunk, a)],
        [`-${a}`, '', (chunk) => !hasWord(chunk, a)],
        [`-"${a} ${b}"`, '', (chunk) => !hasPhrase(chunk, `${a} ${b}`)],
        [`${a} OR ${b}`, `${a} ${b} `, (chunk) => hasWord(chunk, a) || hasWord(chunk, b)],
        [`"${a} ${b}" OR ${a} OR "${b}"`, `${a} ${b} ${a} ${b} `, (chunk) => hasWord(chunk, a) || hasPhrase(chunk, b)],
      ]),
    );
  }
  return {
    q: parts.map(([sign]) => sign).join(' '),
    text: parts.map(([, text]) => text).join(''),
    fits: (chunk) => parts.every(([, , fits]) => fits(chunk)),
  };
}

test('random queries with signs', () => assertLikeNaive(60, () => ({ ...signed(), body: { syntax: true } })));

test('signs in mode vector, with typing errors beside them, and in counts', async () => {
  for (const server of servers) {
    const all = await chunksFor(servers[0] as TestServer, 'oven');
    const fits = all.filter((chunk) => hasWord(chunk, 'whale') && !hasPhrase(chunk, 'oven'));
    const vector = await search(server, { q: 'whales OR "whale" -"oven"', syntax: true, mode: 'vector', k: 1000 });
    assert.deepEqual(vector.json.matches.map(({ id }: any) => id).sort(), fits.map(({ id }) => id).sort());
    const { json } = await server.call('POST', `${PATH}/count`, { q: 'whales OR "whale" -"oven"', syntax: true });
    assert.equal(json.count, fits.length);
    const fuzzy = await server.call('POST', `${PATH}/count`, { q: 'parliamnet', fuzzy: true });
    assert.equal(fuzzy.json.count, all.filter((chunk) => hasWord(chunk, 'parliament')).length);
    assert.equal((await server.call('POST', `${PATH}/count`, { q: 'parliamnet' })).json.count, 0);
    const hybrid = await search(server, { q: 'parliamnet -budget', syntax: true, fuzzy: true, mode: 'hybrid', k: 3 });
    for (const { text } of hybrid.json.matches) assert.match(text, /^(?!.*budget)/);
    assert.match(hybrid.json.matches[0].text, /parliament/);
  }
});

test('groups, batches, explanations and highlights of words that stand for others', async () => {
  const body = { q: 'parliamnet whal', fuzzy: true, prefix: true, explain: true, highlight: true };
  const alone = { ...body, mode: 'hybrid', fusion: { method: 'score', weights: { vector: 0, lexical: 1 } }, k: 5 };
  for (const server of servers) {
    const { json } = await search(server, alone);
    for (const { text, explain, highlight } of json.matches) {
      for (const { term, for: word } of explain.lexical.terms)
        assert.equal(word, term.startsWith('whale') ? 'whal' : 'parliamnet', JSON.stringify(explain));
      const sum = explain.lexical.terms.reduce((total: number, { bm25 }: any) => total + bm25, 0);
      assert.ok(Math.abs(sum - explain.lexical.bm25) < 1e-5 * sum);
      assert.ok(highlight.matches.length > 0, text);
      for (const [from, to] of highlight.matches)
        assert.match([...highlight.text].slice(from, to).join(''), /^(whal|parliament)/);
    }
    const grouped = await search(server, { ...alone, group_by: 'docid' });
    assert.equal(grouped.json.matches[0].id, json.matches[0].id);
    const batch = await server.call('POST', `${PATH}/search:batch`, { searches: [alone, { q: 'sea', fuzzy: true }] });
    assert.deepEqual(batch.json.results[0].matches, json.matches);
    assert.equal(batch.json.results[1].code, 'validation_error');
    const boosted = await search(server, { ...body, mode: 'boost', k: 50 });
    for (const { match_reason: reason, explain, text } of boosted.json.matches) {
      const words = [/\bparliament\b/, /\bwhal/].map((word) => word.test(text));
      const matched = Math.round(10 * ((words[0] ? 0.7 : 0) + (words[1] ? 0.8 : 0))) / 10;
      assert.equal(explain.boost.matched, matched, text);
      assert.match(reason, new RegExp(`for tokens ${matched}/2`));
    }
  }
});

test('a replay matches the same words', async () => {
  for (const { call } of servers) {
    for (const options of [
      { fuzzy: { edits: 1 }, prefix: true, mode: 'boost' },
      { synonyms: false, syntax: true },
    ]) {
      const { json } = await call('POST', `${PATH}/search`, { q: '"whale" wale captian', k: 4, ...options });
      const entry = await call('GET', `${PATH}/queries/${json.query_id}`);
      for (const [name, value] of Object.entries(options)) assert.deepEqual(entry.json.query[name], value);
      const { json: replay } = await call('POST', `${PATH}/queries/${json.query_id}/replay`);
      assert.deepEqual(replay.matches, json.matches);
    }
  }
});

const LONG = Array.from({ length: 65 }, (_, i) => `-w${i}`).join(' ');
const REFUSED: [string, object, RegExp][] = [
  ['typing errors in mode vector', { q: 'sea', fuzzy: true, mode: 'vector' }, /mode vector/],
  ['typing errors in the default mode vector', { q: 'sea', fuzzy: true }, /boost and hybrid/],
  ['a beginning in mode vector', { q: 'sea', prefix: true }, /boost and hybrid/],
  ['three edits', { q: 'sea', fuzzy: { edits: 3 }, mode: 'boost' }, /edits/],
  ['no edits', { q: 'sea', fuzzy: {}, mode: 'boost' }, /fuzzy/],
  ['signs without a text', { like: { docids: ['D1'] }, syntax: true }, /search by `q`/],
  ['typing errors of a vector', { v: [1, 2], fuzzy: true }, /search by `q`/],
  ['nothing to rank by', { q: '-sea -"the oven"', syntax: true }, /not excluded/],
  ['too many signs', { q: `sea ${LONG}`, syntax: true }, /at most 64/],
  ['a long phrase', { q: `"${'sea '.repeat(129)}"`, syntax: true }, /at most 128/],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    for (const server of servers) {
      const { status, json } = await search(server, body);
      assert.deepEqual([status, json.code], [422, 'validation_error'], JSON.stringify(json));
      assert.match(JSON.stringify(json), message);
    }
  });
}

const BAD_SYNONYMS: [string, unknown, RegExp][] = [
  ['a rule of one text', [{ words: ['sea'] }], /two `words`/],
  ['a text without a word', [{ words: ['sea', '…'] }], /1 to 8 words/],
  ['a text of nine words', [{ words: ['a b c d e f g h i'], to: ['x'] }], /1 to 8 words/],
  ['no texts', [{ words: [], to: ['x'] }], /words/],
  ['33 texts', [{ words: Array(33).fill('sea') }], /words/],
  ['501 rules', Array(501).fill({ words: ['a', 'b'] }), /synonyms/],
  ['rules of too many bytes', Array(400).fill({ words: ['a'.repeat(100), 'b'] }), /at most 32768 bytes/],
  ['another field', [{ words: ['a', 'b'], from: 'c' }], /from/],
  ['an object', { words: ['a', 'b'] }, /synonyms/],
];
for (const [name, synonyms, message] of BAD_SYNONYMS) {
  test(`422 for synonyms: ${name}`, async () => {
    const { call } = servers[0] as TestServer;
    const { status, json } = await call('PATCH', PATH, { synonyms });
    assert.deepEqual([status, json.code], [422, 'validation_error'], JSON.stringify(json));
    assert.match(JSON.stringify(json), message);
  });
}

test('422 for a change of nothing', async () => {
  for (const body of [{}, { display_name: null, synonyms: null }])
    assert.equal((await (servers[0] as TestServer).call('PATCH', PATH, body)).status, 422);
});

test('synonyms follow a rename, a reindex and an archive, and rules of an archive are checked', async () => {
  const [server] = servers as [TestServer];
  const { call } = server;
  const path = '/v1/collections/acme/boats';
  const rules = [{ words: ['boat'], to: ['dinghy', 'rubber raft'] }];
  await call('POST', `${path}/documents`, { docid: 'raft', text: 'A rubber raft in the harbour' });
  await call('POST', `${path}/documents`, { docid: 'oven', text: 'An oven in the kitchen' });
  assert.deepEqual((await call('PATCH', path, { synonyms: rules })).json.synonyms, rules);
  const assertFound = async (at: string): Promise<void> => {
    const fusion = { method: 'score', weights: { vector: 0, lexical: 1 } };
    const { json } = await call('POST', `${at}/search`, { q: 'boats', mode: 'hybrid', fusion });
    assert.deepEqual(
      json.matches.map(({ id }: any) => id),
      ['raft::chunk_0'],
      at,
    );
    assert.deepEqual((await call('GET', `${at}/detail`)).json.synonyms, rules);
  };
  await assertFound(path);
  await call('POST', `${path}/move`, { new_name: 'ships' });
  const moved = '/v1/collections/acme/ships';
  await assertFound(moved);
  const { json: job } = await call('POST', `${moved}/reindex`, { compact: true });
  await jobUntil(server, job.job_id, statusOf('succeeded'));
  await assertFound(moved);
  const { bytes } = await download(server, `${moved}/archive`);
  await call('PATCH', moved, { synonyms: [] });
  assert.equal((await call('GET', `${moved}/detail`)).json.synonyms, undefined);
  assert.equal((await upload(server, 'PUT', `${moved}/archive`, bytes)).status, 200);
  await assertFound(moved);
  assert.equal((await upload(server, 'POST', '/v1/collections/acme/rafts/archive', bytes)).status, 200);
  await assertFound('/v1/collections/acme/rafts');
  const wrong = await withManifest(bytes, ({ collection }) => (collection.synonyms = [{ words: ['boat'] }]));
  const { status, json } = await upload(server, 'POST', '/v1/collections/acme/wrong/archive', wrong);
  assert.deepEqual([status, json.details.reason], [400, 'settings_invalid'], JSON.stringify(json));
});

test('the same after a restart', async () => {
  await setSynonyms(SYNONYMS);
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertLikeNaive(9, () => {
    const { q, body, words: matching } = inWords()();
    return { q: `boat ${q}`, body, words: { ...matching, synonyms: SYNONYMS } };
  });
});
