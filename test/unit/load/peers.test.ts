// Each driver of a comparison against its database (Sheaf always; Chroma and PaveDB where they are installed, otherwise
// the test is skipped), and the comparison with a stand-in database.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { UsageError } from '../../../load/suite/workload.js';
import { type Candidate, Field, type Participant, candidates } from '../../../load/suite/peers/participants.js';
import { HUNDREDTH, type RowSet, TENTH, nearest, recallOf } from '../../../load/suite/peers/measure.js';
import { readPeersOptions } from '../../../load/suite/peers/compare.js';
import { send, type Driver, type Filter, type Row } from '../../../load/suite/peers/drivers.js';
import { tempDirectory } from '../../kit/temp.js';
import { standIn } from '../../kit/stand-in-database.js';

const DIM = 16;
const ROWS = 250;
const K = 5;

function smallSet(): RowSet {
  const prng = createPrng(7);
  const vector = (): number[] => Array.from({ length: DIM }, () => Number(prng.normal().toPrecision(6)));
  const rows = Array.from(
    { length: ROWS },
    (_, row): Row => ({
      row,
      vector: vector(),
      text: `text ${row}`,
      groups: { tenth: `g${row % 10}`, hundredth: `g${row % 100}` },
    }),
  );
  return { source: 'seed 7', rows, queries: Array.from({ length: 10 }, vector) };
}

const set = smallSet();

/**
 * Fills the database in two batches, replaces some rows and restores them; searches plainly and under filters, and
 * compares with exact answers.
 */
async function exercise(driver: Driver, url: string): Promise<void> {
  assert.match(await driver.version(), /^\d+\.\d+/);
  await driver.create(DIM);
  await driver.put(set.rows.slice(0, 200), true);
  await driver.put(set.rows.slice(200), true);
  const some = set.rows.slice(0, 20);
  await driver.put(
    some.map((row, i) => ({ ...row, vector: some[(i + 1) % 20]!.vector, text: 'another' })),
    false,
  );
  await driver.put(some, false);
  assert.equal(await driver.isIndexed(), true);
  for (const filter of [undefined, TENTH, HUNDREDTH] satisfies (Filter | undefined)[]) {
    const truth = nearest(set, set.queries.length, filter).map((rows) => rows.slice(0, K));
    for (const [i, query] of set.queries.entries()) {
      const hits = driver.hits(await send(url, driver.byVector(query, K, filter)));
      assert.deepEqual(
        hits.map(({ row }) => row),
        truth[i],
        `${filter?.field} ${i}`,
      );
      for (const { row, text } of hits) assert.equal(text, `text ${row}`);
    }
  }
}

async function exerciseTexts({ driver, url }: Participant): Promise<void> {
  const texts = driver.texts!;
  await texts.create();
  await texts.put(
    ['the cat sat on the mat', 'share prices fell on Monday', 'the lift of a wing in a supersonic stream'],
    0,
  );
  assert.deepEqual(texts.hits(await send(url, texts.byText('aeroplane', 1))), [
    { row: 2, text: 'the lift of a wing in a supersonic stream' },
  ]);
}

for (const { name, absent, start } of candidates()) {
  test(`${name}, the real one`, { skip: absent ?? false, timeout: 300_000 }, async () => {
    const participant = await start(join(tempDirectory(), name));
    after(() => participant.stop());
    await exercise(participant.driver, participant.url);
    if (participant.driver.texts) await exerciseTexts(participant);
    assert.ok(participant.process!.cpuMs() > 0);
    assert.ok(participant.process!.memory().anonymous > 10);
    participant.process!.pause();
    participant.process!.resume();
    await participant.driver.drop();
    await participant.stop();
  });
}

test('the stand-in passes the checks of the real databases', async (t) => {
  const { driver, url, stop } = await standIn(t).start('');
  await exercise(driver, url);
  await stop();
  await assert.rejects(async () => driver.hits(await send(url, driver.byVector(set.queries[0]!, K))));
});

test('an absent database is named, and one that answers wrongly is left out', async (t) => {
  const said: string[] = [];
  const field = new Field((line) => said.push(line));
  const broken: Candidate = { name: 'Broken', start: () => Promise.reject(new Error('it does not start')) };
  const absent: Candidate = { ...broken, name: 'Absent', absent: 'it is not installed' };
  await field.enter([broken, standIn(t), absent], tempDirectory());
  assert.deepEqual(said, ['skipped: Broken (it does not start)', 'skipped: Absent (it is not installed)']);
  const recalls = await field.each('recall', async (contestant) => {
    await contestant.driver.create(DIM);
    await contestant.driver.put(set.rows, true);
    return recallOf(contestant, {
      requests: [contestant.driver.byVector(set.queries[0]!, K)],
      hits: contestant.driver.hits,
      truth: [[...nearest(set, 1)[0]!.slice(0, K - 1), ROWS]],
      textOf: (row) => `text ${row}`,
    });
  });
  assert.equal(recalls.get('StandIn'), (K - 1) / K);
  await field.each('texts', (contestant) =>
    recallOf(contestant, {
      requests: [contestant.driver.byVector(set.queries[0]!, K)],
      hits: contestant.driver.hits,
      truth: [[]],
      textOf: () => 'another',
    }),
  );
  assert.match(said.at(-1)!, /^left out: StandIn, texts: row \d+ came with the text/);
  assert.equal(field.present.length, 0);
});

test('options: what is not one is refused', () => {
  assert.equal(readPeersOptions(['--tiny']).vectors, 500);
  assert.equal(readPeersOptions(['--vectors', '60000']).vectors, 60_000);
  for (const wrong of [['--vectors', '0'], ['--seconds', 'x'], ['--pgvector', 'u'], ['words']])
    assert.throws(() => readPeersOptions(wrong), UsageError);
});
