// Words by their stems: what a query finds, which words are marked in a hit, and that caching stems changes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { LANGUAGES, type Language } from '../../../src/api/choices.js';
import { CHUNK_TERMS_MAX, chunkTerms, questionTerms } from '../../../src/text/terms.js';
import { STEM_MARK, loadLanguage, termOfWord } from '../../../src/text/stemming.js';
import { tokensOf } from '../../../src/text/tokenize.js';

const finds = (question: string, text: string, language: Language): boolean => {
  const terms = new Set(chunkTerms(text, language));
  return questionTerms(question, 100, language).some((term) => terms.has(term));
};

test('a query finds other forms of its words, in its language only', () => {
  assert.ok(finds('connected flows', 'the connection of a flow', 'english'));
  assert.ok(!finds('connected flows', 'the connection of a flow', 'none'));
  assert.ok(finds('Häuser', 'ein Haus am See', 'german'));
  assert.ok(finds('hauser', 'viele Häuser', 'german'), 'typed without its diacritics');
});

test('stop words count where a query has nothing else', () => {
  assert.ok(!finds('the connection', 'the end', 'english'));
  for (const question of ['the who', 'to be or not to be'])
    assert.deepEqual(questionTerms(question, 100, 'english'), [...new Set(tokensOf(question))]);
  assert.ok(finds('The Who', 'a record of the who', 'english'));
});

test('numbers, identifiers and unspaced scripts are ranked as they stand', () => {
  for (const word of ['2026', 'v2', '1990s', '東', 'タ', 'ー']) assert.equal(termOfWord(word, 'english'), word);
  assert.deepEqual(chunkTerms('1990s 東', 'english'), ['1990s', '東']);
});

test('every term of a question but stop words is one of the chunk with the same text', () => {
  const text = 'Walking in the rain, v1.2 and foo-bars: 東京タワー größere Häuser, книги';
  for (const language of LANGUAGES) {
    const terms = new Set(chunkTerms(text, language));
    for (const term of questionTerms(text, 100, language)) assert.ok(terms.has(term), `${language}: ${term}`);
    assert.deepEqual(chunkTerms(text, language).slice(0, tokensOf(text).length), tokensOf(text));
  }
});

test('more words than are remembered have the terms that the library gives', () => {
  const { stem, stopWords } = loadLanguage('english');
  const prng = createPrng(7);
  const wordOf = (n: number): string =>
    `${n.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] as string)}ings`;
  for (let i = 0; i < 150_000; i++) {
    const word = wordOf(prng.int(i % 2 ? 100 : 100_000));
    assert.equal(termOfWord(word, 'english'), stopWords.has(word) ? undefined : STEM_MARK + stem(word));
  }
});

test('a chunk has no more terms than an index takes', () => {
  assert.equal(chunkTerms('\ufdfa'.repeat(32_768), 'arabic').length, CHUNK_TERMS_MAX);
  assert.ok(chunkTerms('a-b '.repeat(8192), 'english').length < CHUNK_TERMS_MAX);
});

test('a word longer than any of a language, and one of which a stemmer leaves nothing', () => {
  const long = `${'walking'.repeat(1000)}s`;
  assert.equal(termOfWord(long, 'finnish'), long);
  assert.equal(loadLanguage('greek').stem('εωσ'), '');
  assert.equal(termOfWord('εωσ', 'greek'), `${STEM_MARK}εωσ`);
});
