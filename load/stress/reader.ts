// The reading side of the stress test: a thread that searches whatever the owner holds, in all ways there are, and
// checks every answer against the log. It runs until it is told to stop, or is killed, and reports what cannot be.
import { parentPort, workerData } from 'node:worker_threads';
import { createPrng } from '../../../src/base/prng.js';
import { ArenaFull, Kernel } from '../../../workers/shard/kernel.js';
import type { PartView } from '../../../workers/shard/part-view.js';
import { Checks, type Search } from './checks.js';
import { Contents } from './contents.js';
import type { OwnerStart } from './owner.js';
import { searchPriorities, searchVectors, searchWords, type Asked } from './questions.js';
import { CLOCK, INCARNATION, PLACES, QUIET, SEARCHES, STOP_READERS, World } from './world.js';

const { module, memory, shared, seed } = workerData as OwnerStart;
const world = new World(shared);
const contents = new Contents();
const kernel = new Kernel(module, memory);
const prng = createPrng(seed);
const pause = new Int32Array(new SharedArrayBuffer(4));
/** In one epoch. */
const QUESTIONS = 8;
kernel.joinReaders();
parentPort?.postMessage({ joined: true });

/** One search; the check that comes after it, for when its moments are known. */
function ask(view: PartView, settled: number): Asked {
  const kind = prng.int(10);
  if (kind < 4) return searchVectors(view, prng, contents);
  if (kind < 5) return searchPriorities(view, contents);
  return searchWords(view, settled, prng, contents);
}

/** undefined where memory has no room for what the question takes. */
function askIfRoom(view: PartView): Asked | undefined {
  try {
    return ask(view, kernel.settledStamp());
  } catch (error) {
    if (error instanceof ArenaFull) return undefined;
    throw error;
  }
}

interface Answered {
  search: Search;
  asked: Asked;
}

/** Asks some questions of a part, now and then after a pause in which much happens. */
function searchSome(): { answered: Answered[]; incarnation: number } {
  const place = prng.int(PLACES);
  const collection = world.idAt(place);
  const answered: Answered[] = [];
  const incarnation = kernel.read((incarnation) => {
    const quiet = world.get(QUIET);
    const before = world.get(CLOCK);
    // It goes on showing a collection that is dropped meanwhile, hence all moments are from here on.
    const view = kernel.view(collection);
    if (view && prng.int(4) === 0) Atomics.wait(pause, 0, 0, 4 * prng.next());
    for (let i = 0; view && i < QUESTIONS; i++) {
      const asked = askIfRoom(view);
      if (!asked) break;
      // In this order: a time that was quiet until then has not gone on.
      const after = world.get(CLOCK);
      const isQuiet = quiet !== 0 && world.get(QUIET) === quiet;
      answered.push({ search: { place, collection, before, after, isQuiet, what: asked.what }, asked });
    }
    return incarnation;
  });
  return { answered, incarnation: incarnation ?? 0 };
}

/** What cannot be in the answers. One of them is looked at thoroughly. */
function check(answered: readonly Answered[]): string[] {
  const thorough = prng.int(QUESTIONS);
  return answered.flatMap(({ asked, search }, i) => {
    const checks = new Checks(world, contents, i === thorough);
    asked.check(checks, search);
    return checks.faults;
  });
}

while (world.get(STOP_READERS) === 0) {
  const { answered, incarnation } = searchSome();
  const faults = check(answered);
  Atomics.add(shared.control, SEARCHES, answered.length);
  // The log may have been begun anew meanwhile.
  if (faults.length > 0 && world.get(INCARNATION) === incarnation)
    parentPort?.postMessage({ faults: faults.slice(0, 3) });
}
