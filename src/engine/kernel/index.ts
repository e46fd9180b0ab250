// The exports of the kernel. Addresses and ordinals are u32. The kernel has no globals and no static data, and
// allocates only from the arena (docs/internals/memory-layout.md).
export { format } from './memory/arena';
export { endEpoch, haveLeft, reclaim } from './memory/epochs';
export { lockUnused, unlockUnused } from './memory/arena';
export {
  createColumn,
  dropColumn,
  findValued,
  valueOf,
  reserveValue,
  setValue,
} from './memory/row-columns';
export { addSegment, deleteSegment, findSegment } from './memory/segment-directory';
export { createScratch, ensureInput, releaseScratch } from './memory/scratch';
export { restoreArena } from './memory/arena';
export { createIndex, dropIndex, publish, remove, renew, stage } from './hnsw/vector-index';
export { freeRows, hideRows } from './hnsw/vector-index';
export { indexSome } from './hnsw/graph-builder';
export { densifySome } from './hnsw/graph-builder';
export { countAllowed } from './hnsw/filtered-search';
export { readRow, scoresOf, search } from './hnsw/search';
export { addTerms } from './postings/write';
export { freeze as freezeTextIndex } from './postings/write';
export { mergeTextIndex } from './postings/merge';
export { removeTerms } from './postings/write';
export { countTerms, matchTerms } from './postings/rank';
export { rankTerms } from './postings/rank';
export { ensureAllowed } from './postings/query';
export { chunksIn, createTextIndex, dropTextIndex, textIndexLines, tokensIn } from './postings/text-index';
export { findPhrase } from './postings/phrase';
export { findContaining, listPrefixed, listRange } from './postings/term-bitmaps';
export { findAny, findLive, findRange } from './postings/term-bitmaps';
export { countRange } from './postings/term-counts';
export { listNear } from './postings/near-terms';
export {
  beginBasis,
  finishComponents,
  measureComponents,
  measuredAt,
  multiplyBasis,
  orthogonalize,
  writeComponents,
} from './quantization/principal-components';
export { finishCovariance, finishMean, sampleRows } from './quantization/principal-components';
export { createQuantizer, dropNext, dropQuantizer, exchangeQuantizers, planQuantizer } from './quantization/quantizer';
export { encodeRows } from './quantization/quantizer';
