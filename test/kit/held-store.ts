// Holds the write lock of an LMDB environment from a separate process, so that its owner blocks in its next write.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after } from 'node:test';

const HOLDER = `
  const lmdb = require('node-lmdb');
  const env = new lmdb.Env();
  env.open({ path: process.argv[1], mapSize: 2 ** 39, maxDbs: 8 });
  const txn = env.beginTxn();
  process.stdout.write('held');
  process.stdin.once('data', () => {
    txn.abort();
    env.close();
    process.exit(0);
  });`;

/** Resolves once the lock is held, with the function that releases it. */
export async function holdStore(directory: string): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['-e', HOLDER, directory], {
    cwd: new URL('../../..', import.meta.url),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    const ended = once(child, 'exit');
    child.stdin.write('give it back');
    await ended;
  };
}
