// Runs one workload against a server: fills, waits until the server rests, and measures each part that the workload
// has. Called by run-suite.ts.
import { besidePart } from './beside-part.js';
import { dropAll, fillOne, type Filled } from './fill.js';
import { fillPart } from './fill-part.js';
import { firstPart } from './first-part.js';
import type { Pace } from './fit.js';
import { againOf, limitsPart } from './limits/limits-part.js';
import { loadPart, runLoads, type Say } from './load-part.js';
import { joined, NOTHING, told, type Part } from './parts.js';
import { recallPart } from './recall-part.js';
import type { WorkloadReport } from './report.js';
import { restartPart } from './restart-part.js';
import type { Target } from './target.js';
import { trafficOf } from './traffic.js';
import type { Workload } from './workload.js';

/** Answers undefined where it cannot be run against this server, and says why. */
export async function runWorkload(
  workload: Workload,
  target: Target,
  pace: Pace,
  say: Say,
): Promise<WorkloadReport | undefined> {
  if (workload.restart && !target.isOwn) {
    say('skipped: it restarts its server, and that of --url is not its own');
    return undefined;
  }
  try {
    return await fillAndMeasure(workload, target, pace, say);
  } finally {
    // A server that is not the suite's own is left as it was, whatever has failed.
    await dropAll(target, { ...workload, fill: [...workload.fill, ...againOf(workload)] });
  }
}

async function fillAndMeasure(workload: Workload, target: Target, pace: Pace, say: Say): Promise<WorkloadReport> {
  const filled: Filled[] = [];
  for (const fill of workload.fill) {
    say(`filling ${fill.name}: ${told(fill.documents * (fill.collections ?? 1))} documents`);
    filled.push(await fillOne(target, workload.name, fill));
  }
  say('waiting until the server rests');
  await target.rest(pace.restCheckMs, pace.restWithinMs);
  const parts = [...(await measured(workload, target, filled, pace, say)), fillPart(filled)];
  const { name, title, about } = workload;
  return { name, title, about, ...joined(parts) };
}

async function measured(
  workload: Workload,
  target: Target,
  filled: readonly Filled[],
  pace: Pace,
  say: Say,
): Promise<Part[]> {
  const { traffic = [], open_loop: open, beside = [], recall, restart } = workload;
  const asked = traffic.length > 0 ? trafficOf(traffic, filled, target.headers) : [];
  const first = await firstPart(target, asked);
  const loads = await runLoads(target, workload, asked, say);
  const alone = loads.find(({ isOpen }) => isOpen);
  const parts = [
    loadPart(loads),
    first,
    alone ? await besidePart(target, beside, alone, asked, filled, open!.seconds, say) : NOTHING,
  ];
  if (recall) say(`${recall.queries} searches again, exactly`);
  if (recall) parts.push(await recallPart(target, filled, recall));
  if (restart) parts.push(await restartPart(target, asked, say));
  return [await limitsPart(target, workload, { asked, filled, rate: alone?.rate }, pace, say), ...parts];
}
