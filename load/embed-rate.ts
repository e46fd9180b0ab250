// How many windows of 25 words the built-in embedder turns into vectors a second, on one thread, over real abstracts.
// node dist/load/embed-rate.js [--tiny]; reads ../shared/data. Prints the rate of a first pass (cold caches) and of
// later ones.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { loadBuiltinEmbedder } from '../src/embedding/builtin/embedder.js';
import { dataFolder } from './kit/text-sets.js';
import { printOrigin } from './kit/command.js';

const WINDOW_WORDS = 25;
const BATCH_WINDOWS = 64;

function windowsOf(folder: string): string[] {
  const lines = readFileSync(`${folder}/corpus.jsonl`, 'utf8').split('\n').filter(Boolean);
  const words = lines.flatMap((line) => {
    const { title, text } = JSON.parse(line) as { title: string; text: string };
    return `${title} ${text}`.split(/\s+/).filter(Boolean);
  });
  const count = Math.floor(words.length / WINDOW_WORDS);
  return Array.from({ length: count }, (_, i) => words.slice(i * WINDOW_WORDS, (i + 1) * WINDOW_WORDS).join(' '));
}

function measure(label: string, windows: readonly string[], embed: (texts: readonly string[]) => Float32Array): void {
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

const tiny = process.argv.includes('--tiny');
for (const collection of tiny ? ['cranfield'] : ['cranfield', 'scifact']) {
  const folder = dataFolder(collection);
  if (!folder) continue;
  const loadStarted = performance.now();
  const embedder = loadBuiltinEmbedder();
  console.log(`loaded and checked in ${(performance.now() - loadStarted).toFixed(0)} ms`);
  const windows = windowsOf(folder).slice(0, tiny ? 500 : undefined);
  for (const pass of tiny ? [1] : [1, 2, 3]) measure(`${collection}, pass ${pass}`, windows, embedder.embed);
}
printOrigin();
