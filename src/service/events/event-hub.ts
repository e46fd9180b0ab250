// What happens to collections, for those who follow it: the latest events of each in a ring, so that a reader who was
// cut off goes on where it was, and a bounded queue for each reader, who is let go when it falls behind. Ids grow,
// across restarts too. Collections go by the id of their log, which outlasts a switch. Front thread.
import { AppError } from '../../api/errors.js';
import type { EventType } from '../../api/events.js';
import type { CollectionId, CollectionName, Tenant } from '../../api/ids.js';
import { EVENT_STREAMS_MAX, EVENT_STREAMS_OF_COLLECTION_MAX } from '../../api/limits.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { Catalog } from '../collections/catalog.js';

export interface EventsContext {
  readonly catalog: Pick<Catalog, 'get'>;
  readonly events: EventHub;
}

export interface CollectionEvent {
  id: number;
  type: EventType;
  data: object;
}

/** Of a collection. */
const RING_EVENTS_MAX = 256;
/** Collections whose events are kept: beyond that those go that had none for the longest time. */
const RINGS_MAX = 1024;
/** A reader that is further behind is let go. */
const QUEUE_EVENTS_MAX = 512;
/** As many ids as there can be events in a millisecond: they grow with the clock from start to start. */
const IDS_PER_MS = 1000;

interface Ring {
  events: CollectionEvent[];
  /** Events up to this one may be missing. */
  lostUpTo: number;
}

export class EventHub {
  /** The most recently used last. */
  private readonly rings = new Map<CollectionId, Ring>();
  private readonly readers = new Map<CollectionId, Set<EventReader>>();
  private lastId: number;

  constructor(nowMs: number) {
    this.lastId = nowMs * IDS_PER_MS;
  }

  /** Of one collection. */
  readersOf(collection: CollectionId): number {
    return this.readers.get(collection)?.size ?? 0;
  }

  get readerCount(): number {
    return [...this.readers.values()].reduce((sum, { size }) => sum + size, 0);
  }

  publish(collection: CollectionId, type: EventType, data: object): void {
    const event = { id: ++this.lastId, type, data };
    const ring = this.ringOf(collection);
    ring.events.push(event);
    if (ring.events.length > RING_EVENTS_MAX) ring.lostUpTo = (ring.events.shift() as CollectionEvent).id;
    for (const reader of this.readers.get(collection) ?? []) reader.push(event);
  }

  /**
   * What comes from now on; with `after`, what came behind it first, or a `reset` where some of that is not there any
   * more.
   */
  read(collection: CollectionId, after: number | undefined): EventReader {
    const ring = this.ringOf(collection);
    const reader: EventReader = new EventReader(() => this.leave(collection, reader));
    const isKnown = after !== undefined && after >= ring.lostUpTo && after <= this.lastId;
    if (after !== undefined && !isKnown) reader.push({ id: this.lastId, type: 'reset', data: {} });
    if (isKnown) for (const event of ring.events) if (event.id > after) reader.push(event);
    const readers = this.readers.get(collection) ?? new Set();
    this.readers.set(collection, readers.add(reader));
    return reader;
  }

  /** The collection is no more. */
  end(collection: CollectionId): void {
    for (const reader of this.readers.get(collection) ?? []) reader.close();
    this.rings.delete(collection);
  }

  close(): void {
    for (const collection of [...this.readers.keys()]) this.end(collection);
  }

  private leave(collection: CollectionId, reader: EventReader): void {
    const readers = this.readers.get(collection);
    readers?.delete(reader);
    if (readers?.size === 0) this.readers.delete(collection);
  }

  private ringOf(collection: CollectionId): Ring {
    const ring = this.rings.get(collection) ?? { events: [], lostUpTo: this.lastId };
    this.rings.delete(collection);
    this.rings.set(collection, ring);
    if (this.rings.size > RINGS_MAX) for (const oldest of [...this.rings.keys()].slice(0, 1)) this.rings.delete(oldest);
    return ring;
  }
}

/** One reader's events, to be taken one after the other. Events that were pushed before it closes are still given. */
export class EventReader {
  private readonly queue: CollectionEvent[] = [];
  private isClosed = false;
  private wake: (() => void) | undefined;

  constructor(private readonly left: () => void) {}

  push(event: CollectionEvent): void {
    if (this.queue.length >= QUEUE_EVENTS_MAX) return this.close();
    if (!this.isClosed) this.queue.push(event);
    this.wake?.();
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.left();
    this.wake?.();
  }

  /** The next event; null once it is closed, undefined when there was none for `waitMs`. One call at a time. */
  async next(waitMs: number): Promise<CollectionEvent | null | undefined> {
    if (this.queue.length === 0 && !this.isClosed) await this.wait(waitMs);
    return this.queue.shift() ?? (this.isClosed ? null : undefined);
  }

  private async wait(waitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    clearTimeout(timer);
    this.wake = undefined;
  }
}

/**
 * The events of a collection from now on; behind the event `lastId`, where it is given. What is no id is taken for one
 * that is too old. Throws 404 `collection_not_found`, and 429 `tenant_rate_limited` where as many follow as may.
 */
export function followEvents(
  { catalog, events }: EventsContext,
  tenant: Tenant,
  name: CollectionName,
  lastId: string,
): EventReader {
  const logId = logIdOf(catalog.get(tenant, name));
  if (events.readersOf(logId) >= EVENT_STREAMS_OF_COLLECTION_MAX || events.readerCount >= EVENT_STREAMS_MAX)
    throw new AppError('tenant_rate_limited', 'As many follow the events as may.', { retryAfterS: 10 });
  if (lastId === '') return events.read(logId, undefined);
  return events.read(logId, /^\d{1,16}$/.test(lastId) ? Number(lastId) : 0);
}
