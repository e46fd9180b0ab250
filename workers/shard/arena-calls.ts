// The kernel's calls on the arena, its readers, the directory of parts and their priorities, as instance.ts declares
// those on vectors. Numbers are u32 unless said otherwise; counts may come back as FULL, addresses as 0. Used by Kernel
// and what it hands out.
export interface ArenaCalls {
  format(): void;
  restoreArena(end: number): void;
  createScratch(answers: number, poolEntries: number, holder: number): number;
  releaseScratch(scratch: number): void;
  reclaim(max: number): number;
  lockUnused(): number;
  unlockUnused(): void;
  endEpoch(): number;
  haveLeft(epoch: number): number;
  findPart(id: number): number;
  addPart(id: number): number;
  deletePart(id: number): void;
  createPriorities(): number;
  dropPriorities(root: number): void;
  reservePriority(root: number, ordinal: number): number;
  setPriority(root: number, ordinal: number, priority: number): void;
  priorityOf(root: number, ordinal: number): number;
  findPrioritized(scratch: number, root: number): number;
}
