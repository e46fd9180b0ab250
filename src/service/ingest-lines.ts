// Use case: ingest NDJSON of any length. A reader takes bytes off the socket while there is room for them; slices of
// lines are worked on, a few at a time; their outcomes leave in order. Whoever is slow holds the others up: a client
// that does not read its results, a socket without bytes, a shard. Called by the batch endpoint; front thread.
import { Signal } from '../base/signal.js';
import type { CollectionName, Tenant } from '../contract/ids.js';
import { abandoned } from '../contract/errors.js';
import type { Context } from './context.js';
import { BatchIngest } from './ingest-batch.js';
import type { ItemOutcome } from './item-outcomes.js';
import { LineSlicer } from './line-slicer.js';

const SLICES_UNDERWAY_MAX = 4;
/** Bytes of slices worked on at a time, unless one alone has more. */
const UNDERWAY_BYTES_MAX = 1024 * 1024;
/** So much is looked through for lines before other requests have their turn. */
const TURN_BYTES_MAX = 256 * 1024;

interface Underway {
  bytes: number;
  outcomes?: ItemOutcome[];
}

type Slice = NonNullable<ReturnType<LineSlicer['take']>>;

/**
 * Throws AppError where ingest cannot begin. The outcomes of the items come in order; a body that breaks off throws on
 * the way. `signal`: as in BatchIngest.
 */
export function ingestLines(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  body: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<ItemOutcome[]> {
  // Not ready is an answer of its own, before the first line.
  context.catalog.find(tenant, name);
  const lines = new LineIngest(new BatchIngest(context, tenant, name, signal), context.batchLimits.lineBytesMax);
  signal?.addEventListener('abort', () => lines.stop(), { once: true });
  return lines.run(body);
}

class LineIngest {
  private readonly slicer: LineSlicer;
  private readonly changed = new Signal();
  private readonly underway: Underway[] = [];
  private reading: 'open' | 'ended' | 'stopped' = 'open';
  private failure: { error: unknown } | undefined;

  constructor(
    private readonly ingest: BatchIngest,
    lineBytesMax: number,
  ) {
    this.slicer = new LineSlicer(lineBytesMax);
  }

  async *run(body: AsyncIterable<Uint8Array>): AsyncGenerator<ItemOutcome[]> {
    void this.read(body);
    try {
      for (;;) {
        this.startSlices();
        const first = this.underway[0];
        if (this.failure) throw this.failure.error;
        if (first?.outcomes) {
          this.underway.shift();
          yield first.outcomes;
        } else if (this.reading === 'ended' && !first) return;
        else if (this.reading === 'stopped') throw abandoned();
        else await this.changed.next();
      }
    } finally {
      this.stop();
    }
  }

  /** Nobody waits any more, whatever the reader and the slices wait for. */
  stop(): void {
    this.reading = 'stopped';
    this.changed.send();
  }

  /** Never rejects: what goes wrong ends `run`. */
  private async read(body: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      let turnBytes = 0;
      for await (const chunk of body) {
        this.slicer.add(chunk);
        if ((turnBytes += chunk.length) > TURN_BYTES_MAX) {
          turnBytes = 0;
          await new Promise(setImmediate);
        }
        this.changed.send();
        while (this.slicer.isFull && this.reading === 'open') await this.changed.next();
        if (this.reading === 'stopped') return;
      }
      if (this.reading === 'stopped') return;
      this.slicer.end();
      this.reading = 'ended';
    } catch (error) {
      this.failure = { error };
    }
    this.changed.send();
  }

  private startSlices(): void {
    while (
      this.underway.length < SLICES_UNDERWAY_MAX &&
      this.underway.reduce((sum, { bytes }) => sum + bytes, 0) < UNDERWAY_BYTES_MAX
    ) {
      const slice = this.slicer.take();
      if (!slice) return;
      const entry: Underway = { bytes: bytesOf(slice) };
      this.underway.push(entry);
      void this.outcomesOf(slice).then((outcomes) => {
        entry.outcomes = outcomes;
        this.changed.send();
      });
      // There is room for more to read.
      this.changed.send();
    }
  }

  private async outcomesOf(slice: Slice): Promise<ItemOutcome[]> {
    if ('refusal' in slice) return [{ ok: false, code: slice.refusal.code, error: slice.refusal.message }];
    return this.ingest.ingest(slice.lines, 'joined' in slice ? slice.joined() : slice);
  }
}

function bytesOf(slice: Slice): number {
  if ('refusal' in slice) return 0;
  return 'joined' in slice ? slice.bytesLength : slice.bytes.length;
}
