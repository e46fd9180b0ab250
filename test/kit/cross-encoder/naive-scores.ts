// What the tiny cross-encoder of this folder has to answer, by counting words: the naive version of make.py.
import { readFileSync } from 'node:fs';
import type { OnnxReranker } from '../../../src/embedding/embedder-spec.js';

export const CROSS_ENCODER: OnnxReranker = {
  directory: 'test/kit/cross-encoder',
  file: 'onnx/model.onnx',
  tokensMax: 64,
};

const SPECIAL_TOKENS = 3;
const vocabulary = (
  JSON.parse(readFileSync(`${CROSS_ENCODER.directory}/tokenizer.json`, 'utf8')) as {
    model: { vocab: Record<string, number> };
  }
).model.vocab;

/** The words that the model knows. */
export const KNOWN_WORDS: readonly string[] = Object.keys(vocabulary).filter((word) => !word.startsWith('['));

/** For a query that is shorter than half of what the model takes. */
export function naiveScore(query: string, passage: string, tokensMax = CROSS_ENCODER.tokensMax): number {
  const words = tokensOf(query);
  const read = tokensOf(passage).slice(0, tokensMax - SPECIAL_TOKENS - words.length);
  const hits = words.filter((word) => KNOWN_WORDS.includes(word) && read.includes(word)).length;
  return 1 / (1 + Math.exp((read.length + 1) / 16 - hits));
}

/** Words and marks; the model's tokenizer takes an unknown word for one token. */
const tokensOf = (text: string): string[] => text.toLowerCase().match(/[a-z]+|[^a-z\s]/g) ?? [];
