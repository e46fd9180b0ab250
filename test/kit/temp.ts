// Temporary directories for tests, removed when the process of the test file exits: until then servers may still write
// into them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

process.once('exit', () => {
  for (const path of made) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});

export function tempDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'sheaf-test-'));
  made.push(path);
  return path;
}
