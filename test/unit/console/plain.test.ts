// What the console computes without a page: marks, filters, addresses, time bars, rank differences, events, axes of a
// map.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type Place, chunkPathOf, docidOf, hrefOf, parsePlace } from '../../../src/console/address.js';
import {
  type FilterRow,
  SETTINGS_DEFAULT,
  bodyOf,
  chosenIn,
  facetsOf,
  filtersOf,
  othersOf,
  paramsOf,
  parseRows,
  settingsOf,
  withChoice,
  withoutChoice,
} from '../../../src/console/search/settings.js';
import { snippetOf } from '../../../src/console/search/snippets.js';
import { EventLines, keptOf } from '../../../src/console/updates.js';
import { inUnits, ownDim, piecesOf, vectorOf, wordsIn, wordsToMark } from '../../../src/console/format.js';
import { barsOf, moveOf, rankDiff } from '../../../src/console/search/results.js';

test('words of a query are found whatever their case and marks, and only whole', () => {
  const text = 'Das Café am See; cafés, CAFE.';
  assert.deepEqual(
    wordsIn(text, 'café').map(([start, end]) => text.slice(start, end)),
    ['Café', 'CAFE'],
  );
  assert.deepEqual(wordsIn(text, ' ;. '), []);
});

test('positions in characters become units, beyond the end too', () => {
  const text = 'a😀b😀c';
  assert.deepEqual(
    inUnits(text, [
      [1, 2],
      [4, 5],
      [9, 9],
    ]).map(([start, end]) => text.slice(start, end)),
    ['😀', 'c', ''],
  );
});

test('around a hit the words are marked that the server found in it', () => {
  assert.equal(
    wordsToMark('why is the sea salty', {
      text: '😀 The Sea, a sea, salts',
      matches: [
        [6, 9],
        [13, 16],
        [18, 23],
      ],
    }),
    'sea salts',
  );
  assert.equal(wordsToMark('why', { text: 'x', matches: [] }), 'why');
  assert.equal(wordsToMark('why', undefined), 'why');
});

test('the pieces of a text are all of it, whatever the ranges', () => {
  const prng = createPrng(3);
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: prng.int(30) }, () => 'abc😀'[prng.int(4)]).join('');
    const ranges = Array.from({ length: prng.int(5) }, () => prng.int(32))
      .sort((a, b) => a - b)
      .map((start) => [start, start + prng.int(6)] as const);
    const pieces = piecesOf(text, ranges);
    assert.equal(pieces.map((piece) => piece.text).join(''), text);
    const marked = new Set(
      ranges
        .flatMap(([start, end]) => Array.from({ length: end - start }, (_, i) => start + i))
        .filter((at) => at < text.length),
    );
    assert.equal(
      pieces.filter(({ isMarked }) => isMarked).reduce((sum, piece) => sum + piece.text.length, 0),
      marked.size,
      JSON.stringify([text, ranges]),
    );
  }
});

test('filter rows: types, lists, two on one field, the unsaid', () => {
  const rows: FilterRow[] = [
    { field: 'year', operator: '≥', value: '1870' },
    { field: 'year', operator: '<', value: '1900' },
    { field: 'lang', operator: 'any of', value: 'en, de,' },
    { field: 'draft', operator: 'is absent', value: '' },
    { field: 'name', operator: 'begins with', value: '20' },
    { field: '', operator: '=', value: 'x' },
    { field: 'note', operator: '=', value: ' ' },
  ];
  assert.deepEqual(filtersOf(rows), {
    year: { $gte: 1870, $lt: 1900 },
    lang: { $in: ['en', 'de'] },
    draft: { $exists: false },
    name: { $prefix: '20' },
  });
  assert.deepEqual(
    filtersOf([
      { field: 'a', operator: '≠', value: '1' },
      { field: 'a', operator: '≠', value: 'true' },
    ]),
    { $and: [{ a: { $ne: 1 } }, { a: { $ne: true } }] },
  );
  assert.equal(filtersOf([]), undefined);
  assert.deepEqual(
    parseRows(JSON.stringify([...rows.slice(0, 1), null, { field: 'a', operator: 'drop', value: '' }, 3])),
    rows.slice(0, 1),
  );
  for (const text of ['', '{', '{"a":1}', '7']) assert.deepEqual(parseRows(text), []);
});

