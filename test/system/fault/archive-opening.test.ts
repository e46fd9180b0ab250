// An archive process opens the stores of a server that continues to write. When LMDB 0.9.70 (in node-lmdb 0.10.1) opens
// an environment, it resets the number of the last commit to what it was when the opening began (ITS#9496). The
// server's next commit would then be based on the one before: an acknowledged write would be lost.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { download } from '../../kit/archives.js';
import { ask, docids, DOCS, killed, put } from '../../kit/faulty-server.js';
import { startServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';

/**
 * A preloaded library: a process that maps an LMDB file read-only has read the last commit; it then creates a marker
 * file and waits for a while.
 */
const SLOW_MAP = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void *slowly(const char *name, void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
  void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, name);
  if (fd >= 0 && bytes >= 1ul << 38 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    close(open(getenv("SLOW_MAP_MARK"), O_CREAT | O_WRONLY, 0600));
    usleep(600000);
  }
  return real(at, bytes, prot, flags, fd, offset);
}
void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) { return slowly("mmap", at, bytes, prot, flags, fd, offset); }
void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) { return slowly("mmap64", at, bytes, prot, flags, fd, offset); }
`;

const folder = tempDirectory();
const library = join(folder, 'slow-map.so');
writeFileSync(join(folder, 'slow-map.c'), SLOW_MAP);
const { status, error } = spawnSync('cc', [
  '-shared',
  '-fPIC',
  '-O2',
  join(folder, 'slow-map.c'),
  '-o',
  library,
  '-ldl',
]);
const skip = process.platform !== 'linux' || error !== undefined ? 'there is no C compiler' : false;

test('what is acknowledged while an archive process opens a store is there afterwards', { skip }, async () => {
  assert.equal(status, 0, 'the library compiles');
  const mark = join(folder, 'mark');
  const server = await startServe({
    SHEAF_DATA_DIR: join(folder, 'data'),
    SHEAF_STORAGE__PARTITIONS: '1',
    LD_PRELOAD: library,
    SLOW_MAP_MARK: mark,
  });
  assert.equal((await ask(server, 'POST', '/v1/collections/acme/other')).status, 201);
  assert.equal((await put(server, 'A')).status, 201);
  const archive = download(server, '/v1/collections/acme/other/archive');
  while (!existsSync(mark)) await sleep(5);
  assert.equal((await put(server, 'B')).status, 201, 'a write of another collection');
  assert.equal((await archive).status, 200);
  assert.deepEqual(await docids(server), ['A', 'B']);
  const { json } = await ask(server, 'POST', `${DOCS}/documents`, { docid: 'C', text: 'the next commit' });
  assert.equal(json.ok, true);
  assert.deepEqual(await docids(server), ['A', 'B', 'C']);
  await killed(server);
});
