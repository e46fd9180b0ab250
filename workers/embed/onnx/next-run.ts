// Which of the texts that wait are run next: as many as go together without much padding. Pure.
// Called by batcher.ts; embed workers.

/**
 * Tokens of a run, padding included; a longer text runs alone. Larger ones gain nothing (load/embed-model) and hold
 * others up.
 */
export const RUN_TOKENS_MAX = 512;
/**
 * What a run costs beside its tokens, in tokens: a run of 8 tokens takes as long as 20 to 25 would without that
 * (load/embed-model). So a text had better wait for a run of its own kind where joining would bring more padding than
 * this.
 */
const PADDING_TOKENS_MAX = 16;

/**
 * The places of the texts to run, by their lengths in tokens. The one at `first` is among them, whatever the others
 * are, so that none waits for ever; those nearest to its length join it, up to `tokensMax` with padding.
 */
export function nextRun(lengths: readonly number[], first: number, tokensMax: number): number[] {
  const wanted = lengths[first] as number;
  const others = lengths.map((_, place) => place).filter((place) => place !== first);
  const distanceOf = (place: number): number => Math.abs((lengths[place] as number) - wanted);
  const run = [first];
  let width = wanted;
  for (const place of others.sort((a, b) => distanceOf(a) - distanceOf(b))) {
    const length = lengths[place] as number;
    const padding = length > width ? (length - width) * run.length : width - length;
    if (padding > PADDING_TOKENS_MAX || Math.max(width, length) * (run.length + 1) > tokensMax) continue;
    width = Math.max(width, length);
    run.push(place);
  }
  return run;
}
