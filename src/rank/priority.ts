// The priority rule of the contract: the number in the metadata field named by a collection's priority_key, clamped to
// [-1, 1], scales the final score of a hit. Pure; used where documents are prepared and where hits are ranked.

/** The priority in a document's metadata; 0 when the field is absent or neither a number nor a numeric string. */
export function priorityOf(metadata: Record<string, unknown>, priorityKey: string): number {
  const raw = Object.hasOwn(metadata, priorityKey) ? metadata[priorityKey] : undefined;
  const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  if (typeof value !== 'number' || Number.isNaN(value)) return 0;
  return Math.min(1, Math.max(-1, value));
}

/** `score + |score| * priority`: a positive priority always lifts, a negative one always lowers. */
export function withPriority(score: number, priority: number): number {
  return priority === 0 ? score : score + Math.abs(score) * priority;
}
