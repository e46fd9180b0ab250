// A small project in a temporary folder with the real set-up scripts, and stand-ins for what they call outside this
// repository: npm, the compilers and node-lmdb. Used by the tests of the scripts.
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDirectory } from '../temp.js';

export interface Run {
  readonly status: number | null;
  readonly out: string;
}

const SCRIPTS = ['setup.mjs', 'install.mjs', 'build.mjs', 'lock.mjs', 'native.mjs', 'test.mjs', 'reporter.cjs'];

/** Notes its arguments and puts `packages` where node_modules was; fails while there is a file `npm-breaks`. */
const NPM = `#!${process.execPath}
const fs = require('fs');
fs.appendFileSync('npm-calls.txt', process.argv.slice(2).join(' ') + '\\n');
fs.rmSync('node_modules', { recursive: true, force: true });
if (fs.existsSync('npm-breaks')) process.exit(1);
fs.cpSync('packages', 'node_modules', { recursive: true });
`;

/** Copies each src/*.ts to its place in the output; a source that says "type error" fails. */
const COMPILER = `const fs = require('fs');
const outDir = process.argv[process.argv.indexOf('--outDir') + 1];
fs.mkdirSync(outDir + '/src', { recursive: true });
for (const name of fs.readdirSync('src').filter((name) => name.endsWith('.ts'))) {
  if (fs.readFileSync('src/' + name, 'utf8').includes('type error')) { console.log('src/' + name + '(1,1): error TS1'); process.exit(2); }
  fs.copyFileSync('src/' + name, outDir + '/src/' + name.replace('.ts', '.js'));
}
`;

const KERNEL = `import { mkdirSync, writeFileSync } from 'node:fs';
export async function buildKernel(root, outDir) {
  mkdirSync(outDir + '/workers/shard', { recursive: true });
  writeFileSync(outDir + '/workers/shard/kernel.wasm', 'wasm');
}
`;

const CONSOLE = `import { mkdirSync, writeFileSync } from 'node:fs';
export async function buildConsole(root, folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(folder + '/index.html', 'page');
}
`;

/** The programs of the small project need no bundling. */
const BUNDLE = `export async function bundlePrograms() {}
`;

export class FakeProject {
  readonly root = tempDirectory();

  constructor() {
    for (const name of SCRIPTS) cpSync(join('scripts', name), join(this.root, 'scripts', name));
    this.write('scripts/kernel.mjs', KERNEL);
    this.write('scripts/console.mjs', CONSOLE);
    this.write('scripts/bundle.mjs', BUNDLE);
    for (const name of ['package.json', 'package-lock.json', 'tsconfig.json']) this.write(name, '{}');
    this.write('packages/ts-patch/bin/tspc.js', COMPILER);
    this.write('packages/node-lmdb/index.js', '');
    this.write('src/main.ts', 'export {};');
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

  /** How often `npm` was called. */
  npmCalls(): string[] {
    return this.has('npm-calls.txt') ? this.read('npm-calls.txt').trim().split('\n') : [];
  }

  /** Runs `node ...args` in the project, with nothing on the PATH but node and npm. */
  run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
    const child = spawn(process.execPath, args, {
      cwd: this.root,
      env: { PATH: join(this.root, 'bin'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
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
