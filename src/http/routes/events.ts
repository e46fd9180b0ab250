// The events of a collection as server-sent events (the format of the HTML standard, "Server-sent events"). A stream
// ends when the client goes, falls behind, or the collection or the server ends.
import type { EVENT_ROUTES } from '../../api/events.js';
import { type EventReader, followEvents } from '../../service/events/event-hub.js';
import type { Services } from '../../service/services.js';
import { type OwnHandlers, type Request, collectionOf } from '../route.js';

/** A comment now and then keeps what stands between from taking the connection for dead. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it connects again. */
const RETRY_MS = 2000;

export const eventHandlers = (context: Services['events']): OwnHandlers<typeof EVENT_ROUTES> => ({
  collectionEvents: async (request) => {
    const [tenant, name] = collectionOf(request);
    const reader = followEvents(context, tenant, name, lastEventId(request));
    request.signal.addEventListener('abort', () => reader.close(), { once: true });
    return {
      status: 200,
      contentType: 'text/event-stream',
      headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
      stream: texts(reader),
    };
  },
});

/** A client that cannot send headers has it as a parameter; '' where it has none. */
const lastEventId = (request: Request): string =>
  request.header('last-event-id') || (request.query.get('last_event_id') ?? '');

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
