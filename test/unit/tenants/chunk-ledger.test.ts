// The ledger of a tenant's chunks, compared with a naive collection that counts its own: the limit holds, writes stay
// in order, and nothing that fits is rejected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { CollectionId } from '../../../src/api/ids.js';
import { ChunkLedger } from '../../../src/service/tenants/limits.js';

const ID = 1 as CollectionId;

/**
 * Documents with their chunks; each put completes some turns of the event loop after it was sent, in the order of
 * sending.
 */
class NaiveCollection {
  readonly documents = new Map<string, number>();
  readonly applied: string[] = [];
  counts = 0;
  private line: Promise<unknown> = Promise.resolve();

  get chunks(): number {
    return [...this.documents.values()].reduce((sum, chunks) => sum + chunks, 0);
  }

  count = async (): Promise<number> => {
    this.counts += 1;
    return this.chunks;
  };

  put(docid: string, chunks: number, chunksLeft: number): Promise<boolean> {
    const done = this.line
      .then(() => new Promise((resolve) => setImmediate(resolve)))
      .then(() => {
        this.applied.push(docid);
        const grows = chunks - (this.documents.get(docid) ?? 0);
        if (grows > chunksLeft) return false;
        this.documents.set(docid, chunks);
        return true;
      });
    this.line = done;
    return done;
  }
}

test('many at once never pass the limit, are sent in order, and are refused only where they do not fit', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const prng = createPrng(seed);
    const [ledger, collection, naive] = [new ChunkLedger(), new NaiveCollection(), new Map<string, number>()];
    const chunksMax = 20 + prng.int(60);
    const calls = Array.from({ length: 200 }, () => ({ docid: `d${prng.int(30)}`, chunks: 1 + prng.int(5) }));
    const answers = calls.map(({ docid, chunks }) =>
      ledger.add(ID, {
        chunks,
        chunksMax,
        count: collection.count,
        send: (chunksLeft) => collection.put(docid, chunks, chunksLeft),
      }),
    );
    const expected = calls.map(({ docid, chunks }) => {
      const others = [...naive].reduce((sum, [id, held]) => sum + (id === docid ? 0 : held), 0);
      if (others + chunks > chunksMax && chunks > (naive.get(docid) ?? 0)) return false;
      naive.set(docid, chunks);
      return true;
    });
    assert.deepEqual(await Promise.all(answers), expected, `seed ${seed}`);
    assert.deepEqual(
      collection.applied,
      calls.map(({ docid }) => docid),
      `seed ${seed}`,
    );
    assert.ok(collection.chunks <= chunksMax, `seed ${seed}: ${collection.chunks} of ${chunksMax}`);
  }
});

test('far from the limit the collection is counted only once', async () => {
  const [ledger, collection] = [new ChunkLedger(), new NaiveCollection()];
  for (let i = 0; i < 100; i++)
    await ledger.add(ID, {
      chunks: 1,
      chunksMax: 1000,
      count: collection.count,
      send: (chunksLeft) => collection.put(`d${i}`, 1, chunksLeft),
    });
  assert.equal(collection.counts, 1);
});

test('deleted documents free their chunks', async () => {
  const [ledger, collection] = [new ChunkLedger(), new NaiveCollection()];
  const add = (docid: string): Promise<boolean> =>
    ledger.add(ID, {
      chunks: 1,
      chunksMax: 1,
      count: collection.count,
      send: (chunksLeft) => collection.put(docid, 1, chunksLeft),
    });
  assert.deepEqual([await add('a'), await add('b')], [true, false]);
  collection.documents.delete('a');
  assert.equal(await add('b'), true);
});

test('a count or a document that fails harms no other', async () => {
  const [ledger, collection] = [new ChunkLedger(), new NaiveCollection()];
  const addition = {
    chunks: 1,
    chunksMax: 2,
    count: collection.count,
    send: (chunksLeft: number) => collection.put('a', 1, chunksLeft),
  };
  const failures = [
    ledger.add(ID, { ...addition, count: () => Promise.reject(new Error('no count')) }),
    ledger.add(ID, { ...addition, send: () => Promise.reject(new Error('no put')) }),
  ];
  const fine = ledger.add(ID, addition);
  await assert.rejects(failures[0] as Promise<unknown>, /no count/);
  await assert.rejects(failures[1] as Promise<unknown>, /no put/);
  assert.equal(await fine, true);
});
