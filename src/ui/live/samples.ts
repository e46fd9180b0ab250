// The server's counters over the last minutes, asked for every two seconds while somebody looks.
// A hook of the overview.
import { useEffect, useState } from 'preact/hooks';
import { SheafError } from '../../client/errors.js';
import type { MetricsAnswer } from '../../contract/api/health.js';
import { metrics } from '../server/api.js';
import { apiKey } from '../state/session.js';

export interface Sample {
  /** Unix seconds. */
  readonly atS: number;
  readonly metrics: MetricsAnswer;
  /** Since the sample before; null of the first one. */
  readonly requestsPerS: number | null;
  readonly searchesPerS: number | null;
  readonly chunksPerS: number | null;
}

const PERIOD_MS = 2000;
/** Five minutes. */
export const KEPT_S = 300;
const SAMPLES_MAX = (KEPT_S * 1000) / PERIOD_MS;

export function useSamples(): { samples: readonly Sample[]; error?: unknown } {
  const [state, setState] = useState<{ samples: readonly Sample[]; error?: unknown }>({ samples: [] });
  useEffect(() => {
    const controller = new AbortController();
    const ask = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const answer = await metrics(controller.signal);
        setState(({ samples }) => ({ samples: [...samples, sampleOf(answer, samples.at(-1))].slice(-SAMPLES_MAX) }));
      } catch (error) {
        if (controller.signal.aborted) return;
        setState(({ samples }) => ({ samples, error }));
        // Who may not see them is not asked for another key every two seconds.
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

/** Counters may have been set to zero meanwhile: a rate is never below it. */
function sampleOf(answer: MetricsAnswer, before: Sample | undefined): Sample {
  const atS = Date.now() / 1000;
  const rate = (name: 'requests_total' | 'search_total' | 'chunks_indexed_total'): number | null =>
    before === undefined ? null : Math.max(0, answer[name] - before.metrics[name]) / (atS - before.atS);
  return {
    atS,
    metrics: answer,
    requestsPerS: rate('requests_total'),
    searchesPerS: rate('search_total'),
    chunksPerS: rate('chunks_indexed_total'),
  };
}
