// Batch ingest: many documents in one request.
// A part of the route table (routes.ts).
import type { Context } from '../../service/context.js';
import { postBatch } from '../endpoints/batch.js';
import type { Route } from '../route.js';
import { post } from './kit.js';

const BATCH = '/v1/collections/{tenant}/{collection}/documents:batch';

export function batchRoutes(context: Context): Route[] {
  return [
    {
      ...post('ingestBatch', BATCH, [201, 400, 401, 403, 413, 422, 429, 500, 503], postBatch(context)),
      body: 'lines',
      scope: 'ingest',
    },
  ];
}
