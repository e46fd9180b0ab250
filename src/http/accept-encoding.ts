// Which coding of a reply its reader likes best, of those that we have (RFC 9110, 12.5.3). Called by compression.ts on
// the front thread; pure.

export type Coding = 'br' | 'gzip';

/** In our order: brotli makes less of the same text in the same time. */
const CODINGS: readonly Coding[] = ['br', 'gzip'];

/**
 * The coding with the highest q-value in an Accept-Encoding header; undefined for none of ours, or where plain bytes
 * are liked better.
 */
export function codingFor(acceptEncoding: string): Coding | undefined {
  if (acceptEncoding === '') return undefined;
  const weights = weightsOf(acceptEncoding);
  const weightOf = (coding: string): number | undefined => weights.get(coding) ?? weights.get('*');
  let best: Coding | undefined;
  let bestWeight = weights.get('identity') ?? 0;
  for (const coding of CODINGS) {
    const weight = (coding === 'gzip' ? weights.get('x-gzip') : undefined) ?? weightOf(coding) ?? 0;
    if (weight > bestWeight || (best === undefined && weight > 0 && weight === bestWeight))
      [best, bestWeight] = [coding, weight];
  }
  return best;
}

/** `gzip;q=0.5, br` by name. What is no number between 0 and 1 counts as 0. */
function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((word) => word.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const weight = q === undefined ? 1 : /^[01](\.\d{0,3})?$/.test(q) ? Math.min(Number(q), 1) : 0;
    if (name !== '') weights.set(name, weight);
  }
  return weights;
}
