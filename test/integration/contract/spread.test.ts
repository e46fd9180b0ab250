// A collection that is spread over more shards, and fewer, while it is written and searched: at random against a naive
// model, with renames, deletes, pauses and other embedders; and by itself when it has outgrown its shards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { contentsOf, download, upload } from '../../kit/archives.js';
import { refused, startTestServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const SHARDS = 4;
const DIM = 4;
const env = { SHEAF_STORAGE__PARTITIONS: String(SHARDS), SHEAF_COLLECTIONS__PARTITIONS: '1', SHEAF_THREADS: '2' };
const base = (name: string): string => `/v1/collections/acme/${name}`;

type Call = TestServer['call'];

async function jobOf(call: Call, name: string, body: object): Promise<string> {
  const { status, json } = await call('POST', `${base(name)}/reindex`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json.job_id as string;
}

async function untilDone(call: Call, name: string, job: string): Promise<Record<string, any>> {
  let record: Record<string, any> = {};
  await until(
    async () => {
      record = (await call('GET', `${base(name)}/reindex/${job}`)).json;
      return ['succeeded', 'failed', 'cancelled'].includes(record.status as string);
    },
    () => `the job does not end: ${JSON.stringify(record)}`,
  );
  return record;
}

async function spread(call: Call, name: string, partitions: number): Promise<void> {
  const record = await untilDone(call, name, await jobOf(call, name, { partitions }));
  assert.equal(record.status, 'succeeded', JSON.stringify(record));
}

const detailOf = async (call: Call, name: string): Promise<Record<string, any>> =>
  (await call('GET', `${base(name)}/detail`)).json;

/** In which shards the collection that has the name has documents. */
async function shardsOf({ parts }: TestServer, name: string): Promise<number[]> {
  const { id } = parts.catalog.get(asTenant('acme'), asCollectionName(name));
  const answers = await Promise.all(parts.shards.requestAll('counts', { collections: [id] }));
  return answers.flatMap(([counts], shard) => (counts?.documents ? [shard] : []));
}

/** What was acknowledged, document by document: each has one writer at a time. */
class Model {
  readonly texts = new Map<string, string>();
  private readonly busy = new Set<string>();
  writes = 0;

  constructor(
    private readonly call: Call,
    private readonly name: string,
    private readonly prng: Prng,
    private readonly documents: number,
  ) {}

  async write(): Promise<void> {
    const docid = `D${this.prng.int(this.documents)}`;
    if (this.busy.has(docid)) return;
    this.busy.add(docid);
    const kind = this.prng.int(5);
    const text = `word${this.prng.int(30)} common text ${this.writes++}`;
    if (kind === 0) {
      const { status, json } = await this.call('DELETE', `${base(this.name)}/documents/${docid}`);
      assert.equal(status, 200, JSON.stringify(json));
      assert.equal(json.chunks_deleted, this.texts.has(docid) ? 1 : 0, `${docid} was deleted`);
      this.texts.delete(docid);
    } else if (kind === 4) {
      const ask = (): ReturnType<Call> => this.call('POST', `${base(this.name)}/documents:delete`, { docids: [docid] });
      let answer = await ask();
      // It walks the shards that the collection had when it began.
      while (answer.json.code === 'collection_changed') answer = await ask();
      assert.equal(answer.json.documents, this.texts.has(docid) ? 1 : 0, JSON.stringify(answer.json));
      this.texts.delete(docid);
    } else if (kind === 1) {
      const documents = [
        { docid, text: `first ${text}` },
        { docid, text },
      ];
      const { json } = await this.call('POST', `${base(this.name)}/documents:batch`, { documents });
      assert.equal(json.succeeded, 2, JSON.stringify(json));
      this.texts.set(docid, text);
    } else {
      const { status, json } = await this.call('POST', `${base(this.name)}/documents`, { docid, text });
      assert.equal(status, 201, JSON.stringify(json));
      this.texts.set(docid, text);
    }
    // What was acknowledged is read and found at once.
    const { json } = await this.call('POST', `${base(this.name)}/search`, {
      q: text,
      k: 5,
      filters: { docid },
      mode: 'boost',
    });
    const expected = this.texts.has(docid) ? [this.texts.get(docid)] : [];
    assert.deepEqual(
      json.matches.map((match: { text: string }) => match.text),
      expected,
      docid,
    );
    this.busy.delete(docid);
  }

  /** All documents, by a listing and by exact searches in each mode. */
  async check(): Promise<void> {
    const expected = [...this.texts.keys()].sort();
    const { json: listing } = await this.call('GET', `${base(this.name)}/documents`);
    assert.deepEqual(
      listing.documents.map(({ docid }: { docid: string }) => docid),
      expected,
    );
    for (const body of [{ mode: 'vector' }, { mode: 'boost' }, { mode: 'hybrid' }, { mode: 'vector', exact: true }]) {
      const { json } = await this.call('POST', `${base(this.name)}/search`, { q: 'common', k: 1000, ...body });
      const found = new Map(
        json.matches.map(({ id, text }: { id: string; text: string }) => [id.split('::')[0], text]),
      );
      assert.equal(json.matches.length, expected.length, JSON.stringify(body));
      for (const [docid, text] of this.texts) assert.equal(found.get(docid), text, `${docid}, ${JSON.stringify(body)}`);
    }
    const { json: word } = await this.call('POST', `${base(this.name)}/search`, {
      q: 'common',
      k: 1000,
      content_filter: { op: 'phrase', value: 'word7' },
    });
    const withWord = [...this.texts].filter(([, text]) => text.startsWith('word7 ')).map(([docid]) => docid);
    assert.deepEqual(word.matches.map(({ id }: { id: string }) => id.split('::')[0]).sort(), withWord.sort());
  }
}

test('documents that are put, replaced and deleted at random while a collection is spread over 1, 2, 4, 3 and 1 shards', async () => {
  const server = await startTestServer(env);
  const { call } = server;
  const seed = 20_261_124;
  const model = new Model(call, 'docs', createPrng(seed), 400);
  const names = Array.from({ length: 300 }, (_, i) => ({ docid: `D${i}`, text: `word${i % 30} common start ${i}` }));
  assert.equal((await call('POST', `${base('docs')}/documents:batch`, { documents: names })).json.succeeded, 300);
  for (const { docid, text } of names) model.texts.set(docid, text);
  for (const partitions of [2, 4, 3, 1]) {
    let isOver = false;
    const writers = Array.from({ length: 4 }, async () => {
      while (!isOver) await model.write();
    });
    await spread(call, 'docs', partitions);
    isOver = true;
    await Promise.all(writers);
    await model.check();
    const detail = await detailOf(call, 'docs');
    assert.deepEqual([detail.partitions, detail.doc_count], [partitions, model.texts.size]);
    assert.equal((await shardsOf(server, 'docs')).length, partitions);
  }
  assert.ok(model.writes > 40, `${model.writes} writes`);
  assert.deepEqual(server.faults, []);
});

test('versions, vectors, metadata and the query log stay, and an archive of it is restored anywhere', async () => {
  const [server, narrow] = await Promise.all([
    startTestServer(env),
    startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' }),
  ]);
  const { call } = server;
  await call('POST', base('docs'), { embedder_type: 'identity', embedder_config: { dim: DIM } });
  for (let i = 0; i < 60; i++) {
    const vector = Array.from({ length: DIM }, (_, n) => Math.sin(i * 3 + n));
    for (let version = 0; version <= i % 3; version++)
      await call('POST', `${base('docs')}/documents`, {
        docid: `D${i}`,
        vector,
        metadata: { i, prio_boost: (i % 5) / 5 },
      });
  }
  await call('POST', `${base('docs')}/search`, { v: [1, 0, 0, 0] });
  const search = { v: [1, 2, 3, 4], k: 60, filters: { i: { $lt: 40 } } };
  const answer = (await call('POST', `${base('docs')}/search`, search)).json.matches;
  assert.equal(answer.length, 40);
  const before = await contentsOf(server, 'acme', 'docs');
  await spread(call, 'docs', 4);
  assert.deepEqual(await contentsOf(server, 'acme', 'docs'), before);
  const { bytes } = await download(server, `${base('docs')}/archive`);
  assert.deepEqual((await call('POST', `${base('docs')}/search`, search)).json.matches, answer);
  for (const other of [server, narrow]) {
    assert.equal((await upload(other, 'POST', `${base('copy')}/archive`, bytes)).status, 200);
    assert.equal((await detailOf(other.call, 'copy')).partitions, 1);
    assert.deepEqual(
      (await other.call('POST', `${base('copy')}/search`, search)).json.matches.map((match: object) => ({
        ...match,
        collection: 'docs',
      })),
      answer,
    );
  }
  assert.equal((await upload(server, 'PUT', `${base('docs')}/archive`, bytes)).status, 200);
  assert.deepEqual((await call('POST', `${base('docs')}/search`, search)).json.matches, answer);
  assert.deepEqual([...server.faults, ...narrow.faults], []);
});

test('a collection is renamed and deleted while it is spread', async () => {
  const server = await startTestServer(env);
  const { call } = server;
  for (const name of ['moved', 'gone']) {
    const documents = Array.from({ length: 500 }, (_, i) => ({ docid: `D${i}`, text: `common ${i}` }));
    assert.equal((await call('POST', `${base(name)}/documents:batch`, { documents })).json.succeeded, 500);
  }
  const [moved, gone] = [await jobOf(call, 'moved', { partitions: 3 }), await jobOf(call, 'gone', { partitions: 2 })];
  assert.equal((await call('POST', `${base('moved')}/move`, { new_name: 'here' })).status, 200);
  assert.equal((await call('DELETE', base('gone'))).status, 200);
  assert.equal((await untilDone(call, 'here', moved)).status, 'succeeded');
  const detail = await detailOf(call, 'here');
  assert.deepEqual([detail.partitions, detail.doc_count], [3, 500]);
  await until(
    async () => (await call('GET', `/v1/admin/reindex/${gone}`)).json.status === 'failed',
    'the job of the deleted collection does not end',
  );
  assert.equal((await call('GET', `${base('gone')}/detail`)).status, 404);
  await call('POST', `${base('gone')}/documents`, { docid: 'new', text: 'x' });
  assert.equal((await detailOf(call, 'gone')).doc_count, 1);
  assert.deepEqual(server.faults, []);
});

test('a job that is paused and resumed brings over what was written and deleted meanwhile', async () => {
  const server = await startTestServer(env);
  const { call } = server;
  const documents = Array.from({ length: 1000 }, (_, i) => ({ docid: `D${i}`, text: `common ${i}` }));
  assert.equal((await call('POST', `${base('docs')}/documents:batch`, { documents })).json.succeeded, 1000);
  const job = await jobOf(call, 'docs', { partitions: 2 });
  await call('POST', `/v1/admin/reindex/${job}/pause`);
  await until(
    async () => ['paused', 'succeeded'].includes((await call('GET', `/v1/admin/reindex/${job}`)).json.status as string),
    'the job does not pause',
  );
  for (let i = 0; i < 200; i += 2) await call('DELETE', `${base('docs')}/documents/D${i}`);
  await call('POST', `${base('docs')}/documents`, { docid: 'D1', text: 'common anew' });
  if ((await call('GET', `/v1/admin/reindex/${job}`)).json.status === 'paused')
    assert.equal((await call('POST', `/v1/admin/reindex/${job}/resume`)).status, 200);
  assert.equal((await untilDone(call, 'docs', job)).status, 'succeeded');
  const { json } = await call('POST', `${base('docs')}/search`, { q: 'common', k: 1000 });
  const texts = new Map(json.matches.map(({ id, text }: { id: string; text: string }) => [id, text]));
  assert.deepEqual([texts.size, texts.get('D1::chunk_0')], [900, 'common anew']);
  assert.deepEqual(server.faults, []);
});

test('what does not go together is refused with what to do', async () => {
  const server = await startTestServer(env);
  const { call } = server;
  await call('POST', `${base('docs')}/documents`, { docid: 'a', text: 'x' });
  const ask = (body: object): ReturnType<Call> => call('POST', `${base('docs')}/reindex`, body);
  const message = async (body: object): Promise<string> =>
    JSON.stringify((await refused(ask(body), 422, 'validation_error')).detail);
  assert.match(await message({ partitions: 5 }), /choose at most 4/);
  assert.match(await message({ partitions: 2, compact: true }), /provide it alone/);
  assert.match(await message({ partitions: 2, embedder: 'builtin' }), /provide it alone/);
  assert.match(await message({ partitions: 2, keep_previous_seconds: 60 }), /start a job with the former `partitions`/);
  assert.match(await message({}), /`compact` or `partitions`/);
  await refused(ask({ partitions: 1 }), 400, 'reindex_invalid');
  await spread(call, 'docs', 2);
  await refused(call('POST', `${base('docs')}/rollback`), 409, 'reindex_state_conflict');
  assert.equal((await untilDone(call, 'docs', await jobOf(call, 'docs', { compact: true }))).status, 'succeeded');
  assert.equal((await detailOf(call, 'docs')).partitions, 2);
});

test('a collection that outgrows its shards is spread over more by itself, and others are not', async () => {
  const server = await startTestServer(
    { ...env, SHEAF_COLLECTIONS__CHUNKS_PER_PARTITION: '100' },
    { growthCheckMs: 50 },
  );
  const { call } = server;
  const documents = Array.from({ length: 250 }, (_, i) => ({ docid: `D${i}`, text: `common ${i}` }));
  assert.equal(
    (await call('POST', `${base('small')}/documents:batch`, { documents: documents.slice(0, 100) })).json.succeeded,
    100,
  );
  await call('POST', base('wide'), { partitions: SHARDS });
  for (const name of ['wide', 'docs'])
    assert.equal((await call('POST', `${base(name)}/documents:batch`, { documents })).json.succeeded, 250);
  await until(async () => (await detailOf(call, 'docs')).partitions === 4, 'the collection is not spread');
  assert.equal((await detailOf(call, 'docs')).doc_count, 250);
  const { json } = await call('GET', `${base('docs')}/reindex`);
  // It may have been looked at before all its documents were there.
  assert.equal(json.jobs[0].partitions, 4);
  assert.ok(json.jobs.every(({ status }: { status: string }) => status === 'succeeded'));
  await sleep(200);
  for (const [name, partitions] of [
    ['small', 1],
    ['wide', SHARDS],
  ] as const) {
    assert.equal((await detailOf(call, name)).partitions, partitions);
    assert.equal((await call('GET', `${base(name)}/reindex`)).json.count, 0);
  }
  assert.deepEqual(server.faults, []);
});
