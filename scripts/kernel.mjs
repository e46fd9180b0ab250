// Compiles AssemblyScript to WebAssembly: the vector kernel (src/engine/kernel) and the number reader
// (src/base/assembly). By hand: node scripts/kernel.mjs [outDir=dist]. It needs node_modules.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const FLAGS = ['-O3', '--noAssert', '--uncheckedBehavior', 'always', '--runtime', 'stub', '--enable', 'simd'];
const MODULES = [
  {
    source: 'src/engine/kernel/index.ts',
    target: 'src/engine/kernel.wasm',
    // The kernel imports the shared memory of its arena. An initial size of 1 page and a maximum of 4 GiB admit
    // memories of any size.
    flags: [
      '--importMemory',
      '--noExportMemory',
      '--sharedMemory',
      '--initialMemory',
      '1',
      '--maximumMemory',
      '65536',
      '--enable',
      'threads',
    ],
  },
  { source: 'src/base/assembly/json-floats.ts', target: 'src/base/json-floats.wasm', flags: [] },
];

/**
 * Writes the modules below outDir. Returns `inputs`, the sources that it read. Throws an Error with the compiler's
 * messages.
 */
export async function buildKernel(root, outDir) {
  const { default: asc } = await import('assemblyscript/asc');
  const inputs = new Set();
  const readSource = (name, baseDir) => {
    const text = readFile(name, baseDir);
    if (text !== null) inputs.add(name);
    return text;
  };
  for (const { source, target, flags } of MODULES) {
    let wasm;
    const writeFile = (name, contents) => void (name.endsWith('.wasm') && (wasm = contents));
    const { error, stderr } = await asc.main(
      [source, '--baseDir', root, '--outFile', 'module.wasm', ...FLAGS, ...flags],
      { readFile: readSource, writeFile },
    );
    if (error || !wasm) throw new Error(`${source} does not compile: ${error?.message ?? ''}\n${stderr.toString()}`);
    mkdirSync(dirname(join(outDir, target)), { recursive: true });
    writeFileSync(join(outDir, target), wasm);
  }
  return { inputs: [...inputs].filter((name) => !name.includes('node_modules')).sort() };
}

/**
 * A source for the compiler, or null where there is none. AssemblyScript marks inlined functions by a decorator, which
 * TypeScript does not allow. The sources say `@inline` at the end of a doc comment instead, so that editors and linters
 * accept them; this function turns the mark into the decorator.
 */
function readFile(name, baseDir) {
  try {
    return readFileSync(join(baseDir, name), 'utf8').replace(
      /(@inline\s+\*\/\s+)((?:export )?function )/g,
      '$1@inline $2',
    );
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildKernel(fileURLToPath(new URL('..', import.meta.url)), resolve(process.argv[2] ?? 'dist'));
}
