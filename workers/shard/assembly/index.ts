// What the kernel exports; kernel.ts and vector-index.ts beside this folder are its only callers. Addresses and ordinals are
// u32. Rules for all of it: no globals, no static data, no allocation but from the arena (README.md one folder up).
export { format } from './arena';
export { createScratch, ensureInput } from './scratch';
export { createIndex, dropIndex, publish, remove, stage } from './write';
export { linkSome } from './pending';
export { scores, search } from './search';
