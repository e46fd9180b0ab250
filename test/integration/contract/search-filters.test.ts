// Filters and content filters over a real socket: which hits remain, that none is lost, what the hits contain, bad
// input; and the filters embedded in a key, which nothing in a request can undo.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CancelSource } from '../../../src/base/signals.js';
import type { CollectionName, Tenant } from '../../../src/api/ids.js';
import type { Actor, Request } from '../../../src/http/route.js';
import { createRoutes } from '../../../src/http/routes.js';
import { searchCollection } from '../../../src/service/search/search.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer({ SHEAF_COMMON__ENABLED: 'true' });
const { call } = server;
const path = '/v1/collections/acme/shelf';

const idsOf = (json: Record<string, any>): string[] => json.matches.map(({ meta }: any) => meta.docid).sort();
const found = async (body: object, where = path): Promise<string[]> =>
  idsOf((await call('POST', `${where}/search`, { q: 'sea', k: 100, ...body })).json);

const BOOKS: Record<string, [string, Record<string, unknown>]> = {
  NEMO: [
    'Captain Nemo commands the Nautilus under the sea.',
    { lang: 'fr', year: 1870, tags: ['sea', 'ship'], author: { name: 'Verne' } },
  ],
  AHAB: [
    'Captain Ahab hunts the white whale.',
    { lang: 'en', year: '1851', tags: ['sea', 'whale'], author: { name: 'Melville' } },
  ],
  CRUSOE: ['A man alone on an island in the sea.', { lang: 'en', year: 1719, tags: [], rating: null }],
  O_BRIEN: ["O'Brien -- x; y", { lang: 'en', 'odd key; DROP': "O'Brien -- x; y" }],
};

test('the books are stored', async () => {
  for (const [docid, [text, metadata]] of Object.entries(BOOKS))
    assert.equal((await call('POST', `${path}/documents`, { docid, text, metadata })).status, 201);
  assert.deepEqual(await found({}), ['AHAB', 'CRUSOE', 'NEMO', 'O_BRIEN']);
});

const cases: [string, object, string[]][] = [
  ['a string', { filters: { lang: 'en' } }, ['AHAB', 'CRUSOE', 'O_BRIEN']],
  ['a number and its text', { filters: { year: 1851 } }, ['AHAB']],
  ['any of a list', { filters: { year: [1870, '1719'] } }, ['CRUSOE', 'NEMO']],
  ['none of an empty list', { filters: { lang: [] } }, []],
  ['list-valued metadata', { filters: { tags: 'whale' } }, ['AHAB']],
  ['null is absent or null', { filters: { rating: null } }, ['AHAB', 'CRUSOE', 'NEMO', 'O_BRIEN']],
  ['a path', { filters: { 'author.name': { $prefix: 'V' } } }, ['NEMO']],
  ['a range', { filters: { year: { $gte: 1800, $lt: 1870 } } }, ['AHAB']],
  ['$or and $not', { filters: { $or: [{ tags: 'ship' }, { $not: { lang: { $in: ['en', 'fr'] } } }] } }, ['NEMO']],
  ['chunk metadata', { filters: { offset: 0, lang: 'fr' } }, ['NEMO']],
  ['the document id', { filters: { docid: ['NEMO', 'NOBODY'] } }, ['NEMO']],
  ['quotes and dashes', { filters: { 'odd key; DROP': "O'Brien -- x; y" } }, ['O_BRIEN']],
  ['no filters at all', { filters: {} }, ['AHAB', 'CRUSOE', 'NEMO', 'O_BRIEN']],
  ['a phrase', { content_filter: { op: 'phrase', value: 'the WHITE whale' } }, ['AHAB']],
  ['a prefix', { content_filter: { op: 'prefix', value: 'captain n' } }, ['NEMO']],
  ['a substring', { content_filter: { op: 'contains', value: 'ISLAND IN' } }, ['CRUSOE']],
  ['the whole text', { content_filter: { op: 'exact', value: "O'Brien -- x; y" } }, ['O_BRIEN']],
  ['both kinds', { content_filter: { op: 'phrase', value: 'captain' }, filters: { lang: 'en' } }, ['AHAB']],
];
for (const mode of ['vector', 'boost', 'hybrid']) {
  for (const [what, body, expected] of cases) {
    test(`${mode}, filtered by ${what}`, async () => assert.deepEqual(await found({ ...body, mode }), expected));
  }
}

