// The overview: the collections of the tenant, live figures of the whole server, and first steps on a new one.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { MetricsAnswer, MetricsSample } from '../api/health.js';
import { SheafError } from '../client/errors.js';
import type { CollectionSummary, MemoryUse } from '../api/collections.js';
import { collectionDetail, metrics } from './api.js';
import { catalog } from './collections/catalog.js';
import { ErrorNote, Term } from './components.tsx';
import { FirstSteps } from './demo/demo.tsx';
import { bytes, count, counted, ms, span } from './format.js';
import { useLoaded } from './hooks.js';
import { apiKey, isSystemDark, theme, there } from './state.js';

// Counters of the server over the last minutes: those that it has kept, and what comes while the page is visible, polled
// every two seconds.

/** `at` is in Unix time by the clock of this page. */
interface Sample extends Readonly<MetricsSample> {
  /** Rate since the previous sample; null for the first. */
  readonly requestsPerS: number | null;
  readonly searchesPerS: number | null;
  readonly chunksPerS: number | null;
}

const PERIOD_MS = 2000;
/** Five minutes. */
const KEPT_S = 300;

interface Samples {
  readonly samples: readonly Sample[];
  readonly latest?: MetricsAnswer;
  readonly error?: unknown;
}

function useSamples(): Samples {
  const [state, setState] = useState<Samples>({ samples: [] });
  useEffect(() => {
    const controller = new AbortController();
    let isFirst = true;
    const ask = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const latest = await metrics(isFirst, controller.signal);
        isFirst = false;
        setState(({ samples }) => ({ latest, samples: withMore(samples, latest) }));
      } catch (error) {
        if (controller.signal.aborted) return;
        setState(({ samples }) => ({ samples, error }));
        // Stops polling on a client error, so that a user without permission is not asked for a key every two seconds.
        if (error instanceof SheafError && error.status < 500) clearInterval(timer);
      }
    };
    const timer = setInterval(() => void ask(), PERIOD_MS);
    void ask();
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [apiKey.value]);
  return state;
}

/** The samples of the latest minutes, with the one that an answer adds, or those of its history, which has them all. */
function withMore(samples: readonly Sample[], { history, ...present }: MetricsAnswer): Sample[] {
  const nowS = Date.now() / 1000;
  if (!history) return latestOf([...samples, sampleOf({ ...present, at: nowS }, samples.at(-1))], nowS);
  // The last one is of now.
  const aheadS = nowS - (history.at(-1)?.at ?? nowS);
  const all: Sample[] = [];
  for (const past of history) all.push(sampleOf({ ...past, at: past.at + aheadS }, all.at(-1)));
  return latestOf(all, nowS);
}

const latestOf = (samples: readonly Sample[], nowS: number): Sample[] => samples.filter(({ at }) => at > nowS - KEPT_S);

/** Rates since the previous sample. Counters may have been reset meanwhile, so a rate is at least 0. */
function sampleOf(sample: MetricsSample, before: Sample | undefined): Sample {
  const rate = (name: 'requests_total' | 'search_total' | 'chunks_indexed_total'): number | null =>
    before === undefined ? null : Math.max(0, sample[name] - before[name]) / (sample.at - before.at);
  return {
    ...sample,
    requestsPerS: rate('requests_total'),
    searchesPerS: rate('search_total'),
    chunksPerS: rate('chunks_indexed_total'),
  };
}

// A line chart over time by uPlot, in the colours of the page. The latest values are also text beside the title, for
// screen readers.

interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

interface Props {
  readonly title: string;
  readonly unit: string;
  /** Unix time in seconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const HEIGHT_PX = 220;
const COLOURS = ['--line-1', '--line-2', '--line-3'];

function Chart({ title, unit, times, lines }: Props) {
  const place = usePlot(unit, times, lines);
  return (
    <figure class="card">
      <figcaption>
        <strong>{title}</strong>
        {lines.map(({ name, values }, i) => (
          <span class={`key line-${i + 1}`}>
            {name} {shown(values.at(-1))}
          </span>
        ))}
      </figcaption>
      <div ref={place} />
    </figure>
  );
}

/** The element of the chart. Redraws for new values, another theme and another size. */
function usePlot(unit: string, times: readonly number[], lines: readonly Line[]): RefObject<HTMLDivElement> {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const made = new uPlot(optionsOf(element, unit, lines), [[]], element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [theme.value, isSystemDark.value]);
  useEffect(
    () => plot.current?.setData([times as number[], ...lines.map(({ values }) => values as number[])]),
    [times, theme.value, isSystemDark.value],
  );
  return place;
}

/** A shorter time of samples leaves room on the left. For no sample or a single one, uPlot would choose years. */
const SPAN_MIN_S = 30;

/** The time range from the first sample to the last. */
function timeRange(firstS: number | undefined, lastS: number | undefined): [number, number] {
  const endS = lastS ?? Date.now() / 1000;
  return [Math.min(firstS ?? endS, endS - SPAN_MIN_S), endS];
}

const shown = (value: number | null | undefined): string =>
  value == null ? '–' : value >= 100 ? value.toFixed(0) : value.toFixed(1);

function optionsOf(element: HTMLElement, unit: string, lines: readonly Line[]): uPlot.Options {
  const axis = {
    stroke: colourOf(element, '--faint'),
    grid: { stroke: colourOf(element, '--rule'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false },
    scales: {
      x: { range: ({ data: [times] }) => timeRange(times[0], times.at(-1)) },
      y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] },
    },
    axes: [
      { ...axis, space: 96, gap: 12, values: (_, ticks) => ticks.map((tick) => CLOCK.format(1000 * tick)) },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => `${tick} ${unit}`) },
    ],
    series: [
      {},
      ...lines.map(({ name }, i) => ({
        label: name,
        stroke: colourOf(element, COLOURS[i] as string),
        width: 2,
        points: { show: false },
      })),
    ],
  };
}

