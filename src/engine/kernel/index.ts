// What the kernel exports; kernel.ts and vector-index.ts beside this folder are its only callers. Addresses and
// ordinals are u32. Rules for all of it: no globals, no static data, no allocation but from the arena (README.md one
// folder up).
export { format } from './arena';
export { endEpoch, haveLeft, reclaim } from './epochs';
export { lockUnused, unlockUnused } from './unused';
export {
  createPriorities,
  dropPriorities,
  findPrioritized,
  priorityOf,
  reservePriority,
  setPriority,
} from './priorities';
export { addPart, deletePart, findPart } from './directory';
export { createScratch, ensureInput, releaseScratch } from './scratch';
export { restoreArena } from './restore';
export { createIndex, dropIndex, publish, remove, stage } from './write';
export { freeRows, hideRows } from './trim';
export { linkSome } from './pending';
export { fillSome } from './fill';
export { countAllowed } from './allowed';
export { readRow, scoresOf, search } from './search';
export { addWords } from './words/add';
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
export { beginBasis, finishAxes, measureAxes, measuredAt, multiplyBasis, orthogonalize, writeAxes } from './codes/axes';
export { finishCovariance, finishMean, sampleRows } from './codes/covariance';
export { createCodes, dropCodes, dropNext, exchangeCodes, planCodes } from './codes/exchange';
export { encodeRows } from './codes/encode';
