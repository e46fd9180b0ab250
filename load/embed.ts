// Embedders in this process: the shared model and the built-in one, on real texts.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { BuiltinEmbedder } from '../src/embedding/builtin/embedder.js';
import { readModelFolder } from '../src/embedding/onnx/model-folder.js';
import { loadTokenizer } from '../src/embedding/onnx/tokenizer.js';
import { chunkText } from '../src/text/chunking.js';
import { type LoadOptions, printOrigin, printTable, whole } from './kit/command.js';
import { DOCUMENTS_UNDERWAY, DOCUMENT_CHUNKS, startPool } from './kit/embedders.js';
import { passageOf } from './kit/judged-searches.js';
import type { ModelThreadStart, ModelThreadWork } from './kit/raw-model-thread.js';
import { dataFolder, hasCranfield, readCranfieldDocuments, readJudged } from './kit/text-sets.js';

const CHUNKING = { strategy: 'fixed', size: 1000, overlap: 200 } as const;

interface ModelRun {
  readonly rounds: number;
  /** Batch sizes for onnxruntime alone. */
  readonly sizes: readonly number[];
  readonly texts: readonly string[];
}

/**
 * Chunks and tokens per second of the shared model, float32 and int8: one text per call; onnxruntime alone at its best
 * batch size and number of sessions, on texts tokenized and sorted beforehand; and the embed workers, including
 * tokenization. The best round counts.
 */
export async function model({ tiny, number }: LoadOptions): Promise<void> {
  const folder = dataFolder('model-minilm-l6');
  if (!folder || !hasCranfield()) return;
  const texts = readCranfieldDocuments()
    .flatMap(({ text }) => chunkText(text, CHUNKING).map((chunk) => chunk.text))
    .slice(0, number('chunks', tiny ? 8 : 160));
  const run: ModelRun = {
    rounds: number('rounds', tiny ? 1 : 2),
    sizes: tiny ? [1, 4] : [1, 2, 4, 8, 16, 32],
    texts,
  };
  for (const file of ['onnx/model.onnx', 'onnx/model_quantized.onnx']) await measureModel(folder, file, run);
}

async function measureModel(directory: string, file: string, { rounds, sizes, texts }: ModelRun): Promise<void> {
  const cores = availableParallelism();
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

/** A way to run texts, and its time. CPU time is more reliable on a shared machine. */
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

/** A model in onnxruntime alone, the upper bound for the embed workers: sessions that wait for batches of token ids. */
interface RawModel {
  /** Runs all texts in batches of `size` texts of similar length. */
  run(encodings: readonly number[][], size: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts `sessions` threads with one session each, which uses `threads` threads. */
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

const WINDOW_WORDS = 25;
const BATCH_WINDOWS = 64;

/** Windows of 25 words per second that the built-in embedder embeds on one thread, with cold and with warm caches. */
export async function builtin({ tiny }: LoadOptions): Promise<void> {
  for (const collection of tiny ? ['cranfield'] : ['cranfield', 'scifact']) {
    const folder = dataFolder(collection);
    if (!folder) continue;
    const startedAtMs = performance.now();
    const embedder = new BuiltinEmbedder();
    console.log(`loaded and checked in ${(performance.now() - startedAtMs).toFixed(0)} ms`);
    const windows = windowsOf(folder).slice(0, tiny ? 500 : undefined);
    for (const pass of tiny ? [1] : [1, 2, 3])
      measureBuiltin(`${collection}, pass ${pass}`, windows, (batch) => embedder.vectorsOf(batch));
  }
  printOrigin();
}

function windowsOf(folder: string): string[] {
  const { documents } = readJudged(folder, Infinity, 0);
  const words = documents.flatMap((document) => passageOf(document).split(/\s+/).filter(Boolean));
  const count = Math.floor(words.length / WINDOW_WORDS);
  return Array.from({ length: count }, (_, i) => words.slice(i * WINDOW_WORDS, (i + 1) * WINDOW_WORDS).join(' '));
}

function measureBuiltin(
  label: string,
  windows: readonly string[],
  embed: (texts: readonly string[]) => Float32Array,
): void {
  const work = createHash('sha256');
  const started = performance.now();
  for (let at = 0; at < windows.length; at += BATCH_WINDOWS) {
    const vectors = embed(windows.slice(at, at + BATCH_WINDOWS));
    work.update(vectors.subarray(0, 8));
  }
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(windows.length / seconds).toLocaleString('en');
  console.log(
    `${label}: ${windows.length} windows in ${seconds.toFixed(2)} s, ${rate} windows/s, work ${work.digest('hex').slice(0, 8)}`,
  );
}
