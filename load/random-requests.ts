// Random requests from the server's own OpenAPI document, valid, nearly valid and hostile, on every operation; exit
// code 1 on a 500, a hang, an answer that its schema refuses, or a server that does not agree with itself afterwards.
// node dist/load/random-requests.js [--requests 100000] [--seed S] [--connections 8] [--tiny] [--url URL]
import { fire } from './fuzz/run.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { withServer } from './kit/server.js';

const { tiny, url: given, number } = readArguments('requests', 'seed', 'connections');
const requests = number('requests', tiny ? 500 : 100_000);
const seed = number('seed', 1);
const connections = number('connections', 8);

await withServer(given, async (url) => {
  const startedAtMs = performance.now();
  const { failures, byStatus, operations } = await fire({ url, seed, requests, connections });
  const took = performance.now() - startedAtMs;
  printTable(`Random requests, seed ${seed}, ${operations} operations, ${connections} connections, ${seconds(took)}`, [
    ['status', 'answers'],
    ...[...byStatus].sort(([a], [b]) => a - b).map(([status, count]) => [String(status), whole(count)]),
    ['failures', whole(failures.length)],
  ]);
  for (const failure of failures) console.log(`\nfailure: ${failure}`);
  process.exitCode = failures.length > 0 ? 1 : 0;
});
