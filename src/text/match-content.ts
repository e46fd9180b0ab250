// Content filters: whether the text of a chunk fits. Pure.
// Called by the shard workers for each chunk that a search considers.
import type { ContentFilter } from '../contract/api/search.js';
import { foldCase, tokensOf } from './tokenize.js';

/**
 * A test of chunk texts, made once a search. `phrase` and `prefix` without a single token in their value fit nothing.
 */
export function createContentTest({ op, value }: ContentFilter): (text: string) => boolean {
  if (op === 'exact') return (text) => text === value;
  if (op === 'contains') {
    const wanted = foldCase(value);
    return (text) => foldCase(text).includes(wanted);
  }
  const wanted = tokensOf(value);
  const last = wanted.pop();
  if (last === undefined) return () => false;
  const fitsLast = op === 'prefix' ? (token: string) => token.startsWith(last) : (token: string) => token === last;
  return (text) => hasRun(tokensOf(text), wanted, fitsLast);
}

/** Whether `tokens` has the `head` in order and adjacent, and right after it one that fits as the last. */
function hasRun(tokens: readonly string[], head: readonly string[], fitsLast: (token: string) => boolean): boolean {
  for (let at = head.length; at < tokens.length; at++) {
    if (fitsLast(tokens[at] as string) && head.every((token, i) => token === tokens[at - head.length + i])) return true;
  }
  return false;
}
