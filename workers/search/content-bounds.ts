// Content filters by the index of words: phrases and prefixes exactly, the others as the chunks whose texts have to be
// read. Search workers only; called by selection.ts. What it means is said by src/text/match-content.ts.
import type { ContentFilter } from '../../src/contract/api/search.js';
import { piecesOf, type ContentPiece } from '../../src/text/content-pieces.js';
import { CUT } from '../../src/text/rank-terms.js';
import { tokensOf } from '../../src/text/tokenize.js';
import { countBits, intersect } from '../shard/bitmaps.js';
import { exactly, loosened, type Bounds } from './bounds.js';
import type { Bitmap } from '../shard/words/word-answers.js';
import type { WordIndex } from '../shard/words/word-index.js';

/** A longer phrase is looked for by its beginning, and then in the texts. */
const PHRASE_TOKENS_MAX = 128;
/** So few texts are read sooner than all terms are looked through for one that ends as wanted. */
const READ_SOONER_MAX = 300;

/** undefined where the words cannot tell anything: then any text may fit. */
export function contentBounds(words: WordIndex, filter: ContentFilter): Bounds | undefined {
  const bounds = boundsOf(words, filter);
  const cut = words.any([CUT]);
  return bounds && cut.some((word) => word !== 0) ? loosened(bounds, cut) : bounds;
}

function boundsOf(words: WordIndex, { op, value }: ContentFilter): Bounds | undefined {
  if (op === 'contains') return mayContain(words, piecesOf(value));
  const tokens = tokensOf(value);
  const isCut = tokens.length > PHRASE_TOKENS_MAX;
  if (op === 'exact')
    return tokens.length === 0 ? undefined : possibly(words.phrase(tokens.slice(0, PHRASE_TOKENS_MAX)));
  if (tokens.length === 0) return exactly(new Uint32Array(0));
  const found = words.phrase(tokens.slice(0, PHRASE_TOKENS_MAX), op === 'prefix' && !isCut);
  return isCut ? possibly(found) : exactly(found);
}

const possibly = (found: Bitmap): Bounds => ({ lower: new Uint32Array(0), upper: found });

function mayContain(words: WordIndex, pieces: readonly ContentPiece[]): Bounds | undefined {
  return pieces.length === 0 ? undefined : possibly(pieces.map((piece) => having(words, piece)).reduce(intersect));
}

function having(words: WordIndex, { tokens, isOpenAtStart, isOpenAtEnd }: ContentPiece): Bitmap {
  const [first, ...rest] = tokens as [string, ...string[]];
  if (!isOpenAtStart) return words.phrase(tokens, isOpenAtEnd);
  if (rest.length === 0) return words.containing(first, !isOpenAtEnd);
  const found = words.phrase(rest, isOpenAtEnd);
  return countBits(found) <= READ_SOONER_MAX ? found : intersect(found, words.containing(first, true));
}
