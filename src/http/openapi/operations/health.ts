// Entries of the health operations.
// Read by ../operations.ts. Constants.
import { SERVICE_VERSION } from '../../../contract/version.js';
import { jsonAnswer, type Operation } from '../operation.js';

const version = SERVICE_VERSION;

export const HEALTH_OPERATIONS = {
  health: {
    tag: 'Health',
    summary: 'Whether the server is ready or degraded, and its version',
    answer: jsonAnswer('Health', { status: 'ready', version }),
  },
  liveness: {
    tag: 'Health',
    summary: 'That the process runs',
    answer: jsonAnswer('Liveness', { status: 'live', version }),
  },
  readiness: {
    tag: 'Health',
    summary: 'That storage, embeddings and shards are usable',
    description: 'Until they are: 503 `not_ready`, with the checks in `details.checks`.',
    answer: jsonAnswer('Readiness', { version, checks: { storage: 'ok', embeddings: 'ok', shards: 'ok' } }),
    codes: ['not_ready'],
  },
} satisfies Record<string, Operation>;