test('settings come back out of an address, and become a body without what was not asked for', () => {
  const settings = {
    ...SETTINGS_DEFAULT,
    q: 'whale & co',
    mode: 'hybrid',
    method: 'score',
    vector: '0.6',
    exact: '1',
    ef: '40',
    contentValue: 'sea',
  };
  assert.deepEqual(settingsOf(paramsOf(settings, 'a.'), 'a.'), settings);
  assert.deepEqual(paramsOf(SETTINGS_DEFAULT), {});
  const told = { explain: true, relevance: true, highlight: true };
  assert.deepEqual(bodyOf(settings), {
    q: 'whale & co',
    k: 10,
    mode: 'hybrid',
    content_filter: { op: 'contains', value: 'sea' },
    fusion: { method: 'score', weights: { vector: 0.6, lexical: 1 } },
    exact: true,
    ...told,
  });
  const grouped = { ...SETTINGS_DEFAULT, q: 'x', fuzzy: '1', syntax: '1', groupBy: ' docid ', groupSize: '2' };
  assert.deepEqual(bodyOf({ ...grouped, diverse: '1', further: '{"min_score": 0.2, "k": 3}' }), {
    q: 'x',
    k: 3,
    fuzzy: true,
    syntax: true,
    group_by: 'docid',
    group_size: 2,
    diversity: { lambda: 0.5 },
    min_score: 0.2,
    ...told,
  });
  assert.deepEqual(othersOf({ ...SETTINGS_DEFAULT, also: ' notes, letters  old,' }), ['notes', 'letters', 'old']);
  assert.deepEqual(othersOf(SETTINGS_DEFAULT), []);
  assert.deepEqual(bodyOf({ ...SETTINGS_DEFAULT, further: '{"sort": {}}' }), { k: 10, ...told, sort: {} });
  for (const further of ['{', '[1]', '7', 'null'])
    assert.throws(() => bodyOf({ ...SETTINGS_DEFAULT, q: 'x', further }), /not a JSON object/);
  assert.deepEqual(bodyOf({ ...SETTINGS_DEFAULT, q: 'x', method: 'rank', ef: '40' }), {
    q: 'x',
    k: 10,
    ef: 40,
    ...told,
  });
  const ranked = {
    ...SETTINGS_DEFAULT,
    q: 'x',
    mode: 'hybrid',
    method: 'rank',
    fusionK: '10',
    reranker: ' cross ',
    depth: '30',
    common: '1',
  };
  assert.deepEqual(bodyOf(ranked), {
    q: 'x',
    k: 10,
    mode: 'hybrid',
    fusion: { method: 'rank', k: 10, weights: { vector: 1, lexical: 1 } },
    rerank: { instance: 'cross', depth: 30 },
    include_common: true,
    ...told,
  });
  assert.deepEqual(bodyOf({ ...SETTINGS_DEFAULT, q: '[1, -0.5e-1]' }), { v: [1, -0.05], k: 10, ...told });
  for (const text of ['', '[]', '[1,]', '[a]', '1, 2', '[1 2]']) assert.equal(vectorOf(text), undefined, text);
});

test('of what is over the latest are kept, and what is not over is never lost', () => {
  const prng = createPrng(5);
  for (let round = 0; round < 200; round++) {
    const entries = Array.from({ length: prng.int(20) }, (_, id) => ({ id, isOver: prng.int(2) === 0 }));
    const max = prng.int(6);
    const kept = keptOf(entries, ({ isOver }) => isOver, max);
    const latest = entries
      .filter(({ isOver }) => isOver)
      .reverse()
      .slice(0, max);
    assert.deepEqual(
      kept,
      entries.filter((entry) => !entry.isOver || latest.includes(entry)),
    );
  }
});

