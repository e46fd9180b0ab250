// Compiles the vector kernel (workers/shard/assembly, AssemblyScript) to WebAssembly.
// Called by build.mjs; by hand: node scripts/kernel.mjs [outDir=dist]. It needs node_modules.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const FLAGS = [
  '-O3', '--noAssert', '--uncheckedBehavior', 'always', '--runtime', 'stub',
  // One shared memory a shard, made outside: initial 1 page and maximum 4 GiB admit memories of any size.
  '--importMemory', '--noExportMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536',
  '--enable', 'simd', '--enable', 'threads',
];

/** Writes outDir/workers/shard/kernel.wasm. Throws Error with the compiler's messages. */
export async function buildKernel(root, outDir) {
  const { default: asc } = await import('assemblyscript/asc');
  const target = join(outDir, 'workers/shard');
  let wasm;
  const { error, stderr } = await asc.main(['workers/shard/assembly/index.ts', '--baseDir', root, '--outFile', 'kernel.wasm', ...FLAGS], {
    writeFile: (name, contents) => {
      if (name.endsWith('kernel.wasm')) wasm = contents;
    },
  });
  if (error || !wasm) throw new Error(`The vector kernel does not compile: ${error?.message ?? ''}\n${stderr.toString()}`);
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'kernel.wasm'), wasm);
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildKernel(fileURLToPath(new URL('..', import.meta.url)), resolve(process.argv[2] ?? 'dist'));
}
