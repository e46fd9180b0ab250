// The naive twin of WaitingTexts: the same rule, spelled out over plain lists of tokens.

export interface NaiveJob {
  name: number;
  tokens: number[];
}

/** Names and places of the texts of the next call; takes them out of `jobs`, which it reorders. */
export function naiveTake(
  jobs: NaiveJob[],
  offsets: Map<number, number>,
  inputsMax: number,
  tokensMax: number,
): string[] {
  const taken: string[] = [];
  let tokens = 0;
  for (;;) {
    const job = jobs[0];
    if (!job) return taken;
    let ofJob = 0;
    while (
      job.tokens.length > 0 &&
      ofJob < 32 &&
      taken.length < inputsMax &&
      (taken.length === 0 || tokens + (job.tokens[0] as number) <= tokensMax)
    ) {
      const place = offsets.get(job.name) ?? 0;
      offsets.set(job.name, place + 1);
      tokens += job.tokens.shift() as number;
      taken.push(`${job.name}:${place}`);
      ofJob++;
    }
    if (ofJob === 0) return taken;
    jobs.shift();
    if (job.tokens.length > 0) jobs.push(job);
  }
}
