// A cross-encoder: an ONNX graph that reads a query and a passage together and returns one relevance score. Pairs run
// in small groups of similar length, and the event loop runs in between. Embed workers.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../api/errors.js';
import type { OnnxReranker } from '../embedder-spec.js';
import { RUN_TOKENS_MAX, openSession } from '../onnx/session.js';
import {
  type Encoding,
  type Frame,
  type TextTokenizer,
  type Tokenizer,
  frameOf,
  loadTokenizer,
  openTokenizer,
} from '../onnx/tokenizer.js';
import type { Reranker } from '../embedder.js';

/**
 * Encodes a query and a passage as one token sequence, as the model's tokenizer joins them, truncated to what the model
 * reads.
 */
export type PairEncoder = (query: string) => (passage: string) => Encoding;

/** Each text is encoded once for all its pairs. Throws if `tokensMax` leaves no space for two texts. */
export function createPairEncoder(frame: Frame, contentOf: TextTokenizer['contentOf'], tokensMax: number): PairEncoder {
  const room = tokensMax - (frame.ids.length - 2);
  if (room < 2) throw new Error(`${tokensMax} tokens leave no space for two texts`);
  return (query) => {
    const queryIds = contentOf(query, room);
    return (passage) => {
      const passageIds = contentOf(passage, room);
      const [queryLength, passageLength] = fittingLengths(queryIds.length, passageIds.length, room);
      const isTruncated = queryLength < queryIds.length || passageLength < passageIds.length;
      return { ...framed(frame, queryIds.slice(0, queryLength), passageIds.slice(0, passageLength)), isTruncated };
    };
  };
}

/**
 * The special tokens around two texts. The library assigns a second segment to RoBERTa's second text, but the model has
 * only one.
 */
export function pairFrameOf(tokenizer: Tokenizer): Frame {
  const { ids, types } = frameOf(tokenizer, 'two');
  return { ids, types: tokenizer.post_processor?.config.type === 'RobertaProcessing' ? types.map(() => 0) : types };
}

/**
 * The truncation `longest_first` of Hugging Face's tokenizers: the passage is truncated first, unless the query is
 * longer than half.
 */
export function fittingLengths(query: number, passage: number, room: number): [number, number] {
  const half = Math.floor(room / 2) + (query > passage ? room % 2 : 0);
  const queryLength = Math.min(query, Math.max(room - passage, half));
  return [queryLength, Math.min(passage, room - queryLength)];
}

function framed(
  { ids, types }: Frame,
  query: readonly number[],
  passage: readonly number[],
): Pick<Encoding, 'ids' | 'types'> {
  const partOf = (id: number | 'A' | 'B'): readonly number[] => (id === 'A' ? query : id === 'B' ? passage : [id]);
  return { ids: ids.flatMap(partOf), types: ids.flatMap((id, place) => partOf(id).map(() => types[place] as number)) };
}

/** Passages encoded per turn of the event loop. */
const ENCODED_AT_ONCE = 16;

/** One score per pair, as the graph returns them. */
type RunPairs = (pairs: readonly Encoding[]) => Promise<Float32Array>;

/** `threads` is the number of threads of one run. Rejects if the folder does not contain a cross-encoder. */
export async function openCrossEncoder(
  { directory, file, tokensMax }: OnnxReranker,
  threads: number,
  report: (failure: string) => void,
): Promise<Reranker> {
  const { padId, contentOf } = loadTokenizer(directory, tokensMax);
  const encoder = createPairEncoder(pairFrameOf(openTokenizer(directory)), contentOf, tokensMax);
  const session = await openSession(directory, file, threads, padId);
  const output = session.outputs[0]?.name;
  if (output === undefined) throw new Error(`${file} has no output of 32-bit floats`);
  const run: RunPairs = async (pairs) => {
    const { values, shape } = await session.run(pairs, output);
    if (values.length !== pairs.length)
      throw new Error(
        `${file} gives ${output} of shape ${shape.join(' x ')} for ${pairs.length} pairs, not one number for each`,
      );
    return values;
  };
  // A trial run, so that an unusable graph fails at start and not at the first search.
  await run([encoder('a')('b')]);
  const failed = (error: Error): never => {
    report(`pairs of texts could not be scored: ${error.stack}`);
    throw new AppError('embedder_unavailable');
  };
  return { score: async (query, texts) => score(run, await encodeAll(encoder(query), texts)).catch(failed) };
}

async function encodeAll(encode: (passage: string) => Encoding, texts: readonly string[]): Promise<Encoding[]> {
  const pairs: Encoding[] = [];
  for (const text of texts) {
    pairs.push(encode(text));
    if (pairs.length % ENCODED_AT_ONCE === 0) await nextTurn();
  }
  return pairs;
}

async function score(runPairs: RunPairs, pairs: readonly Encoding[]): Promise<Float32Array> {
  const scores = new Float32Array(pairs.length);
  for (const run of runsOf(pairs.map(({ ids }) => ids.length))) {
    const logits = await runPairs(run.map((place) => pairs[place] as Encoding));
    run.forEach((place, i) => (scores[place] = sigmoid(logits[i] as number)));
    await nextTurn();
  }
  return scores;
}

/**
 * Groups pairs into runs by their lengths and returns their indexes: the longest first, so that each run is padded to
 * the length of its first pair.
 */
export function runsOf(lengths: readonly number[]): number[][] {
  const lengthOf = (place: number): number => lengths[place] as number;
  const places = [...lengths.keys()].sort((a, b) => lengthOf(b) - lengthOf(a));
  const runs: number[][] = [];
  for (let start = 0; start < places.length; ) {
    const count = Math.max(1, Math.floor(RUN_TOKENS_MAX / lengthOf(places[start] as number)));
    runs.push(places.slice(start, start + count));
    start += count;
  }
  return runs;
}

/** The activation that sentence-transformers applies to a cross-encoder with one label. */
const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
