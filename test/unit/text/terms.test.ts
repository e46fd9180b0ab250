// Tokens and terms of texts in many scripts and languages, pinned: what one version has indexed is searched by the
// next. A change of terms.json means that every index changes; a library that gives another stem fails here. In
// terms.json a stem begins with ~ and a compound or pair with *, and `chunk` is what stands behind the tokens.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LANGUAGES, type Language } from '../../../src/api/choices.js';
import { chunkTerms, questionTerms } from '../../../src/text/terms.js';
import { tokensOf } from '../../../src/text/tokenize.js';

interface Pinned {
  text: string;
  tokens: string;
  terms: Partial<Record<Language, { chunk: string; question: string }>>;
}

const PINNED = JSON.parse(readFileSync('test/unit/text/terms.json', 'utf8')) as Pinned[];
const shown = (terms: readonly string[]): string => terms.join(' ').replaceAll('\u0001', '*').replaceAll('\u0002', '~');

for (const { text, tokens, terms } of PINNED) {
  test(`tokens and terms of ${JSON.stringify(text.slice(0, 60))}`, () => {
    assert.equal(shown(tokensOf(text)), tokens);
    for (const [language, { chunk, question }] of Object.entries(terms) as [
      Language,
      { chunk: string; question: string },
    ][]) {
      assert.equal(shown(chunkTerms(text, language)), [tokens, chunk].filter(Boolean).join(' '), language);
      assert.equal(shown(questionTerms(text, 1024, language)), question, language);
    }
  });
}

test('every language has a text in terms.json', () => {
  const present = new Set(PINNED.flatMap(({ terms }) => Object.keys(terms)));
  assert.deepEqual([...present].sort(), [...LANGUAGES].sort());
});
