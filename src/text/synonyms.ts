// Synonyms of a collection: checks the rules of a request, and finds the words of a query that have synonyms. Words are
// compared by the terms of the collection's language, so a rule for a word is one for its other forms too. Pure
// functions; compiled rules are kept as long as the rules themselves.
import type { Language } from '../api/choices.js';
import type { SynonymRule } from '../api/collections.js';
import { invalidField } from '../api/errors.js';
import { SYNONYM_BYTES_MAX, SYNONYM_WORDS_MAX, SYNONYMS_MAX } from '../api/limits.js';
import { termOfWord } from './stemming.js';
import { tokensOf } from './tokenize.js';

/** A word, or several in a row, that has synonyms. */
interface Source {
  readonly terms: readonly string[];
  /** The tokens of each synonym. */
  readonly synonyms: readonly (readonly string[])[];
}

/** Compiled rules, by the first term of a source; longer sources first. */
type Compiled = ReadonlyMap<string, readonly Source[]>;

/** Synonyms of words of a query. */
export interface FoundSynonyms {
  /** Index of the first of its words, and their number. */
  readonly at: number;
  readonly length: number;
  readonly tokens: readonly string[];
}

/** Throws a 422 for rules that are too large, and for texts without a word or with too many. */
export function checkSynonyms(rules: readonly SynonymRule[]): void {
  if (Buffer.byteLength(JSON.stringify(rules)) > SYNONYM_BYTES_MAX)
    throw invalidField(
      ['body', 'synonyms'],
      `All rules together may have at most ${SYNONYM_BYTES_MAX} bytes of JSON.`,
      'too_long',
    );
  rules.forEach(({ words, to }, i) => {
    const at = ['body', 'synonyms', i];
    if (!to && words.length < 2)
      throw invalidField(at, 'A rule needs two `words` that mean the same, or `to`.', 'too_short');
    for (const [field, texts] of Object.entries({ words, to: to ?? [] })) {
      const wrong = texts.findIndex((text) => !isWordCount(tokensOf(text).length));
      if (wrong >= 0)
        throw invalidField(
          [...at, field, wrong],
          `Should have 1 to ${SYNONYM_WORDS_MAX} words.`,
          'value_error',
          texts[wrong],
        );
    }
  });
}

const isWordCount = (count: number): boolean => count >= 1 && count <= SYNONYM_WORDS_MAX;

const COMPILED = new WeakMap<readonly SynonymRule[], Compiled>();

/** `rules` must not change, and belong to a collection of this language. */
function compiled(rules: readonly SynonymRule[], language: Language): Compiled {
  const known = COMPILED.get(rules);
  if (known) return known;
  const byFirst = new Map<string, Source[]>();
  for (const { words, to } of rules) {
    for (const source of words) {
      const synonyms = (to ?? words.filter((word) => word !== source)).map(tokensOf);
      const terms = tokensOf(source).map((token) => termOf(token, language));
      const first = terms[0] as string;
      byFirst.set(first, [...(byFirst.get(first) ?? []), { terms, synonyms }]);
    }
  }
  for (const sources of byFirst.values()) sources.sort((a, b) => b.terms.length - a.terms.length);
  COMPILED.set(rules, byFirst);
  return byFirst;
}

const termOf = (token: string, language: Language): string => termOfWord(token, language) ?? token;

/** The synonyms of the words of a query, at most `SYNONYMS_MAX`. `tokens` are all of its words in order. */
export function synonymsIn(
  tokens: readonly string[],
  rules: readonly SynonymRule[],
  language: Language,
): FoundSynonyms[] {
  const byFirst = compiled(rules, language);
  const terms = tokens.map((token) => termOf(token, language));
  const found = terms.flatMap((term, at) =>
    (byFirst.get(term) ?? [])
      .filter((source) => source.terms.every((one, i) => terms[at + i] === one))
      .flatMap(({ terms: { length }, synonyms }) => synonyms.map((own) => ({ at, length, tokens: own }))),
  );
  return found.slice(0, SYNONYMS_MAX);
}
