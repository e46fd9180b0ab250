// What a slot's writer has asked for last and what was answered, for whoever looks into a violation: a ring of lines.
// Held by each slot; filled by change.ts and operations.ts.

const STEPS_MAX = 80;

interface Step {
  atMs: number;
  what: string;
  answer?: string;
  answeredMs?: number;
}

export class Trail {
  private readonly steps: Step[] = [];

  /** The answer is noted by calling what is answered. */
  asked(what: string, atMs = Date.now()): (answer: string, answeredMs?: number) => void {
    const step: Step = { atMs, what };
    this.steps.push(step);
    if (this.steps.length > STEPS_MAX) this.steps.shift();
    return (answer, answeredMs = Date.now()) => void Object.assign(step, { answer, answeredMs });
  }

  /** The oldest first. */
  lines(): string[] {
    return this.steps.map(
      ({ atMs, what, answer = 'not answered', answeredMs }) =>
        `${new Date(atMs).toISOString().slice(11, 23)} ${what}: ${answer}${answeredMs === undefined ? '' : ` after ${answeredMs - atMs} ms`}`,
    );
  }
}
