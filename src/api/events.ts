// Events of a collection: their types and the route that streams them.
import { COLLECTION, type Schema, ownRoute, routes } from './route.js';

export type EventType = 'job' | 'ingest' | 'delete' | 'collection' | 'reset';

/** The schema of one server-sent event as the HTML standard defines it; `data` is JSON in a string. */
const event = (type: EventType, contentSchema: Schema): Schema => ({
  type: 'object',
  required: ['id', 'event', 'data'],
  properties: {
    id: { type: 'string', pattern: '^\\d+$' },
    event: { const: type },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema },
  },
});

const COUNT: Schema = { type: 'integer', minimum: 0 };

/** OpenAPI 3.1 cannot describe a sequence of events, so this is the schema of each event. */
const EVENT: Schema = {
  description: 'One event of the stream.',
  oneOf: [
    event('job', {
      type: 'object',
      required: ['job_id', 'tenant', 'collection', 'status', 'total_chunks', 'completed_chunks'],
    }),
    event('ingest', {
      type: 'object',
      required: ['documents', 'chunks', 'docids'],
      properties: { documents: COUNT, chunks: COUNT, docids: { type: 'array', items: { type: 'string' } } },
    }),
    event('delete', {
      type: 'object',
      required: ['documents', 'chunks', 'docids'],
      properties: {
        documents: COUNT,
        chunks: COUNT,
        docids: { type: 'array', items: { type: 'string' }, description: 'The first hundred.' },
        docid: { type: 'string', description: 'Present if the event is about one document.' },
      },
    }),
    event('collection', {
      type: 'object',
      required: ['change', 'tenant', 'collection'],
      properties: { change: { enum: ['settings', 'switched', 'deleted'] } },
    }),
    event('reset', { type: 'object' }),
  ],
};

export const EVENT_ROUTES = routes({
  collectionEvents: ownRoute({
    method: 'GET',
    path: `${COLLECTION}/events`,
    access: 'tenant',
    scope: 'search',
    tag: 'Collections',
    summary: 'Stream the events of a collection',
    description:
      'Server-sent events `job` (the record of a reindex job), `ingest`, `delete` and `collection`. Event ids increase. `Last-Event-ID` continues after an event; if later events are no longer kept, an event `reset` comes first. A client that falls behind is disconnected.',
    query: [
      { name: 'last_event_id', description: 'Alternative to the header `Last-Event-ID`.', schema: { type: 'string' } },
    ],
    answer: {
      'text/event-stream': {
        schema: EVENT,
        examples: {
          ingest: { id: '1767606131902001', event: 'ingest', data: '{"documents":1,"chunks":4,"docids":["nemo"]}' },
        },
      },
    },
    codes: ['collection_not_found'],
  }),
});
