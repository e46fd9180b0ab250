// Texts to token ids by the tokenizer.json of a model folder. Truncation and padding written in that file are passed
// over: how much is read is the model's matter, and a text stays as short as it is. Embed workers.
import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import { readObject } from './model-folder.js';

/** What a model reads: special tokens included. */
export interface Encoding {
  ids: readonly number[];
  /** Segment of each token; absent: all 0. */
  types?: readonly number[];
  /** The text goes on. */
  isTruncated: boolean;
}

/** What is used of the library's tokenizer. Its own declarations do not resolve as an ES module's: all of them are `any`. */
export interface Tokenizer {
  readonly post_processor:
    | (((tokens: string[], pair: string[] | null, withSpecial: boolean) => FramedTokens) & {
        readonly config: { readonly type: string };
      })
    | null;
  token_to_id(token: string): number | undefined;
  /** What neither the vocabulary nor an unknown token stands for has no id. */
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
}

interface FramedTokens {
  readonly tokens: string[];
  readonly token_type_ids?: number[];
}

const TokenizerOf = LibraryTokenizer as unknown as new (parts: object, settings: object) => Tokenizer;

export interface TextTokenizer {
  /** Stands where a text of a run is shorter than the longest. */
  readonly padId: number;
  /** The first `tokensMax` tokens, closing special tokens included. */
  encode(text: string): Encoding;
  /**
   * Tokens of a text, without special ones and the spaces around it: at least the first `count`, where there are so
   * many.
   */
  contentOf(text: string, count: number): number[];
}

/**
 * What stands around one text, or around two: ids and segments of the special tokens, with 'A' and 'B' for the texts.
 */
export interface Frame {
  ids: (number | 'A' | 'B')[];
  types: number[];
}

/** Text is tokenized up to so many characters for each token wanted, and further only where these give fewer. */
const CHARACTERS_PER_TOKEN = 16;
/** Where a text is cut for that, its last tokens may be others than in the whole. */
const UNSURE_TOKENS = 16;

/** Throws where the file cannot be served, or `tokensMax` leaves no room for a text. */
export function loadTokenizer(directory: string, tokensMax: number): TextTokenizer {
  const tokenizer = openTokenizer(directory);
  const frame = frameOf(tokenizer, 'one').ids;
  const before = frame.slice(0, frame.indexOf('A')) as number[];
  const after = frame.slice(frame.indexOf('A') + 1) as number[];
  const contentMax = tokensMax - before.length - after.length;
  if (contentMax < 1) throw new Error(`${tokensMax} tokens leave no room for a text`);
  // As sentence-transformers does: for BPE and Unigram a space is part of a token.
  const contentOf = (text: string, count: number): number[] => contentIds(tokenizer, text.trim(), count);
  const encode = (text: string): Encoding => {
    const content = contentOf(text, contentMax + 1);
    return { ids: [...before, ...content.slice(0, contentMax), ...after], isTruncated: content.length > contentMax };
  };
  return { padId: padIdOf(directory, tokenizer), encode, contentOf };
}

/** Throws where the file is broken, or of a kind that the library does not know. */
export function openTokenizer(directory: string): Tokenizer {
  // The library wants every part to be named.
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
  throw new Error(`tokenizer.json puts ${token} around a text, which is no token of it`);
}

function contentIds(tokenizer: Tokenizer, text: string, count: number): number[] {
  for (let characters = (count + UNSURE_TOKENS) * CHARACTERS_PER_TOKEN; ; characters *= 4) {
    const head = headOf(text, characters);
    const known = tokenizer.encode(head, { add_special_tokens: false }).ids.filter((id) => id !== undefined);
    if (head === text || known.length >= count + UNSURE_TOKENS) return known;
  }
}

/** Cut between words where there are any: a word that is cut may become quite other tokens. */
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
