// The terms of chunks and of queries, pinned: what has been indexed must stay findable. Marked terms are written with
// an asterisk here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunkTerms, questionTerms } from '../../../src/text/terms.js';
import { tokensOf } from '../../../src/text/tokenize.js';

const shown = (terms: readonly string[]): string => terms.map((term) => term.replace('\u0001', '*')).join(' ');

const FIXTURE: [text: string, chunk: string, question?: string][] = [
  ['', ''],
  ['The quick brown fox.', 'the quick brown fox'],
  ['Call snake_case in v1.2.3!', 'call snake case in v1 2 3 *snake_case *v1.2.3'],
  ['foo-bar FOO-bar foo bar', 'foo bar foo bar foo bar *foo-bar *foo-bar', 'foo bar *foo-bar'],
  ['end.Next a--b _x_ 1,5 3.14', 'end next a b x 1 5 3 14 *end.next *3.14'],
  ['node@20 user@example.org', 'node 20 user example org *example.org'],
  ['Größen_Wert Ångström-1', 'grossen wert angstrom 1 *grossen_wert *angstrom-1'],
  ['ＡＢＣ－１２', 'abc 12 *abc-12'],
  ['東京都 is', '東 京 都 is *東京 *京都', 'is *東京 *京都'],
  ['東 都', '東 都'],
  ['東京v2.0 タワー', '東 京 v2 0 タ ワ ー *v2.0 *東京 *タワ *ワー', 'v2 0 *v2.0 *東京 *タワ *ワー'],
  ['서울-시 мир_труд', '서울 시 мир труд *서울-시 *мир_труд'],
];
for (const [text, chunk, question = chunk] of FIXTURE) {
  test(`terms of ${JSON.stringify(text)}`, () => {
    assert.equal(shown(chunkTerms(text, 'none')), chunk);
    assert.equal(shown(questionTerms(text, 100, 'none')), question);
  });
}

test('a chunk begins with its words, in their order', () => {
  for (const [text] of FIXTURE)
    assert.deepEqual(chunkTerms(text, 'none').slice(0, tokensOf(text).length), tokensOf(text));
});

test('an ASCII text has the same terms beside other letters', () => {
  const text = 'A-b c_d.e 1.2 x y-';
  const beside = questionTerms(`${text} é`, 100, 'none');
  assert.deepEqual(
    beside.filter((term) => term !== 'e' || text.includes('e')).sort(),
    questionTerms(text, 100, 'none').sort(),
  );
});

test('a long word beside a hyphen does not take quadratic time', () => {
  for (const letter of ['a', 'д']) assert.equal(chunkTerms(`${letter.repeat(32_000)} x-y`, 'none').length, 4);
});

test('the number of terms of a query is bounded', () => {
  assert.deepEqual(questionTerms('one two-three four', 3, 'none'), ['one', 'two', 'three']);
});
