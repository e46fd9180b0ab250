// The choice of the HTTP library's build: which package each version of Node gets, and the message for the operator
// where none fits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadUws, UwsError, type Host } from '../../../src/http/uws.js';

const DEBIAN_12: Host = { node: '24.9.0', abi: '137', platform: 'linux', arch: 'x64', glibc: '2.36' };

/** The message that the operator reads when loading fails with this cause. */
async function clientError(host: Partial<Host>, cause: Error): Promise<string> {
  const error: unknown = await loadUws({ ...DEBIAN_12, ...host }, () => Promise.reject(cause)).catch(
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UwsError);
  assert.equal(error.message.includes('\n'), false, error.message);
  return error.message;
}

test('each Node gets the one package that has its binaries', async () => {
  const packages: [abi: string, name: string][] = [
    ['115', 'uWebSockets.js'],
    ['127', 'uWebSockets.js'],
    ['137', '@btc-vision/uwebsockets.js'],
    ['141', '@btc-vision/uwebsockets.js'],
  ];
  for (const [abi, name] of packages) {
    const loaded: string[] = [];
    const library = {};
    const got = await loadUws({ ...DEBIAN_12, abi }, (wanted) => (loaded.push(wanted), Promise.resolve(library)));
    assert.equal(got, library);
    assert.deepEqual(loaded, [name]);
  }
});

test('this Node gets what the server uses', async () => {
  const uws = await loadUws();
  for (const name of ['App', 'SSLApp', 'us_listen_socket_close', 'us_socket_local_port'] as const)
    assert.equal(typeof uws[name], 'function', name);
});

test('a Node that no package has binaries for is told which there are, and nothing is loaded', async () => {
  const load = (name: string): Promise<never> => assert.fail(`loads ${name}`);
  await assert.rejects(loadUws({ ...DEBIAN_12, node: '23.11.0', abi: '131' }, load), {
    name: 'UwsError',
    message:
      'this is Node 23.11.0, but Sheaf runs on Node 20 (from 20.16), 22 (from 22.3) and 24: install one of these and start it again.',
  });
});

test('a glibc too old is told with the one that is wanted and the Nodes that work there', async () => {
  const cause = new Error(
    "This version of uWS.js (v20.57.0) supports only Node.js versions 20, 22, 24 and 25.\n\nError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /app/uws_linux_x64_137.node)",
  );
  assert.equal(
    await clientError({}, cause),
    'Node 24.9.0 needs glibc 2.38 or later here (Debian 13, Ubuntu 24.04), and this system has 2.36: run Sheaf on Node 20 or 22, which work here.',
  );
});

test('a package left out of the installation is named with the way to install it', async () => {
  const cause = Object.assign(new Error("Cannot find package '@btc-vision/uwebsockets.js' imported from /app/a.js"), {
    code: 'ERR_MODULE_NOT_FOUND',
  });
  assert.match(
    await clientError({}, cause),
    /^Node 24\.9\.0 needs the package @btc-vision\/uwebsockets\.js, which is not installed: .*--include=optional/,
  );
});

test("a machine without a binary is named with the reason, the packages' own sentence left out", async () => {
  const cause = new Error(
    "This version of uWS.js supports only Node.js versions 18, 20, 21 and 22.\n\nError: Cannot find module './bin/uws_linux_ppc64_115.node'\nRequire stack:\n- /app/uws.mjs",
  );
  assert.equal(
    await clientError({ node: '20.20.2', abi: '115', arch: 'ppc64', glibc: '2.41' }, cause),
    "the HTTP library has no binary that loads under Node 20.20.2 on linux ppc64 (package uWebSockets.js): Error: Cannot find module './bin/uws_linux_ppc64_115.node'",
  );
});
