// The events of a collection: what is sent of it, and the route that follows them.
import { COLLECTION, type Schema, ownRoute, routes } from './route.js';

export type EventType = 'job' | 'ingest' | 'delete' | 'collection' | 'reset';

/** One event, as the format of the HTML standard has it: `data` is JSON in a string. */
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

/** Events come one after the other; OpenAPI 3.1 has no words for that, so the schema is that of each. */
const EVENT: Schema = {
  description: 'Each event of the stream.',
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
      required: ['docid', 'chunks'],
      properties: { docid: { type: 'string' }, chunks: COUNT },
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
    summary: 'Follow what happens to a collection',
    description:
      'Server-sent events `job` (the record of a reindex job), `ingest`, `delete` and `collection`. Ids grow; `Last-Event-ID` goes on behind one, with an event `reset` first where some events behind it are not kept any more. A reader that falls behind is cut off.',
    query: [
      { name: 'last_event_id', description: 'In place of the header `Last-Event-ID`.', schema: { type: 'string' } },
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
