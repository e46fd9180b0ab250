// The events of a collection as server-sent events (the format of the HTML standard, "Server-sent events").
// A handler on the front thread; the stream ends when the client goes, falls behind, or the collection or the server
// ends.
import { AppError } from '../../api/errors.js';
import { EVENT_STREAMS_MAX, EVENT_STREAMS_OF_COLLECTION_MAX } from '../../api/limits.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { Context } from '../../service/context.js';
import type { EventReader } from '../../service/events/event-hub.js';
import { type Handler, type Request, collectionOf } from '../route.js';

/** A comment now and then keeps what stands between from taking the connection for dead. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it connects again. */
const RETRY_MS = 2000;

export const getEvents =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const logId = logIdOf(context.catalog.get(tenant, name));
    const { events } = context;
    if (events.readersOf(logId) >= EVENT_STREAMS_OF_COLLECTION_MAX || events.readerCount >= EVENT_STREAMS_MAX) {
      throw new AppError('tenant_rate_limited', 'As many follow the events as may.', { retryAfterS: 10 });
    }
    const reader = events.read(logId, lastEventId(request));
    request.signal.addEventListener('abort', () => reader.close(), { once: true });
    return {
      status: 200,
      contentType: 'text/event-stream',
      headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
      stream: texts(reader),
    };
  };

/** A client that cannot send headers has it as a parameter. What is no id is taken for one that is too old. */
function lastEventId(request: Request): number | undefined {
  const text = request.header('last-event-id') || (request.query.get('last_event_id') ?? '');
  if (text === '') return undefined;
  return /^\d{1,16}$/.test(text) ? Number(text) : 0;
}

async function* texts(reader: EventReader): AsyncGenerator<string> {
  try {
    yield `retry: ${RETRY_MS}\n\n`;
    for (let event = await reader.next(HEARTBEAT_MS); event !== null; event = await reader.next(HEARTBEAT_MS)) {
      yield event ? `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n` : ': \n\n';
    }
  } finally {
    reader.close();
  }
}
