// How many tokens a text will be counted as, before anybody has counted: for splitting calls and for budgets.
// Pure. Used by the runners of openai/ and of rerank-endpoint/; embed worker of role remote.

/**
 * The tokenizers of such models need three bytes of UTF-8 for a token or more, in natural language of any script:
 * English four to five, CJK three a character, Cyrillic four. Of text that is none (base64, long numbers) the estimate
 * is too small: a call that becomes too large by it is refused by the endpoint and sent in halves.
 */
const BYTES_PER_TOKEN = 3;
/** What marks the ends. */
const SPECIAL_TOKENS = 2;

export const estimateTokens = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + SPECIAL_TOKENS;
