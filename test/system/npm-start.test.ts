// `npm start` as a supervisor runs it: a signal that ends npm also ends the server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { tempDirectory } from '../kit/temp.js';
import { until } from '../kit/until.js';

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} to npm alone stops the server`, async () => {
    const env = { ...process.env, SHEAF_SERVER__PORT: '0', SHEAF_DATA_DIR: tempDirectory() };
    const npm = spawn('npm', ['start'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    after(() => npm.kill('SIGKILL'));
    const ended = once(npm, 'exit');
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (bytes) => (output += String(bytes)));
    const urlIn = (text: string): string | undefined => /ready at (http:\S+)/.exec(text)?.[1];
    await until(
      () => urlIn(output) !== undefined,
      () => `the server is not ready:\n${output}`,
    );
    const url = urlIn(output) as string;
    assert.equal((await fetch(`${url}/health/live`)).status, 200);
    // Only npm's process gets the signal, as from a supervisor that knows only the process that it started.
    npm.kill(signal);
    await ended;
    await assert.rejects(fetch(`${url}/health/live`), 'the server outlives npm');
  });
}
