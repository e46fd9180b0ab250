// A small project in a temporary folder with the real setup scripts and compilers; npm and node-lmdb are stand-ins.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { tempDirectory } from '../temp.js';

export interface Run {
  readonly status: number | null;
  readonly out: string;
}

/** Records its arguments and copies `packages` to node_modules; fails while there is a file `npm-breaks`. */
const NPM = `#!${process.execPath}
import fs from 'node:fs';
fs.appendFileSync('npm-calls.txt', process.argv.slice(2).join(' ') + '\\n');
fs.rmSync('node_modules', { recursive: true, force: true });
if (fs.existsSync('npm-breaks')) process.exit(1);
fs.cpSync('packages', 'node_modules', { recursive: true, verbatimSymlinks: true });
`;

/** The packages that the build calls; they are the real ones. */
const COMPILERS = ['assemblyscript', 'esbuild', 'github-slugger', 'marked', 'typescript', 'typia'];

/** One source file of each kind. */
const SOURCES: Record<string, string> = {
  'src/main.ts': "import { isBoat } from './boat.js'; console.log(isBoat({ name: process.argv[2] }));",
  'src/boat.ts':
    "import typia from 'typia'; import type { Boat } from './api/boat.js'; export const isBoat = typia.createIs<Boat>();",
  'src/api/boat.ts': 'export interface Boat { name: string }',
  'src/client/client.ts': "export type { Boat } from '../api/boat.js'; export const one = (): number => 1;",
  'src/base/assembly/json-floats.ts': 'export function one(): i32 { return 1; }',
  'src/console/main.tsx': "document.title = 'boats';",
  'src/console/style/style.css': 'body { color: black }',
  'src/console/index.html': '<!-- preload --><script src="SCRIPT"></script><link href="STYLE">',
  'src/console/tsconfig.json': '{}',
  'docs/guide/boats.md': '# Boats\n',
  'workers/shard/worker.ts': "import { one } from '../../src/client/client.js'; console.log(one());",
  'src/engine/kernel/index.ts': 'export function one(): i32 { return 1; }',
  'test/unit/boat.test.ts': "import { isBoat } from '../../src/boat.js'; console.log(isBoat({}));",
};

export class FakeProject {
  readonly root = tempDirectory();

  constructor() {
    cpSync('scripts', join(this.root, 'scripts'), { recursive: true });
    cpSync('tsconfig.json', join(this.root, 'tsconfig.json'));
    for (const name of ['package.json', 'package-lock.json']) this.write(name, '{ "type": "module" }');
    for (const [path, text] of Object.entries(SOURCES)) this.write(path, text);
    this.write('packages/node-lmdb/index.js', '');
    for (const name of COMPILERS) symlinkSync(resolve('node_modules', name), join(this.root, 'packages', name));
    this.write('bin/npm', NPM);
    chmodSync(join(this.root, 'bin/npm'), 0o755);
    symlinkSync(process.execPath, join(this.root, 'bin/node'));
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  /** The command lines with which `npm` was called. */
  npmCalls(): string[] {
    return this.has('npm-calls.txt') ? this.read('npm-calls.txt').trim().split('\n') : [];
  }

  /** Starts `node ...args` in the project, with only node and npm on the PATH. */
  start(args: readonly string[], env: Record<string, string> = {}): ChildProcessByStdio<null, Readable, Readable> {
    return spawn(process.execPath, args, {
      cwd: this.root,
      env: { PATH: join(this.root, 'bin'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Runs `node ...args` in the project to its end. */
  run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
    const child = this.start(args, env);
    let out = '';
    child.stdout.on('data', (bytes) => (out += String(bytes)));
    child.stderr.on('data', (bytes) => (out += String(bytes)));
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (status) => resolve({ status, out }));
    });
  }

  setUp(env: Record<string, string> = {}): Promise<Run> {
    return this.run(['scripts/setup.mjs'], env);
  }
}
