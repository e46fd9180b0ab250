// The use cases by feature, as HTTP gets them: the context of each. Types only.
import type { EventsContext } from './events/event-hub.js';
import type { Context } from './context.js';

export interface Services {
  readonly search: Context;
  readonly queries: Context;
  readonly recall: Context;
  readonly ingest: Context;
  readonly documents: Context;
  readonly collections: Context;
  readonly reindex: Context;
  readonly archive: Context;
  readonly tenants: Context;
  readonly events: EventsContext;
  readonly health: Context;
  readonly metrics: Context;
  readonly embedders: Context['embedders'];
}