test('the document of a chunk, though its id has the mark between them too', () => {
  assert.deepEqual([docidOf('a::b::chunk_2'), chunkPathOf('a::b::chunk_2')], ['a::b', 'chunk_2']);
});

test('places come back out of addresses, with any name in them', () => {
  const places: Place[] = [
    { tenant: 'acme', view: 'documents', params: {} },
    { tenant: 'acme', collection: 'docs', view: 'search', params: { q: 'a&b=c #?/', document: 'x/ü %' } },
  ];
  for (const place of places) assert.deepEqual(parsePlace(hrefOf(place)), place);
  assert.deepEqual(parsePlace(''), { tenant: 'default', view: 'documents', params: {} });
  assert.deepEqual(parsePlace('#/a/b/nothing?'), { tenant: 'a', collection: 'b', view: 'documents', params: {} });
  assert.equal(parsePlace('#/%zz').tenant, '%zz');
});

test('the bars of a search fill its time on the server, and stand within the round trip', () => {
  const bars = barsOf(
    { embed_ms: 2, filter_ms: 0, search_ms: 5, vector_search_ms: 3, lexical_search_ms: 9, hydrate_ms: 1 },
    10,
    14,
  );
  assert.deepEqual(
    bars.map(({ name }) => name),
    ['round trip', 'embed', 'search', 'by vector', 'by words', 'hydrate', 'other'],
  );
  assert.equal(
    bars
      .slice(1)
      .filter(({ isPart }) => !isPart)
      .reduce((sum, { length }) => sum + length, 0),
    10,
  );
  for (const { start, length } of bars) assert.ok(start >= 0 && start + length <= 14);
  assert.deepEqual(barsOf(undefined, 3, 3), [
    { name: 'round trip', start: 0, length: 3 },
    { name: 'other', start: 0, length: 3 },
  ]);
});

test('two rankings: what both have, and how far it moved', () => {
  const { otherRank, overlap, shift } = rankDiff(['a', 'b', 'c', 'a'], ['c', 'a', 'x']);
  assert.deepEqual(
    [...otherRank],
    [
      ['a', 2],
      ['c', 1],
    ],
  );
  assert.equal(overlap, 2 / 3);
  assert.equal(shift, 1.5);
  assert.deepEqual([rankDiff([], []).overlap, rankDiff([], []).shift, rankDiff(['a'], []).overlap], [1, null, 0]);
});

test('a move is told alike beside either list, and to those who hear it', () => {
  const [a, b] = [
    ['x', 'y', 'z', 'w'],
    ['z', 'x', 'v', 'w'],
  ];
  const places = ['in A', 'in B'] as const;
  const told = (own: string[], other: string[], isFirst: boolean): unknown[] =>
    own.map((id, i) => moveOf(id, i + 1, { diff: rankDiff(own, other), places, isFirst }));
  const down = { kind: 'down', words: '1 → 2, down 1', label: 'rank 1 in A, 2 in B: down 1' };
  const up = { kind: 'up', words: '3 → 1, up 2', label: 'rank 3 in A, 1 in B: up 2' };
  const same = { kind: 'same', words: 'same rank', label: 'rank 4 in A, 4 in B: same rank' };
  assert.deepEqual(told(a, b, true), [down, { kind: 'new', words: 'only in A', label: 'only in A' }, up, same]);
  assert.deepEqual(told(b, a, false), [up, down, { kind: 'new', words: 'only in B', label: 'only in B' }, same]);
});

test('the vectors of a collection have as many numbers as the key of its space says', () => {
  assert.deepEqual(['identity::dim=384', 'builtin:static-minilm-512:dim=512', undefined].map(ownDim), [
    384,
    undefined,
    undefined,
  ]);
});

