// The answers that a shard keeps of keyed writes: found by key and item, replaced, and forgotten by age and by number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import { Environment } from '../../../src/storage/lmdb.js';
import { type AnswerToKeep, forgetAnswers, keepAnswer, keptAnswers } from '../../../src/storage/kept-answers.js';
import { ALL } from '../../../src/storage/table.js';
import { tempDirectory } from '../../kit/temp.js';

const LOG = 7 as CollectionId;
const keyOf = (number: number): string => number.toString(16).padStart(32, '0');
const placed = (number: number, nowS: number, more: Partial<AnswerToKeep> = {}): AnswerToKeep => ({
  log: LOG,
  key: keyOf(number),
  item: 0,
  fingerprint: `print ${number}`,
  nowS,
  sinceS: 0,
  ...more,
});

function openStore(): Environment<'answers'> {
  return Environment.open(tempDirectory(), ['answers'], false);
}

const found = (env: Environment<'answers'>, number: number, log = LOG): string[] =>
  env.read(({ answers }) =>
    keptAnswers(answers, { log, key: keyOf(number), from: 0, max: 10 }).map(({ json }) => json),
  );
const rows = (env: Environment<'answers'>): number => env.read(({ answers }) => [...answers.keys(ALL)].length);

test('an answer is found by collection, key and item, in the order of the items', () => {
  const env = openStore();
  env.write(({ answers }) => {
    for (const item of [2, 300, 1])
      keepAnswer(answers, placed(1, 100, { item, more: { docid: `d${item}` } }), { version: item });
    keepAnswer(answers, placed(2, 100), { version: 9 });
    keepAnswer(answers, placed(1, 100, { log: 8 as CollectionId }), { version: 8 });
  });
  assert.deepEqual(found(env, 1), [
    '{"version":1,"docid":"d1"}',
    '{"version":2,"docid":"d2"}',
    '{"version":300,"docid":"d300"}',
  ]);
  env.read(({ answers }) => {
    const [third] = keptAnswers(answers, { log: LOG, key: keyOf(1), from: 3, max: 1 });
    assert.deepEqual(third, { item: 300, fingerprint: 'print 1', keptS: 100, json: '{"version":300,"docid":"d300"}' });
  });
  assert.deepEqual(found(env, 1, 8 as CollectionId), ['{"version":8}']);
  assert.deepEqual(found(env, 3), []);
  env.close();
});

test('an answer takes the place of the one before it', () => {
  const env = openStore();
  env.write(({ answers }) => keepAnswer(answers, placed(1, 100), { version: 1 }));
  const before = rows(env);
  env.write(({ answers }) => keepAnswer(answers, placed(1, 200), { version: 2 }));
  assert.deepEqual([found(env, 1), rows(env)], [['{"version":2}'], before]);
  env.write(({ answers }) => assert.equal(forgetAnswers(answers, 200, 10), 0));
  env.write(({ answers }) => assert.equal(forgetAnswers(answers, 201, 10), 1));
  assert.equal(rows(env), 0);
  env.close();
});

test('the oldest answers of a collection go when there are too many, and old ones with each write', () => {
  const env = openStore();
  const keep = (number: number, nowS: number, more?: Partial<AnswerToKeep>): void =>
    env.write(({ answers }) => keepAnswer(answers, placed(number, nowS, more), {}, 3));
  for (let number = 1; number <= 5; number++) keep(number, 100 + number);
  const kept = (): number[] => [1, 2, 3, 4, 5, 6].filter((number) => found(env, number).length > 0);
  assert.deepEqual(kept(), [3, 4, 5]);
  keep(1, 50, { log: 8 as CollectionId });
  assert.deepEqual(kept(), [3, 4, 5]);
  keep(6, 500, { sinceS: 105 });
  assert.deepEqual(kept(), [5, 6]);
  env.close();
});

test('answers that are too old are forgotten in all collections, some at a time', () => {
  const env = openStore();
  env.write(({ answers }) => {
    for (const log of [1, 5, 9])
      for (let number = 0; number < 4; number++)
        keepAnswer(answers, placed(number, 100 + number, { log: log as CollectionId }), {});
  });
  const forget = (sinceS: number, max: number): number =>
    env.write(({ answers }) => forgetAnswers(answers, sinceS, max));
  assert.deepEqual([forget(102, 5), forget(102, 5), forget(102, 5)], [5, 1, 0]);
  for (const log of [1, 5, 9])
    assert.deepEqual(
      [0, 1, 2, 3].filter((number) => found(env, number, log as CollectionId).length > 0),
      [2, 3],
    );
  assert.equal(forget(1000, 100), 6);
  assert.equal(rows(env), 0);
  env.close();
});
