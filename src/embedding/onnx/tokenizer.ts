// Tokenizer of a model folder (tokenizer.json). Truncation and padding in that file are ignored: the model determines
// how much is read, and texts are not padded here. Embed workers.
import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import { readObject } from './model-folder.js';

/** The input of a model, including special tokens. */
export interface Encoding {
  ids: readonly number[];
  /** Segment of each token; absent: all 0. */
  types?: readonly number[];
  /** Whether the text was truncated. */
  isTruncated: boolean;
}

/** The used part of the library's tokenizer, whose own type declarations resolve to `any` in an ES module. */
export interface Tokenizer {
  readonly post_processor:
    | (((tokens: string[], pair: string[] | null, withSpecial: boolean) => FramedTokens) & {
        readonly config: { readonly type: string };
      })
    | null;
  token_to_id(token: string): number | undefined;
  /** Text that neither the vocabulary nor an unknown token covers has no id. */
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
}

interface FramedTokens {
  readonly tokens: string[];
  readonly token_type_ids?: number[];
}

const TokenizerOf = LibraryTokenizer as unknown as new (parts: object, settings: object) => Tokenizer;

export interface TextTokenizer {
  /** Fills up shorter texts of a run. */
  readonly padId: number;
  /** The first `tokensMax` tokens, including closing special tokens. */
  encode(text: string): Encoding;
  /** Tokens of a trimmed text without special tokens: at least the first `count`, if there are that many. */
  contentOf(text: string, count: number): number[];
}

/** Special tokens around one or two texts: ids and segments, with 'A' and 'B' in place of the texts. */
export interface Frame {
  ids: (number | 'A' | 'B')[];
  types: number[];
}

/** Characters that are tokenized per requested token; more are tokenized only if these yield too few tokens. */
const CHARACTERS_PER_TOKEN = 16;
/** Where a text is cut for this, its last tokens may differ from those of the whole text. */
const UNSURE_TOKENS = 16;

/** Throws if the file is unusable or `tokensMax` leaves no space for a text. */
export function loadTokenizer(directory: string, tokensMax: number): TextTokenizer {
  const tokenizer = openTokenizer(directory);
  const frame = frameOf(tokenizer, 'one').ids;
  const before = frame.slice(0, frame.indexOf('A')) as number[];
  const after = frame.slice(frame.indexOf('A') + 1) as number[];
  const contentMax = tokensMax - before.length - after.length;
  if (contentMax < 1) throw new Error(`${tokensMax} tokens leave no space for a text`);
  // Trimmed as in sentence-transformers: for BPE and Unigram, a space is part of a token.
  const contentOf = (text: string, count: number): number[] => contentIds(tokenizer, text.trim(), count);
  const encode = (text: string): Encoding => {
    const content = contentOf(text, contentMax + 1);
    return { ids: [...before, ...content.slice(0, contentMax), ...after], isTruncated: content.length > contentMax };
  };
  return { padId: padIdOf(directory, tokenizer), encode, contentOf };
}

/** Throws if the file is broken or of a kind that the library does not support. */
export function openTokenizer(directory: string): Tokenizer {
  // The library requires all parts to be present.
  const parts = {
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    added_tokens: [],
    ...read(directory, 'tokenizer.json'),
  };
  return new TokenizerOf(parts, read(directory, 'tokenizer_config.json'));
}

export function frameOf(tokenizer: Tokenizer, texts: 'one' | 'two'): Frame {
  const [first, second] = ['\0A', '\0B'];
  const bare = texts === 'one' ? [first] : [first, second];
  const framed = tokenizer.post_processor?.([first], texts === 'one' ? null : [second], true);
  const { tokens, token_type_ids }: FramedTokens = framed ?? { tokens: bare };
  const idOf = (token: string): number | 'A' | 'B' =>
    token === first ? 'A' : token === second ? 'B' : (tokenizer.token_to_id(token) ?? unknownToken(token));
  return { ids: tokens.map(idOf), types: token_type_ids ?? tokens.map(() => 0) };
}

function unknownToken(token: string): never {
  throw new Error(`tokenizer.json puts ${token} around a text, but its vocabulary has no such token`);
}

function contentIds(tokenizer: Tokenizer, text: string, count: number): number[] {
  for (let characters = (count + UNSURE_TOKENS) * CHARACTERS_PER_TOKEN; ; characters *= 4) {
    const head = headOf(text, characters);
    const known = tokenizer.encode(head, { add_special_tokens: false }).ids.filter((id) => id !== undefined);
    if (head === text || known.length >= count + UNSURE_TOKENS) return known;
  }
}

/** Cuts between words if possible: a word that is cut may get entirely different tokens. */
function headOf(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const space = text.lastIndexOf(' ', characters);
  return text.slice(0, space > characters / 2 ? space : characters);
}

function padIdOf(directory: string, tokenizer: Tokenizer): number {
  const { pad_token } = read(directory, 'tokenizer_config.json') as {
    pad_token?: string | { content?: string } | null;
  };
  const named = tokenizer.token_to_id(typeof pad_token === 'string' ? pad_token : (pad_token?.content ?? ''));
  const { pad_token_id } = read(directory, 'config.json') as { pad_token_id?: number | null };
  return named ?? pad_token_id ?? 0;
}

const read = (directory: string, file: string): Readonly<Record<string, unknown>> =>
  readObject({ at: 'the model', directory }, file);
