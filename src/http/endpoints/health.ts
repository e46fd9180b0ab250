// GET /health, /health/live, /health/ready.
// Handlers on the front thread, open to everybody. The route table (routes.ts) names them.
import { SERVICE_VERSION } from '../../contract/version.js';
import type { Context } from '../../service/context.js';
import { health, readiness } from '../../service/health.js';
import type { Handler } from '../route.js';

const version = SERVICE_VERSION;

export const getHealth =
  (context: Context): Handler =>
  async () => ({ status: 200, json: { status: health(context), version } });

export const getLive: Handler = async () => ({ status: 200, json: { status: 'live', version } });

export const getReady =
  (context: Context): Handler =>
  async () => ({ status: 200, json: { version, checks: readiness(context) } });
