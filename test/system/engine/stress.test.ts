// Readers beside a writer, a few seconds of what `node dist/load/main.js soak stress` does for longer: no impossible
// answer, and no reader or owner that fails, whichever of them are killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runStress } from '../../../load/stress/run.js';

for (const seed of [1, 2]) {
  test(`readers beside a writer that is killed and taken over, seed ${seed}`, async () => {
    const { faults, searches, puts } = await runStress({ seed, readers: 2, forMs: 3000, roundMs: 800 });
    assert.deepEqual(faults, []);
    assert(searches > 0 && puts > 0, `${searches} searches, ${puts} puts`);
  });
}
