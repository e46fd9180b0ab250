// The naive version of the tiny cross-encoder that make.py in this folder builds: computes its scores by counting
// words.
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

/** The words of the model's vocabulary. */
export const KNOWN_WORDS: readonly string[] = Object.keys(vocabulary).filter((word) => !word.startsWith('['));

/** The score of a passage. The query has to be shorter than half of the model's token limit. */
export function naiveScore(query: string, passage: string, tokensMax = CROSS_ENCODER.tokensMax): number {
  const words = tokensOf(query);
  const read = tokensOf(passage).slice(0, tokensMax - SPECIAL_TOKENS - words.length);
  const hits = words.filter((word) => KNOWN_WORDS.includes(word) && read.includes(word)).length;
  return 1 / (1 + Math.exp((read.length + 1) / 16 - hits));
}

/** The words and punctuation marks of a text; the model's tokenizer makes one token of an unknown word. */
const tokensOf = (text: string): string[] => text.toLowerCase().match(/[a-z]+|[^a-z\s]/g) ?? [];
