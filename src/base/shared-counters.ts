// Whole numbers in shared memory that every thread may add to, and that outlast the thread which added: the front thread
// reads what workers count without asking them, however busy they are. Each cell is changed atomically; several together
// are not.

export class SharedCells {
  private readonly cells: BigInt64Array;

  constructor(readonly memory: SharedArrayBuffer) {
    this.cells = new BigInt64Array(memory);
  }

  /** `count` cells, all 0. */
  static create(count: number): SharedCells {
    return new SharedCells(new SharedArrayBuffer(count * BigInt64Array.BYTES_PER_ELEMENT));
  }

  add(cell: number, amount: number): void {
    Atomics.add(this.cells, cell, BigInt(Math.round(amount)));
  }

  set(cell: number, value: number): void {
    Atomics.store(this.cells, cell, BigInt(Math.round(value)));
  }

  get(cell: number): number {
    return Number(Atomics.load(this.cells, cell));
  }
}
