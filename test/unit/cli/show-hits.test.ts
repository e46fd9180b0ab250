// How hits look on a terminal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showHits, snippet } from '../../../src/cli/search.js';
import type { SearchHit } from '../../../src/api/search.js';

const hit = (fields: Partial<SearchHit>): SearchHit => ({
  tenant: 't',
  collection: 'c',
  id: 'a/b.md::chunk_2',
  score: 0.71234,
  meta: {},
  match_reason: '',
  ...fields,
});

test('a hit shows rank, score, source path, chunk and snippet', () => {
  const text = showHits(
    [hit({ text: 'Captain Nemo\ncommands the Nautilus.', meta: { path: 'sea/nemo.md' } })],
    'captain',
  );
  assert.equal(text, ' 1. 0.712  sea/nemo.md  chunk_2\n    Captain Nemo commands the Nautilus.');
});

test('without a path the document id is shown; without text the head alone', () => {
  assert.equal(
    showHits([hit({}), hit({ id: 'x::y::0', score: 1 })], 'q'),
    ' 1. 0.712  a/b.md  chunk_2\n 2. 1.000  x::y  0',
  );
});

test('no hits are told', () => {
  assert.equal(showHits([], 'q'), 'No hits.');
});

test('control characters of a document cannot steer the terminal', () => {
  const shown = showHits([hit({ text: 'a\x1b[2Jb\u009b1mc\0d', meta: { path: 'p\x1b]0;x\x07' } })], 'q');
  assert.doesNotMatch(shown.replaceAll('\n', ''), /\p{Cc}/u);
});

test('a snippet starts a little before the first word of the query, at a word', () => {
  const shown = snippet(`${'lorem ipsum '.repeat(20)}the submarine captain ${'dolor sit '.repeat(40)}`, 'a Submarine?');
  assert.match(shown, /^… (lorem|ipsum) .*the submarine captain dolor .* …$/);
});

test('a snippet of a short text is the text, and no pair is cut in two', () => {
  assert.equal(snippet('short', 'nothing of it'), 'short');
  const cut = snippet('😀'.repeat(300), 'q');
  assert.equal(cut, `${'😀'.repeat(220)} …`);
});

test('query words with characters special to expressions are harmless', () => {
  assert.equal(snippet('plain text', 'c++ (a|b) [x] \\'), 'plain text');
});
