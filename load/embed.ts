// Chunks and tokens a second of the shared model, float32 and int8: called one text at a time; by onnxruntime alone at
// its best batch size and number of sessions, on texts tokenized and sorted before; and by our embed workers,
// tokenization included. node dist/load/embed-model.js [--tiny] [--chunks 160] [--rounds 2]; reads ../shared/data. The
// best of the rounds counts.
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { readModelFolder } from '../src/embedding/onnx/model-folder.js';
import { loadTokenizer } from '../src/embedding/onnx/tokenizer.js';
import { chunkText } from '../src/text/chunking.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { DOCUMENTS_UNDERWAY, DOCUMENT_CHUNKS, startPool } from './kit/embedders.js';
import type { ModelThreadStart, ModelThreadWork } from './kit/raw-model-thread.js';
import { dataFolder, hasCranfield, readCranfieldDocuments } from './kit/text-sets.js';

// A model run by onnxruntime alone, in threads of its own: the ceiling that ours is measured against.
// Used by load/embed-model.ts.

/** Sessions that wait for batches of token ids. */
interface RawModel {
  /** Runs all texts in batches of `size`, each of texts of about one length. */
  run(encodings: readonly number[][], size: number): Promise<void>;
  close(): Promise<void>;
}

/** `sessions` threads with a session each, which uses `threads`. */
async function startRawModel(graph: string, sessions: number, threads: number): Promise<RawModel> {
  const workerData: ModelThreadStart = { graph, threads };
  const workers = Array.from(
    { length: sessions },
    () => new Worker(new URL('./kit/raw-model-thread.js', import.meta.url), { workerData }),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  return {
    run: async (encodings, size) => {
      const sorted = [...encodings].sort((a, b) => b.length - a.length);
      const batches = Array.from({ length: Math.ceil(sorted.length / size) }, (_, i) =>
        sorted.slice(i * size, (i + 1) * size),
      );
      const work: ModelThreadWork = { batches, taken: new Int32Array(new SharedArrayBuffer(4)) };
      const done = workers.map((worker) => once(worker, 'message'));
      for (const worker of workers) worker.postMessage(work);
      await Promise.all(done);
    },
    close: async () => void (await Promise.all(workers.map((worker) => worker.terminate()))),
  };
}

const { tiny, number } = readArguments('chunks', 'rounds');
const chunksMax = number('chunks', tiny ? 8 : 160);
const rounds = number('rounds', tiny ? 1 : 2);
const sizes = tiny ? [1, 4] : [1, 2, 4, 8, 16, 32];
const cores = availableParallelism();
const CHUNKING = { strategy: 'fixed', size: 1000, overlap: 200 } as const;

/** How texts were run, and what it took. The CPU time tells more where others use the machine too. */
interface Timing {
  name: string;
  ms: number;
  cpuMs: number;
}

async function timed(name: string, run: () => Promise<unknown>): Promise<Timing> {
  const before = process.cpuUsage();
  const startedAtMs = performance.now();
  await run();
  const ms = performance.now() - startedAtMs;
  const { user, system } = process.cpuUsage(before);
  return { name, ms, cpuMs: (user + system) / 1000 };
}

const fastest = (timings: readonly Timing[]): Timing =>
  timings.reduce((best, timing) => (timing.ms < best.ms ? timing : best));

async function measure(directory: string, file: string, texts: readonly string[]): Promise<void> {
  const model = readModelFolder(file, { path: directory, file });
  const { encode } = loadTokenizer(directory, model.tokensMax);
  const encodings = texts.map((text) => [...encode(text).ids]);
  const tokens = encodings.reduce((sum, ids) => sum + ids.length, 0);
  const graph = join(directory, file);
  const [one, raw, ours]: Timing[][] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    for (const [sessions, threads] of [
      [1, cores],
      [cores, 1],
    ] as const) {
      const session = await startRawModel(graph, sessions, threads);
      for (const size of sizes) {
        const timing = await timed(`${sessions} × ${threads} threads, batches of ${size}`, () =>
          session.run(encodings, size),
        );
        raw!.push(timing);
        if (sessions === 1 && size === 1) one!.push(timing);
      }
      await session.close();
    }
    const pool = startPool({ key: file, type: 'onnx', model }, cores);
    await pool.passages(encodings.slice(0, 64).map(() => 'loaded'));
    ours!.push(
      await timed(`${cores} workers, ${DOCUMENTS_UNDERWAY} documents of ${DOCUMENT_CHUNKS} chunks under way`, () =>
        pool.passages(texts),
      ),
    );
    await pool.close();
  }
  report(file, tokens, texts.length, {
    'one text at a time': fastest(one!),
    'onnxruntime at its best': fastest(raw!),
    ours: fastest(ours!),
  });
}

function report(file: string, tokens: number, chunks: number, timings: Record<string, Timing>): void {
  const { ours } = timings;
  const rows = Object.entries(timings).map(([what, { name, ms, cpuMs }]) => {
    return [
      what,
      name,
      whole((chunks * 1000) / ms),
      whole((tokens * 1000) / ms),
      (ms / ours!.ms).toFixed(2),
      `${((cpuMs * 1000) / tokens).toFixed(0)} µs`,
    ];
  });
  printTable(`${file}: ${chunks} chunks of Cranfield, ${whole(tokens / chunks)} tokens each`, [
    ['what', 'how', 'chunks/s', 'tokens/s', 'ours against it', 'CPU a token'],
    ...rows,
  ]);
}

const folder = dataFolder('model-minilm-l6');
if (folder && hasCranfield()) {
  const texts = readCranfieldDocuments()
    .flatMap(({ text }) => chunkText(text, CHUNKING).map((chunk) => chunk.text))
    .slice(0, chunksMax);
  for (const file of ['onnx/model.onnx', 'onnx/model_quantized.onnx']) await measure(folder, file, texts);
}