test('a hit tells what it was filtered by', async () => {
  const { json } = await call('POST', `${path}/search`, {
    q: 'whale',
    filters: { year: { $lt: 1900 }, lang: ['en'] },
    content_filter: { op: 'phrase', value: 'whale' },
  });
  assert.equal(json.matches.length, 1);
  assert.match(
    json.matches[0].match_reason,
    /^vector: cosine 0\.\d{3}; filters: year=1851, lang=en; content phrase match$/,
  );
  assert.ok(json.timing.filter_ms > 0);
});

test('no matching chunk is lost because others are nearer, in any mode', async () => {
  const many = '/v1/collections/acme/many';
  for (let i = 0; i < 150; i++)
    void (await call('POST', `${many}/documents`, { docid: `N${i}`, text: 'the sea, the sea' }));
  for (let i = 0; i < 5; i++)
    await call('POST', `${many}/documents`, {
      docid: `RARE${i}`,
      text: `a ledger of accounts, page ${i}`,
      metadata: { rare: true },
    });
  for (const mode of ['vector', 'boost', 'hybrid']) {
    const { json } = await call('POST', `${many}/search`, { q: 'the sea', k: 4, mode, filters: { rare: true } });
    assert.equal(json.matches.length, 4, mode);
    assert.deepEqual(
      await found({ q: 'the sea', k: 9, mode, filters: { rare: true } }, many),
      ['RARE0', 'RARE1', 'RARE2', 'RARE3', 'RARE4'],
      mode,
    );
  }
});

test('vectors without text fit filters, and no content filter', async () => {
  const vectors = '/v1/collections/acme/vectors';
  await call('POST', vectors, { embedder_type: 'identity', embedder_config: { dim: 2 } });
  await call('POST', `${vectors}/documents`, { docid: 'V', vector: [1, 0], metadata: { a: 1 } });
  assert.deepEqual(await found({ q: null, v: [1, 1], filters: { a: '1' } }, vectors), ['V']);
  assert.deepEqual(await found({ q: null, v: [1, 1], content_filter: { op: 'contains', value: 'V' } }, vectors), []);
});

test('bad filters are 422 and say where, also for a collection that is not there', async () => {
  for (const where of [path, '/v1/collections/acme/nothing', '']) {
    const { status, json } = await call('POST', where === '' ? '/v1/search' : `${where}/search`, {
      q: 'a',
      filters: { $or: [{ a: { $near: 1 } }] },
    });
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.deepEqual(
      json.detail.map(({ loc, type }: any) => [loc, type]),
      [[['body', 'filters', '$or', 0, 'a', '$near'], 'unknown_operator']],
    );
  }
});

test('the query string takes no filters', async () => {
  const { status, json } = await call('GET', `${path}/search?q=sea&filters=${encodeURIComponent('{"lang":"fr"}')}`);
  assert.deepEqual([status, json.detail[0].loc], [422, ['query', 'filters']]);
});

const embedded = { lang: 'en' };

test('a body cannot escape the filters of a key', async () => {
  const escapes = [
    {},
    { lang: 'fr' },
    { $or: [{ lang: 'fr' }, { lang: 'en' }, {}] },
    { $not: { lang: 'en' } },
    { $or: [{}, { $not: {} }] },
    { lang: { $exists: true } },
    { $and: [] },
  ];
  for (const filters of escapes) {
    for (const mode of ['vector', 'boost', 'hybrid']) {
      const found = async (embeddedFilters?: Record<string, unknown>): Promise<Record<string, any>[]> => {
        const { hits } = await searchCollection(
          server.services.search.search,
          'acme' as Tenant,
          'shelf' as CollectionName,
          { q: 'sea', k: 100, mode, filters },
          embeddedFilters && { embeddedFilters },
        );
        return hits.map((hit) => JSON.parse(hit));
      };
      const english = (await found()).filter(({ meta }) => meta.lang === 'en').map(({ id }) => id);
      assert.deepEqual(
        (await found(embedded)).map(({ id }) => id).sort(),
        english.sort(),
        `${mode} ${JSON.stringify(filters)}`,
      );
      if (Object.keys(filters).length === 0) assert.equal(english.length, 3);
    }
  }
});

