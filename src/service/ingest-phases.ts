// Tells the metrics how long the phases of a batch take, each part of the batch by itself: parts overlap in time.
// Used by the use cases of batches, on the front thread.
import { timed } from '../base/timed.js';
import type { IngestTiming } from '../contract/resources.js';
import type { Context } from './context.js';

export async function inPhase<T>(
  { metrics }: Pick<Context, 'metrics'>,
  phase: keyof IngestTiming,
  work: () => Promise<T>,
): Promise<T> {
  const timing: IngestTiming = {};
  try {
    return await timed(timing, phase, work);
  } finally {
    metrics.ingestedInPhases(timing);
  }
}
