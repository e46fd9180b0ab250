// The kernel's calls on the codes of an index, as instance.ts declares those on vectors. Numbers are u32. All but
// `dropCodes` are about the codes that are being made. Used by learning.ts.
export interface CodeCalls {
  createCodes(root: number, learned: number, rowBytes: number): number;
  sampleRows(root: number, from: number, count: number, step: number): void;
  finishMean(root: number): void;
  finishCovariance(root: number, from: number, end: number): void;
  beginBasis(root: number, from: number, end: number): void;
  multiplyBasis(root: number, from: number, end: number): void;
  orthogonalize(root: number, from: number, end: number): void;
  measureAxes(root: number, from: number, end: number): void;
  measuredAt(root: number): number;
  planCodes(root: number, plan: number, slots4: number, slots2: number, first4: number, first2: number): number;
  writeAxes(root: number, from: number, end: number): void;
  finishAxes(root: number): void;
  encodeRows(scratch: number, root: number, from: number, end: number): number;
  exchangeCodes(root: number): void;
  dropNext(root: number): void;
  dropCodes(root: number): void;
}
