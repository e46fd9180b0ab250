// What the calls of other machines come to, counted by the thread that makes them (workers/embed/remote) where the
// front thread reads it. A block of cells for each endpoint, in the order in which the worker is given them; the layout
// is nowhere but here.
import { SharedCells } from '../base/shared-cells.js';

const CELLS = ['calls', 'tokens', 'refused', 'rests', 'waiting'] as const;

export type EndpointCounts = Record<(typeof CELLS)[number], number>;

/** Of one endpoint; one thread writes. */
export class EndpointMeter {
  private constructor(
    private readonly cells: SharedCells,
    private readonly place: number,
  ) {}

  static create(endpoints: number): SharedArrayBuffer {
    return SharedCells.create(endpoints * CELLS.length).memory;
  }

  static over(memory: SharedArrayBuffer, place: number): EndpointMeter {
    return new EndpointMeter(new SharedCells(memory), place);
  }

  add(what: Exclude<(typeof CELLS)[number], 'waiting'>, amount: number): void {
    if (amount !== 0) this.cells.add(this.at(what), amount);
  }

  set waiting(count: number) {
    this.cells.set(this.at('waiting'), count);
  }

  read(): EndpointCounts {
    return Object.fromEntries(CELLS.map((what) => [what, this.cells.get(this.at(what))])) as EndpointCounts;
  }

  private at(what: (typeof CELLS)[number]): number {
    return this.place * CELLS.length + CELLS.indexOf(what);
  }
}