test('the filters of a key hold for every search route, in both forms, and are not told', async () => {
  await call('POST', '/v1/collections/global/common/documents', {
    docid: 'C_FR',
    text: 'la mer',
    metadata: { lang: 'fr' },
  });
  await call('POST', '/v1/collections/global/common/documents', {
    docid: 'C_EN',
    text: 'the sea',
    metadata: { lang: 'en' },
  });
  const actor: Actor = { name: 'end user', admin: false, tenants: ['acme'], filters: embedded };
  const expected: Record<string, string[]> = {
    searchByQuery: ['AHAB', 'CRUSOE', 'C_EN', 'O_BRIEN'],
    search: ['AHAB', 'CRUSOE', 'C_EN', 'O_BRIEN'],
    searchSharedByQuery: ['C_EN'],
    searchShared: ['C_EN'],
  };
  const routes = createRoutes(server.services).filter(({ operation }) => operation in expected);
  assert.equal(routes.length, 4);
  for (const route of routes) {
    const body = {
      contentType: 'application/json',
      bytes: async () => Buffer.from('{"q":"sea","include_common":true}'),
    } as unknown as Request['body'];
    const reply = await route.handle(requestTo(route, actor, body, 'q=sea&include_common=true'));
    assert.ok('jsonParts' in reply);
    const json = JSON.parse(`${reply.jsonParts.join('')}}`) as Record<string, any>;
    assert.deepEqual(idsOf(json), expected[route.operation], route.operation);
    assert.ok(json.matches.every((hit: any) => !hit.match_reason.includes('filters')));
  }
});

/** A request to the collection acme/shelf. */
function requestTo(route: Request['route'], actor: Actor, body: Request['body'], query = ''): Request {
  return {
    id: 'r',
    route,
    startedAtMs: 0,
    params: { tenant: 'acme', name: 'shelf' },
    query: new URLSearchParams(query),
    header: () => '',
    headerList: [],
    actor,
    body,
    aborted: false,
    signal: new AbortController().signal,
    cancelSource: new CancelSource(),
    charge: () => undefined,
  };
}

test('the filters of a key apply to every search of a batch', async () => {
  const actor: Actor = { name: 'end user', admin: false, tenants: ['acme'], filters: { lang: 'en' } };
  const route = createRoutes(server.services).find(({ operation }) => operation === 'searchBatch');
  assert.ok(route);
  const searches = [{ q: 'sea' }, { q: 'sea', filters: { lang: 'fr' } }, { q: 'sea', filters: { lang: 'en' } }];
  const body = {
    contentType: 'application/json',
    bytes: async () => Buffer.from(JSON.stringify({ searches })),
  } as unknown as Request['body'];
  const reply = await route.handle(requestTo(route, actor, body));
  assert.ok('jsonStream' in reply);
  let text = '';
  for await (const piece of reply.jsonStream) text += piece;
  const { results } = JSON.parse(`${text}}`) as { results: Record<string, any>[] };
  const [plain, other, same] = results.map(idsOf);
  assert.ok(plain && plain.length > 0);
  assert.deepEqual([other, same], [[], plain]);
});

test('a key whose filters cannot be read sees nothing', async () => {
  const search = searchCollection(
    server.services.search.search,
    'acme' as Tenant,
    'shelf' as CollectionName,
    { q: 'sea', k: 5 },
    { embeddedFilters: { lang: { $like: 'e' } } },
  );
  await assert.rejects(search, { code: 'auth_forbidden' });
});

test('with string operators on, strings are operators in a body and literal in a key', async () => {
  const other = await startTestServer({ SHEAF_SEARCH__STRING_OPERATORS: 'true' });
  for (const [docid, [text, metadata]] of Object.entries(BOOKS))
    await other.call('POST', `${path}/documents`, { docid, text, metadata });
  const ids = async (filters: object): Promise<string[]> =>
    idsOf((await other.call('POST', `${path}/search`, { q: 'sea', filters })).json);
  assert.deepEqual(await ids({ lang: '!en' }), ['NEMO']);
  assert.deepEqual(await ids({ year: '>=1851' }), ['AHAB', 'NEMO']);
  assert.deepEqual(await ids({ tags: ['wh*', '*ip'] }), ['AHAB', 'NEMO']);
  assert.deepEqual(await ids({ lang: { $eq: '*' } }), []);
  const { hits } = await searchCollection(
    other.services.search.search,
    'acme' as Tenant,
    'shelf' as CollectionName,
    { q: 'sea', k: 5 },
    { embeddedFilters: { lang: '*' } },
  );
  assert.deepEqual(hits, []);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
