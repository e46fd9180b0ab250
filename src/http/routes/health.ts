// The lines of the route table for health, which is open to everybody.
// Called by ../routes.ts.
import type { Context } from '../../service/context.js';
import { getHealth, getLive, getReady } from '../endpoints/health.js';
import type { Route } from '../route.js';
import { open } from './kit.js';

export function healthRoutes(context: Context): Route[] {
  return [
    open('health', '/health', [200], getHealth(context)),
    open('liveness', '/health/live', [200], getLive),
    open('readiness', '/health/ready', [200, 503], getReady(context)),
  ];
}
