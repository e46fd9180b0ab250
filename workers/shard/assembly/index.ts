// What the kernel exports; kernel.ts and vector-index.ts beside this folder are its only callers. Addresses and ordinals are
// u32. Rules for all of it: no globals, no static data, no allocation but from the arena (README.md one folder up).
export { format } from './arena';
export { createScratch, ensureInput } from './scratch';
export { createIndex, dropIndex, publish, remove, stage } from './write';
export { linkSome } from './pending';
export { countAllowed } from './allowed';
export { scoresOf, search } from './search';
export { addWords } from './words/add';
export { addPlain } from './words/split';
export { freeze as freezeWords } from './words/freeze';
export { mergeWords } from './words/merge';
export { removeWords } from './words/remove';
export { countWords, matchWords } from './words/count';
export { rankWords } from './words/search';
export { ensureAllowed } from './words/query';
export { createWords, dropWords, wordsLines } from './words/words';
export { findPhrase } from './words/phrase';
export { findContaining, listPrefixed } from './words/prefix';
export { findAny, findLive, findRange } from './words/sets';
export { finishAxes, finishSample, improveAxes } from './codes/axes';
export { beginAxes, sampleRows } from './codes/covariance';
export { createCodes, dropCodes } from './codes/codes';
export { encodeRows } from './codes/encode';
export { searchCodes } from './codes/search';
