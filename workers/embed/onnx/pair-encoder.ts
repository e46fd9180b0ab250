// Turns a query and a passage into the one sequence of tokens that a cross-encoder reads, as its own tokenizer joins
// them, and cuts it to what the model takes. Called by cross-encoder.ts; embed workers.
import { frameOf, type Encoding, type Frame, type TextTokenizer, type Tokenizer } from './tokenizer.js';

export type PairEncoder = (query: string) => (passage: string) => Encoding;

/** Each text is encoded once, whatever it is paired with. Throws where `tokensMax` leaves no room for two texts. */
export function createPairEncoder(frame: Frame, contentOf: TextTokenizer['contentOf'], tokensMax: number): PairEncoder {
  const room = tokensMax - (frame.ids.length - 2);
  if (room < 2) throw new Error(`${tokensMax} tokens leave no room for two texts`);
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
 * What stands around two texts. The library counts RoBERTa's second text as a second segment; the model knows but one.
 */
export function pairFrameOf(tokenizer: Tokenizer): Frame {
  const { ids, types } = frameOf(tokenizer, 'two');
  return { ids, types: tokenizer.post_processor?.config.type === 'RobertaProcessing' ? types.map(() => 0) : types };
}

/**
 * As the truncation `longest_first` of Hugging Face's tokenizers: the passage gives way, unless the query is longer
 * than half.
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
