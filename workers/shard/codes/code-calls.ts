// The kernel's calls on the codes of an index, as instance.ts declares those on vectors. Numbers are u32;
// `searchCodes` may answer FULL. Used by CodedIndex.
export interface CodeCalls {
  createCodes(root: number, axes4: number, axes2: number): number;
  dropCodes(codes: number): void;
  beginAxes(codes: number, root: number): boolean;
  sampleRows(codes: number, root: number, from: number, count: number, step: number): void;
  finishSample(codes: number, root: number): void;
  improveAxes(codes: number, root: number): void;
  finishAxes(codes: number, root: number): void;
  encodeRows(codes: number, root: number, from: number, end: number): boolean;
  searchCodes(scratch: number, codes: number, root: number, k: number, ef: number, rerank: number): number;
}
