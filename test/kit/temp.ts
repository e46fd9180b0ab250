// Temporary directories for tests, removed when the test file ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export function tempDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'sheaf-test-'));
  after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