test('events come whole, however the stream is cut', () => {
  const stream =
    'retry: 2000\n\nid: 7\nevent: job\ndata: {"a":1}\n\n: \n\nid: 8\nevent: ingest\ndata: one\ndata: two\n\n';
  const expected = [
    { id: '7', type: 'job', data: '{"a":1}' },
    { id: '8', type: 'ingest', data: 'one\ntwo' },
  ];
  for (let size = 1; size <= stream.length; size++) {
    const lines = new EventLines();
    const found = [];
    for (let at = 0; at < stream.length; at += size) found.push(...lines.take(stream.slice(at, at + size)));
    assert.deepEqual(found, expected);
  }
});

test('values that are chosen are a condition on their field: any of them, none when they are chosen again', () => {
  const settings = { ...SETTINGS_DEFAULT, facets: 'topic, year topic' };
  assert.deepEqual(facetsOf(settings), ['topic', 'year']);
  const choose = (from: typeof settings, field: string, value: string | number): typeof settings => ({
    ...from,
    ...withChoice(from, field, value),
  });
  const first = choose(settings, 'topic', 'sky');
  const second = choose(first, 'year', 1870);
  assert.deepEqual(bodyOf(second).filters, { topic: { $eq: 'sky' }, year: { $eq: 1870 } });
  const third = choose(second, 'topic', 'sea');
  assert.deepEqual(bodyOf(third).filters, { year: { $eq: 1870 }, topic: { $in: ['sky', 'sea'] } });
  assert.deepEqual(chosenIn(third, 'topic'), ['sky', 'sea']);
  assert.deepEqual(bodyOf({ ...third, ...withoutChoice(third, 'topic') }).filters, { year: { $eq: 1870 } });
  assert.deepEqual(bodyOf(choose(third, 'topic', 'sky')).filters, { year: { $eq: 1870 }, topic: { $eq: 'sea' } });
  const comma = choose(third, 'topic', 'sky, sea');
  assert.deepEqual(bodyOf(comma).filters, { year: { $eq: 1870 }, topic: { $eq: 'sky, sea' } });
  assert.equal(choose(choose(first, 'year', 1870), 'topic', 'sky').filters, JSON.stringify([yearRow]));
  assert.equal(choose(first, 'topic', 'sky').filters, '');
});

const yearRow = { field: 'year', operator: '=', value: '1870' };

test('a search as code has what was chosen, quoted for its language', () => {
  const search = {
    url: 'http://127.0.0.1:8080',
    at: { tenant: 'acme', collection: 'two words' },
    others: [],
    body: bodyOf({
      ...SETTINGS_DEFAULT,
      q: 'Nemo\'s "ship"',
      filters: '[{"field":"sold","operator":"exists","value":""}]',
    }),
    hasKey: true,
  };
  assert.equal(
    snippetOf('curl', search),
    `curl -s 'http://127.0.0.1:8080/v1/collections/acme/two%20words/search' -H "Authorization: Bearer $SHEAF_KEY" --json '{"q":"Nemo'\\''s \\"ship\\"","k":10,"filters":{"sold":{"$exists":true}}}'`,
  );
  assert.match(
    snippetOf('TypeScript', search),
    /client\.search\("acme", "two words", \{\n {2}"q": "Nemo's \\"ship\\""/,
  );
  const python = snippetOf('Python', search);
  assert.match(python, /Sheaf\("http:\/\/127\.0\.0\.1:8080", key=os\.environ\["SHEAF_KEY"\], tenant="acme"\)/);
  assert.match(python, /\.search\("Nemo's \\"ship\\"", k=10, filters=\{"sold": \{"\$exists": True\}\}\)/);
  const several = { ...search, others: ['letters'], hasKey: false };
  assert.match(snippetOf('curl', several), /\/v1\/search\/acme' --json '.*"collections":\["two words","letters"\]/);
  assert.match(snippetOf('TypeScript', several), /searchCollections\("acme", \{/);
  assert.match(snippetOf('Python', several), /sheaf\.request\("POST", "\/v1\/search\/acme", body=\{/);
});