/** The computed colour: the property may have one colour for light and one for dark. */
function colourOf(element: HTMLElement, property: string): string {
  const probe = element.appendChild(document.createElement('i'));
  probe.style.color = `var(${property})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export function Overview({ tenant }: { tenant: string }) {
  const { collections } = catalog.value;
  const { samples, latest, error } = useSamples();
  return (
    <>
      {collections?.length === 0 && <FirstSteps tenant={tenant} />}
      {collections !== undefined && collections.length > 0 && <Collections tenant={tenant} collections={collections} />}
      {error !== undefined ? (
        <Closed error={error} />
      ) : latest ? (
        <Live samples={samples} latest={latest} />
      ) : (
        <p class="faint">Loading …</p>
      )}
    </>
  );
}

/** Collections whose sizes are asked for. */
const SIZED = 20;

const inMemory = ({ vectors, quantized_vectors: quantized, graph, postings }: MemoryUse): number =>
  vectors + quantized + graph + postings;

function Collections({ tenant, collections }: { tenant: string; collections: readonly CollectionSummary[] }) {
  const names = collections.slice(0, SIZED).map(({ name }) => name);
  const { value, error } = useLoaded(`${tenant}/${names.join('/')}`, (signal) =>
    Promise.all(names.map((collection) => collectionDetail({ tenant, collection }, signal))),
  );
  return (
    <section aria-label={`Tenant ${tenant}`}>
      <h2>
        Tenant {tenant}: {counted(collections.length, 'collection')}
      </h2>
      <ErrorNote error={error} />
      <div class="wide-table">
        <table>
          <thead>
            <tr>
              <th scope="col">Collection</th>
              <th scope="col">Documents</th>
              <th scope="col">Chunks</th>
              <th scope="col">Memory</th>
            </tr>
          </thead>
          <tbody>
            {names.map((collection, i) => {
              const detail = value?.[i];
              return (
                <tr>
                  <th scope="row">
                    <a href={there({ tenant, collection, view: 'documents' })}>{collection}</a>
                  </th>
                  <td>{detail && count(detail.doc_count)}</td>
                  <td>{detail && count(detail.chunk_count)}</td>
                  <td>{detail?.memory && bytes(inMemory(detail.memory))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {collections.length > SIZED && (
        <p class="faint">and {counted(collections.length - SIZED, 'collection')} more, on the left</p>
      )}
    </section>
  );
}

/** Shown instead of the counters, which require the admin key if the server has keys. */
function Closed({ error }: { error: unknown }) {
  return (
    <section>
      <h2>The whole server</h2>
      <ErrorNote error={error} />
    </section>
  );
}

function Live({ samples, latest }: { samples: readonly Sample[]; latest: MetricsAnswer }) {
  const times = samples.map(({ at }) => at);
  const of = (pick: (sample: Sample) => number | null): (number | null)[] => samples.map(pick);
  return (
    <section aria-label="The whole server">
      <h2>The whole server, all tenants</h2>
      <p class="faint">
        {counted(latest.hw_cores, 'core')}, {bytes(latest.hw_ram_gb * 1e9)}, up for {span(latest.uptime_seconds)}
      </p>
      <Figures metrics={latest} />
      <div class="charts">
        <Chart
          title="Requests per second"
          unit="/s"
          times={times}
          lines={[
            { name: 'requests', values: of(({ requestsPerS }) => requestsPerS) },
            { name: 'searches', values: of(({ searchesPerS }) => searchesPerS) },
            { name: 'chunks indexed', values: of(({ chunksPerS }) => chunksPerS) },
          ]}
        />
        <Chart
          title="Latency of searches"
          unit="ms"
          times={times}
          lines={[
            { name: 'p50', values: of(({ search_latency_p50_ms: p50 }) => p50 ?? null) },
            { name: 'p95', values: of(({ search_latency_p95_ms: p95 }) => p95 ?? null) },
            { name: 'p99', values: of(({ search_latency_p99_ms: p99 }) => p99 ?? null) },
          ]}
        />
      </div>
    </section>
  );
}

function Figures({ metrics }: { metrics: MetricsAnswer }) {
  const figures: (readonly [string, string])[] = [
    ['collections', count(metrics.collection_count)],
    ['documents', count(metrics.doc_count)],
    ['chunks', count(metrics.chunk_count)],
    ['searches', count(metrics.search_total)],
    ['errors', count(metrics.errors_total)],
    ['p99 of searches', metrics.search_latency_p99_ms === undefined ? '–' : ms(metrics.search_latency_p99_ms)],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <Term name={name}>{value}</Term>
      ))}
    </dl>
  );
}
