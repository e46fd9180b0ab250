// Server-sent events of a collection (HTML standard, "Server-sent events"). A stream ends when the client disconnects
// or falls behind, or when the collection or the server ends. Runs on the main thread.
import type { EVENT_ROUTES } from '../../api/events.js';
import { type EventReader, followEvents } from '../../service/events/event-hub.js';
import type { Services } from '../../service/services.js';
import { type OwnHandlers, type Request, collectionOf } from '../route.js';

/** Period of comments that keep intermediaries from closing an idle connection. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it reconnects. */
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

/** The id from the header, or from the query parameter for clients that cannot send headers; '' if there is none. */
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
