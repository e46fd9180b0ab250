// Content filters on chunk texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentOp } from '../../../src/api/search.js';
import { createContentTest } from '../../../src/text/content-filter.js';

const text = 'Captain Nemo, of the Nautilus: “Café Zürich” opens.\nThe end';
const cases: [ContentOp, string, boolean][] = [
  ['exact', text, true],
  ['exact', text.toLowerCase(), false],
  ['exact', text.trimEnd().slice(0, -1), false],
  ['phrase', 'nemo OF the nautilus', true],
  ['phrase', 'cafe zurich', true],
  ['phrase', 'captain of', false],
  ['phrase', 'nautilu', false],
  ['phrase', 'the', true],
  ['phrase', 'end the', false],
  ['phrase', '?!', false],
  ['prefix', 'nemo of the naut', true],
  ['prefix', 'cap', true],
  ['prefix', 'apt', false],
  ['prefix', 'nem of', false],
  ['prefix', '?!', false],
  ['contains', 'APTAIN NEMO,', true],
  ['contains', 'zürich” o', true],
  ['contains', 'zurich', false],
  ['contains', '?!', false],
];
for (const [op, value, fits] of cases) {
  test(`${op} ${JSON.stringify(value.slice(0, 30))} ${fits ? 'fits' : 'does not fit'}`, () =>
    assert.equal(createContentTest({ op, value })(text), fits));
}

test('a phrase that begins like another place still finds its own', () => {
  assert.equal(createContentTest({ op: 'phrase', value: 'a a b' })('a a a b'), true);
});

test('scripts without spaces: a phrase is a substring', () => {
  const fits = createContentTest({ op: 'phrase', value: '京タ' });
  assert.deepEqual([fits('東京タワー'), fits('東京のタワー')], [true, false]);
});
