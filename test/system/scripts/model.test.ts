// `npm run model` as a user runs it, against a hub on the loopback interface: a complete download, every way in which
// one fails, and how it resumes.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { InferenceSession } from 'onnxruntime-node';
import { closedPort } from '../../kit/fake-server.js';
import { tempDirectory } from '../../kit/temp.js';
import { FakeHub, type HubFile } from '../../kit/scripts/fake-hub.js';

const SCRIPT = resolve('scripts/model.mjs');
const MODEL = 'acme/tiny-model';
const FOLDER = `models/${MODEL}`;
const GRAPH = 'onnx/model.onnx';

const small = (text: string): HubFile => ({ bytes: Buffer.from(text), isBig: false });
const big = (size: number, seed: number): HubFile => ({
  bytes: Buffer.from(Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8) * seed) & 255)),
  isBig: true,
});

function tinyFiles(): Map<string, HubFile> {
  return new Map([
    ['README.md', small('# not needed')],
    ['config.json', small('{}')],
    ['tokenizer.json', small('{"model":{}}')],
    ['modules.json', small('[]')],
    ['1_Pooling/config.json', small('{"pooling_mode_mean_tokens":true}')],
    ['sentence_bert_config.json', small('')],
    ['pytorch_model.bin', big(100, 3)],
    [GRAPH, big(300_000, 7)],
    ['onnx/model.onnx_data', big(70_000, 9)],
    ['onnx/model_quantized.onnx', big(50_000, 11)],
  ]);
}

const WANTED = [
  '1_Pooling/config.json',
  'SOURCE.json',
  'config.json',
  'modules.json',
  'onnx',
  GRAPH,
  'onnx/model.onnx_data',
  'sentence_bert_config.json',
  'tokenizer.json',
  '1_Pooling',
].sort();

interface Run {
  child: ChildProcess;
  ended: Promise<{ status: number | null; out: string }>;
}

class User {
  readonly cwd = tempDirectory();

  constructor(readonly hub: FakeHub) {}

