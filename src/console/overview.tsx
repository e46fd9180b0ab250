// The first view: what the server is doing, live, and on a new one what to do first.
// A view without a collection.
import { catalog } from '../collections/catalog.js';
import { FirstSteps } from '../demo/first-steps.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Term } from '../parts/term.tsx';
import { bytes, count, ms, span } from '../parts/words.js';
import { Chart } from './chart.tsx';
import { useSamples, type Sample } from './samples.js';

export function Overview({ tenant }: { tenant: string }) {
  const { collections } = catalog.value;
  const { samples, error } = useSamples();
  const last = samples.at(-1);
  return (
    <>
      <header class="place">
        <h1>Overview</h1>
      </header>
      {collections?.length === 0 && <FirstSteps tenant={tenant} />}
      {error !== undefined ? (
        <Closed error={error} />
      ) : last ? (
        <Live samples={samples} last={last} />
      ) : (
        <p class="faint">Loading …</p>
      )}
    </>
  );
}

/** The counters are the admin's where there are keys. */
function Closed({ error }: { error: unknown }) {
  return (
    <section>
      <h2>Live figures</h2>
      <ErrorNote error={error} />
    </section>
  );
}

function Live({ samples, last: { metrics } }: { samples: readonly Sample[]; last: Sample }) {
  const times = samples.map(({ atS }) => atS);
  const of = (pick: (sample: Sample) => number | null): (number | null)[] => samples.map(pick);
  return (
    <>
      <Figures metrics={metrics} />
      <div class="charts">
        <Chart
          title="Requests a second"
          unit="/s"
          times={times}
          lines={[
            { name: 'requests', values: of(({ requestsPerS }) => requestsPerS) },
            { name: 'searches', values: of(({ searchesPerS }) => searchesPerS) },
            { name: 'chunks in', values: of(({ chunksPerS }) => chunksPerS) },
          ]}
        />
        <Chart
          title="Latency of searches"
          unit="ms"
          times={times}
          lines={[
            { name: 'p50', values: of(({ metrics: m }) => m.search_latency_p50_ms ?? null) },
            { name: 'p95', values: of(({ metrics: m }) => m.search_latency_p95_ms ?? null) },
            { name: 'p99', values: of(({ metrics: m }) => m.search_latency_p99_ms ?? null) },
          ]}
        />
      </div>
    </>
  );
}

function Figures({ metrics }: { metrics: Sample['metrics'] }) {
  const figures: (readonly [string, string])[] = [
    ['collections', count(metrics.collection_count)],
    ['documents', count(metrics.doc_count)],
    ['chunks', count(metrics.chunk_count)],
    ['searches', count(metrics.search_total)],
    ['errors', count(metrics.errors_total)],
    ['p99 of searches', metrics.search_latency_p99_ms === undefined ? '–' : ms(metrics.search_latency_p99_ms)],
    ['up for', span(metrics.uptime_seconds)],
    ['machine', `${metrics.hw_cores} cores, ${bytes(metrics.hw_ram_gb * 1e9)}`],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <Term name={name} isWide={name === 'machine'}>
          {value}
        </Term>
      ))}
    </dl>
  );
}
