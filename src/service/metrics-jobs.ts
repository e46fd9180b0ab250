// The reindex jobs by their state, and how those ended that have.
// Part of the metrics (metrics-report.ts); front thread.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReindexJobs } from './reindex/jobs.js';
import { LIVE } from './reindex/states.js';

export function lookUpJobs(registry: Registry, jobs: ReindexJobs): void {
  const common = { labelNames: ['status'] as const, registers: [registry] };
  new Gauge({
    ...common,
    name: 'sheaf_jobs',
    help: 'Reindex jobs that have not ended.',
    collect() {
      this.reset();
      for (const status of LIVE) this.set({ status }, 0);
      for (const { status } of jobs.live()) this.inc({ status });
    },
  });
  new Counter({
    ...common,
    name: 'sheaf_jobs_ended_total',
    help: 'Reindex jobs that have ended since the server started.',
    collect() {
      this.reset();
      for (const [status, count] of jobs.ended) this.inc({ status }, count);
    },
  });
}
