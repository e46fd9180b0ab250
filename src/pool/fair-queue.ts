// What waits for a worker, in one line for each tenant: they are served in turn, by the cost of what they ask, so that
// a tenant with a long line delays itself and nobody else. Pure; used by lane.ts on the front thread.

export interface Waiting<T> {
  readonly item: T;
  /** In units of the lane: requests, chunks, bytes. At least 0. */
  readonly cost: number;
}

interface Line<T> {
  readonly key: string;
  readonly waiting: Waiting<T>[];
  /** What the line may still spend in this round. */
  credit: number;
}

/**
 * Deficit round robin (Shreedhar and Varghese, 1995): a line whose turn comes is served while its credit covers the
 * cost of its head; else it gains one quantum and goes to the end. With equal costs that is one of each in turn. Within
 * a line: first come, first served. A line that is alone needs no credit; one that empties loses what it had.
 */
export class FairQueue<T> {
  private readonly lines = new Map<string, Line<T>>();
  private turns: Line<T>[] = [];
  private count = 0;

  /** `quantum`: the cost that each line may spend before the next one is served. */
  constructor(private readonly quantum: number) {}

  get size(): number {
    return this.count;
  }

  /** How many wait in the line of `key`. */
  waitingOf(key: string): number {
    return this.lines.get(key)?.waiting.length ?? 0;
  }

  push(key: string, item: T, cost: number): void {
    let line = this.lines.get(key);
    if (!line) {
      this.lines.set(key, (line = { key, waiting: [], credit: 0 }));
      this.turns.push(line);
    }
    line.waiting.push({ item, cost });
    this.count++;
  }

  /** Takes out the one whose turn it is; undefined when nothing waits. */
  shift(): Waiting<T> | undefined {
    for (let line = this.turns[0]; line !== undefined; line = this.turns[0]) {
      const head = line.waiting[0] as Waiting<T>;
      if (this.turns.length === 1 || line.credit >= head.cost) return this.serve(line, head);
      line.credit += this.quantum;
      this.turns.push(this.turns.shift() as Line<T>);
    }
    return undefined;
  }

  /**
   * Takes out one that is to be served no more, where it still waits; its line pays nothing for it. False where it did
   * not wait.
   */
  remove(key: string, item: T): boolean {
    const line = this.lines.get(key);
    const at = line?.waiting.findIndex((waiting) => waiting.item === item) ?? -1;
    if (!line || at < 0) return false;
    line.waiting.splice(at, 1);
    this.count--;
    if (line.waiting.length === 0) this.end(line);
    return true;
  }

  /** Takes out everything. */
  drain(): T[] {
    const all = this.turns.flatMap(({ waiting }) => waiting.map(({ item }) => item));
    this.lines.clear();
    this.turns = [];
    this.count = 0;
    return all;
  }

  private serve(line: Line<T>, head: Waiting<T>): Waiting<T> {
    line.waiting.shift();
    line.credit = Math.max(0, line.credit - head.cost);
    this.count--;
    if (line.waiting.length === 0) this.end(line);
    return head;
  }

  private end(line: Line<T>): void {
    this.lines.delete(line.key);
    this.turns.splice(this.turns.indexOf(line), 1);
  }
}
