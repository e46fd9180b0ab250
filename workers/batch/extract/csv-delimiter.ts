// Which character parts the cells of a CSV file.
// Pure. Used by csv.ts in the batch worker.

const CANDIDATES = [',', ';', '\t', '|'] as const;
const LINES_MAX = 20;
const HEAD_CHARACTERS = 64 * 1024;

/** The candidate that every one of the first lines has most often, outside of quotes; the comma where none has any. */
export function sniffDelimiter(text: string): string {
  const head = text.slice(0, HEAD_CHARACTERS).replace(/"[^"]*("|$)/g, '');
  const all = head.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '');
  // The last line may be cut off by the bound, unless it is the only one.
  const lines = all.slice(0, Math.max(1, Math.min(LINES_MAX, all.length - 1)));
  const least = (candidate: string): number => Math.min(...lines.map((line) => line.split(candidate).length - 1));
  const counts = CANDIDATES.map((candidate) => ({ candidate, count: lines.length > 0 ? least(candidate) : 0 }));
  const inFirst = CANDIDATES.map((candidate) => ({ candidate, count: (lines[0] ?? '').split(candidate).length - 1 }));
  const best = most(counts);
  return best.count > 0 ? best.candidate : most(inFirst).candidate;
}

/** The first of those with the highest count. */
const most = (counts: { candidate: string; count: number }[]): { candidate: string; count: number } =>
  counts.reduce((best, one) => (one.count > best.count ? one : best));
