// The contexts of the use cases, by feature. Types only.
import type { ArchiveContext } from './archive/archive.js';
import type { ScheduledBackups } from './archive/scheduled-backups.js';
import type { ClusterContext } from './cluster/cluster.js';
import type { CollectionsContext } from './collections/collections.js';
import type { DocumentsContext } from './documents/changes.js';
import type { Embedders } from './embedding/embedders.js';
import type { EventsContext } from './events/event-hub.js';
import type { HealthContext } from './health/health.js';
import type { MetricsHistory } from './health/metrics-history.js';
import type { MetricsContext } from './health/metrics-report.js';
import type { IngestContext } from './ingest/document.js';
import type { LoggedSearchContext } from './query-log/logged-search.js';
import type { QueriesContext } from './query-log/queries.js';
import type { RecallContext } from './recall/recall.js';
import type { ReindexContext } from './reindex/jobs.js';
import type { CountsContext } from './search/count.js';
import type { TenantsContext } from './tenants/tenants.js';

export interface Services {
  readonly search: LoggedSearchContext;
  readonly counts: CountsContext;
  readonly queries: QueriesContext;
  readonly recall: RecallContext;
  readonly ingest: IngestContext;
  readonly documents: DocumentsContext;
  readonly collections: CollectionsContext;
  readonly cluster: ClusterContext;
  readonly reindex: ReindexContext;
  readonly archive: ArchiveContext;
  readonly backups: ScheduledBackups;
  readonly tenants: TenantsContext;
  readonly events: EventsContext;
  readonly health: HealthContext;
  readonly metrics: MetricsContext & { readonly history: MetricsHistory };
  readonly embedders: Pick<Embedders, 'inventory' | 'spaceOfModel' | 'embedQuery'>;
}