  start(args: string[] = [], env: Record<string, string> = {}): Run {
    const child = spawn(process.execPath, [SCRIPT, MODEL, ...args], {
      cwd: this.cwd,
      env: { PATH: process.env.PATH, HF_ENDPOINT: this.hub.url, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    after(() => child.kill('SIGKILL'));
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (out += String(bytes)));
    return { child, ended: new Promise((done) => child.on('close', (status) => done({ status, out }))) };
  }

  run(args: string[] = [], env: Record<string, string> = {}): Promise<{ status: number | null; out: string }> {
    return this.start(args, env).ended;
  }

  async succeed(args: string[] = [], env: Record<string, string> = {}): Promise<string> {
    const { status, out } = await this.run(args, env);
    assert.equal(status, 0, out);
    return out;
  }

  /** Runs the command, asserts that it fails with one line, and returns the line. */
  async fail(args: string[] = [], env: Record<string, string> = {}): Promise<string> {
    const { status, out } = await this.run(args, env);
    assert.equal(status, 1, out);
    const last = out.trimEnd().split('\n').at(-1) ?? '';
    assert.match(last, /^model: /, out);
    return last;
  }

  has(path: string): boolean {
    return existsSync(join(this.cwd, FOLDER, path));
  }

  read(path: string): Buffer {
    return readFileSync(join(this.cwd, FOLDER, path));
  }

  write(path: string, bytes: string | Buffer): void {
    mkdirSync(dirname(join(this.cwd, FOLDER, path)), { recursive: true });
    writeFileSync(join(this.cwd, FOLDER, path), bytes);
  }

  list(): string[] {
    return (readdirSync(join(this.cwd, FOLDER), { recursive: true }) as string[]).sort();
  }

  assertWhole(): void {
    assert.deepEqual(this.list(), WANTED);
    for (const path of WANTED)
      if (this.hub.files.has(path)) assert.deepEqual(this.read(path), this.hub.files.get(path)?.bytes, path);
  }
}

const newUser = async (): Promise<User> => new User(await new FakeHub(MODEL, tinyFiles()).start());
const askedFor = (hub: FakeHub, path: string): (string | undefined)[] =>
  hub
    .takeRequests()
    .filter((request) => request.path === path)
    .map(({ headers }) => headers.range);

test('a model comes whole, with what it needs and no more, and says how it is used', async () => {
  const user = await newUser();
  const out = await user.succeed();
  user.assertWhole();
  assert.match(out, /acme\/tiny-model at aaaaaaaaaaaa: 7 files, 370\.0 kB; to fetch: 7, 370\.0 kB\n/);
  assert.match(
    out,
    /\n {2}embedder: \{model: "\.\/models\/acme\/tiny-model"\}\n {2}SHEAF_EMBEDDER__MODEL=\.\/models\/acme\/tiny-model npm start\n$/,
  );
  const source = JSON.parse(user.read('SOURCE.json').toString()) as {
    repo: string;
    commit: string;
    files: { path: string; size: number; digest: string }[];
  };
  assert.deepEqual([source.repo, source.commit, source.files.length], [MODEL, user.hub.commit, 7]);
  assert.match(source.files.find(({ path }) => path === GRAPH)?.digest ?? '', /^sha256:/);
});

test('a second run checks and fetches nothing; a file that has changed on disk is fetched again', async () => {
  const user = await newUser();
  await user.succeed();
  user.hub.takeRequests();
  assert.match(await user.succeed(), /to fetch: none\n/);
  assert.deepEqual(
    user.hub.takeRequests().filter(({ path }) => !path.startsWith('/api/')),
    [],
  );
  const bytes = user.read('onnx/model.onnx_data');
  bytes[5]! ^= 1;
  user.write('onnx/model.onnx_data', bytes);
  assert.match(await user.succeed(), /to fetch: 1, 70\.0 kB\n/);
  user.assertWhole();
});

test('another graph joins the folder, and the lines at the end name it', async () => {
  const user = await newUser();
  await user.succeed();
  const out = await user.succeed(['--file', 'onnx/model_quantized.onnx']);
  assert.match(out, /to fetch: 1, 50\.0 kB\n/);
  assert.match(
    out,
    /embedder: \{default: model, instances: \[\{key: model, type: onnx, path: "\.\/models\/acme\/tiny-model", file: "onnx\/model_quantized\.onnx"\}\]\}\n/,
  );
  assert.ok(user.has(GRAPH));
  assert.match(await user.succeed(), /8 files, .* to fetch: none\n/);
});

test('a new commit replaces what changed and removes what is gone', async () => {
  const user = await newUser();
  await user.succeed();
  user.hub.commit = 'e'.repeat(40);
  user.hub.files.set('config.json', small('{"new":true}'));
  user.hub.files.delete('modules.json');
  assert.match(await user.succeed(), /at eeeeeeeeeeee: 6 files, .* to fetch: 1, 12 bytes\n/);
  assert.equal(user.read('config.json').toString(), '{"new":true}');
  assert.equal(user.has('modules.json'), false);
  assert.match(user.read('SOURCE.json').toString(), /e{40}/);
});

test('a run that is stopped goes on where it was', async () => {
  const user = await newUser();
  user.hub.faults.set(GRAPH, [{ kind: 'hang', afterBytes: 100_000 }]);
  const run = user.start();
  const part = join(user.cwd, FOLDER, `${GRAPH}.part`);
  while ((statSync(part, { throwIfNoEntry: false })?.size ?? 0) < 100_000)
    await new Promise((done) => setTimeout(done, 10));
  run.child.kill('SIGINT');
  const { status, out } = await run.ended;
  assert.equal(status, 130, out);
  assert.match(out, /model: stopped: run the command again, and it goes on where it was\n$/);
  assert.deepEqual([user.has('SOURCE.json'), user.has('.lock')], [false, false]);
  user.hub.takeRequests();
  await user.succeed();
  assert.deepEqual(askedFor(user.hub, GRAPH), ['bytes=100000-']);
  user.assertWhole();
});

test('a cut connection is taken up again within the run', async () => {
  const user = await newUser();
  user.hub.faults.set(GRAPH, [
    { kind: 'cut', afterBytes: 90_000 },
    { kind: 'cut', afterBytes: 50_000 },
  ]);
  assert.match(await user.succeed(), /the connection to 127\.0\.0\.1:\d+ broke \(UND_ERR_SOCKET\): trying again in/);
  assert.deepEqual(askedFor(user.hub, GRAPH), [undefined, 'bytes=90000-', 'bytes=140000-']);
  user.assertWhole();
});

test('a file that changed on the hub meanwhile, and a part that is too long or wrong, are begun anew', async () => {
  const user = await newUser();
  user.hub.faults.set(GRAPH, [
    { kind: 'cut', afterBytes: 1000 },
    { kind: 'status', status: 404 },
  ]);
  assert.match(await user.fail(), /answers 404 for onnx\/model\.onnx/);
  assert.equal(user.read(`${GRAPH}.part`).length, 1000);
  user.hub.files.set(GRAPH, big(200_000, 13));
  user.hub.takeRequests();
  await user.succeed();
  assert.deepEqual(askedFor(user.hub, GRAPH), [undefined]);
  user.assertWhole();

  const other = await newUser();
  other.write('SOURCE.json.part', JSON.stringify({ repo: MODEL, files: [] }));
  other.write(`${GRAPH}.part`, Buffer.alloc(80_000));
  other.write('onnx/model.onnx_data.part', Buffer.alloc(80_000));
  await other.succeed();
  assert.deepEqual(askedFor(other.hub, GRAPH), ['bytes=80000-', undefined]);
  other.assertWhole();
});

test('a hub that knows no ranges is taken from the start', async () => {
  const user = await newUser();
  user.hub.faults.set(GRAPH, [{ kind: 'cut', afterBytes: 1000 }, { kind: 'no range' }]);
  await user.succeed();
  user.assertWhole();
});

test('bytes that are not those of the checksum are refused and removed', async () => {
  for (const path of [GRAPH, 'config.json']) {
    const user = await newUser();
    const bytes = Buffer.from(user.hub.files.get(path)?.bytes ?? '');
    bytes[0]! ^= 1;
    user.hub.faults.set(path, [{ kind: 'other', bytes }]);
    assert.match(await user.fail(), new RegExp(`${path} is not what its checksum says, and is removed`));
    assert.deepEqual(
      [path, `${path}.part`, 'SOURCE.json'].map((each) => user.has(each)),
      [false, false, false],
    );
    await user.succeed();
    user.assertWhole();
  }
});

test('another size than the listed one is refused, at the first byte too many where no length is told', async () => {
  const user = await newUser();
  user.hub.faults.set(GRAPH, [{ kind: 'other', bytes: Buffer.alloc(1000) }]);
  assert.match(
    await user.fail(),
    /onnx\/model\.onnx should have 300000 bytes by the listing, but the hub has 1000: nothing of it is kept/,
  );
  user.hub.faults.set(GRAPH, [{ kind: 'other', bytes: Buffer.alloc(9_000_000), isChunked: true }]);
  assert.match(
    await user.fail(),
    /onnx\/model\.onnx should have 300000 bytes by the listing, but the hub sends more: nothing of it is kept/,
  );
  assert.equal(user.has(`${GRAPH}.part`), false);
});

test('a busy hub is asked again, when it says, and not for ever', async () => {
  const user = await newUser();
  user.hub.listingFaults.push(
    { status: 429, headers: { 'retry-after': '1' } },
    { status: 503, headers: { 'retry-after': new Date().toUTCString() } },
  );
  user.hub.faults.set(GRAPH, [{ kind: 'status', status: 500, headers: { 'retry-after': '0' } }]);
  const out = await user.succeed();
  assert.match(out, /answers 429: trying again in 1\.0 s\n.*answers 503: trying again in 0\.0 s\n/);
  user.assertWhole();
  user.hub.listingFaults.push(...Array.from({ length: 6 }, () => ({ status: 429, headers: { 'retry-after': '0' } })));
  assert.match(await user.fail(), /answers 429: run the command again/);
});

test('the token goes to the hub alone', async () => {
  const user = await newUser();
  await user.succeed([], { HF_TOKEN: 'hf_secret' });
  const requests = user.hub.takeRequests();
  assert.ok(requests.some(({ server }) => server === 'files'));
  for (const { server, path, headers } of requests)
    assert.equal(headers.authorization, server === 'hub' ? 'Bearer hf_secret' : undefined, path);
});

test('paths that lead out of the folder are refused before anything is fetched', async () => {
  for (const path of ['../tokenizer.json', '/etc/tokenizer.json', 'onnx/../../model.onnx', 'a\\..\\b']) {
    const user = await newUser();
    user.hub.entries = [{ type: 'file', path, size: 2, oid: 'a'.repeat(40) }];
    assert.match(await user.fail(), /leads out of its folder: nothing of it is fetched/);
    assert.deepEqual(readdirSync(user.cwd), []);
  }
});

test('what cannot be fetched is told with what to do', async () => {
  const user = await newUser();
  assert.match(
    await user.fail(['--revision', 'none']),
    /has no model acme\/tiny-model with revision none, or it is private/,
  );
  assert.match(
    await user.fail(['--file', 'onnx/other.onnx']),
    /has no onnx\/other\.onnx: choose with --file one of onnx\/model\.onnx, onnx\/model_quantized\.onnx$/,
  );
  assert.match(
    await user.fail([], { HF_ENDPOINT: `http://127.0.0.1:${await closedPort()}` }),
    /cannot be reached \(ECONNREFUSED\): is there a network\?/,
  );
  assert.match(await user.fail([], { HF_TOKEN: 'secret' }), /HF_TOKEN should begin with hf_$/);
  assert.match(await user.fail([], { HF_ENDPOINT: 'hub' }), /HF_ENDPOINT should be/);
  user.hub.listingFaults.push({ status: 403 });
  assert.match(await user.fail(), /accept its terms: do so at .*\/acme\/tiny-model, and set HF_TOKEN$/);
  user.hub.files.delete('tokenizer.json');
  assert.match(await user.fail(), /has no tokenizer\.json/);
  for (const path of [GRAPH, 'onnx/model_quantized.onnx']) user.hub.files.delete(path);
  assert.match(
    await user.fail(),
    /has no ONNX graph: .*onnx-community\/tiny-model.*optimum-cli export onnx --model acme\/tiny-model/,
  );
});

test('a folder of someone else, a damaged one and a full disk are told', async () => {
  const user = await newUser();
  user.write('notes.txt', 'mine');
  assert.match(
    await user.fail(),
    /models\/acme\/tiny-model has files that are not from here: choose another folder with --to$/,
  );
  assert.deepEqual(user.list(), ['notes.txt']);
  user.write('SOURCE.json', '{"repo":"acme/other","files":[]}');
  assert.match(await user.fail(), /holds acme\/other: remove it/);
  user.write('SOURCE.json', '{');
  assert.match(await user.fail(), /SOURCE\.json is damaged: remove the folder$/);
  mkdirSync(join(user.cwd, 'to/onnx'), { recursive: true });
  writeFileSync(join(user.cwd, 'to/SOURCE.json.part'), JSON.stringify({ repo: MODEL, files: [] }));
  symlinkSync('/dev/full', join(user.cwd, `to/${GRAPH}.part`));
  assert.match(await user.fail(['--to', 'to']), /the disk is full/);
});

test('two runs at once fetch once', async () => {
  const user = await newUser();
  const runs = await Promise.all([user.run(), user.run()]);
  assert.deepEqual(
    runs.map(({ status }) => status),
    [0, 0],
    runs.map(({ out }) => out).join(),
  );
  assert.deepEqual(askedFor(user.hub, GRAPH), [undefined]);
  user.assertWhole();
});

const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;
test('a terminal gets a bar with rate and time left', {
  skip: !hasTerminal && 'there is no command `script` to make a terminal',
}, async () => {
  const user = await newUser();
  const child = spawn('script', ['-qec', `${process.execPath} ${SCRIPT} ${MODEL}`, '/dev/null'], {
    cwd: user.cwd,
    env: { PATH: process.env.PATH, HF_ENDPOINT: user.hub.url, TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (bytes) => (out += String(bytes)));
  assert.equal(await new Promise((done) => child.on('close', done)), 0, out);
  assert.match(out, /█+░* 370\.0 kB of 370\.0 kB {2}[\d.]+ [kM]?B\/s {2}0\.0 s left {2}onnx\/model\.onnx/);
  user.assertWhole();
});

const REAL = '../shared/data/model-minilm-l6';
test('a real model comes through and its graph opens', {
  skip: !existsSync(REAL) && `${REAL} is not there`,
}, async () => {
  const paths = (readdirSync(REAL, { recursive: true }) as string[]).filter((path) =>
    statSync(join(REAL, path)).isFile(),
  );
  const files = new Map(
    paths.map((path): [string, HubFile] => [
      path,
      { bytes: readFileSync(join(REAL, path)), isBig: path.endsWith('.onnx') },
    ]),
  );
  const user = new User(await new FakeHub(MODEL, files).start());
  await user.succeed(['--file', 'onnx/model_quantized.onnx']);
  for (const path of ['tokenizer.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json'])
    assert.deepEqual(user.read(path), files.get(path)?.bytes);
  const session = await InferenceSession.create(join(user.cwd, FOLDER, 'onnx/model_quantized.onnx'));
  assert.deepEqual(session.inputNames, ['input_ids', 'attention_mask', 'token_type_ids']);
  await session.release();
});
