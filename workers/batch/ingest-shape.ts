// How much JSON an ingest may hold beside its text, told before it is parsed: no good document has more names, values
// or levels than these, and parsing what no document can have would hold the thread for others. Batch worker only.
// Pure; what is no JSON is left to the parser.
import { AppError } from '../../src/contract/errors.js';
import { DIM_MAX, METADATA_LEVELS_MAX } from '../../src/contract/limits.js';

/** Those of the document itself, each given twice. */
const FIELDS_MAX = 8;
/** The least that a name or a value takes of the JSON that metadata is measured by: `"":0,` and `0,`. */
const NAME_BYTES = 5;
const VALUE_BYTES = 2;

/**
 * Throws AppError `invalid_document_json` for more fields than a document has or more values than a vector and metadata
 * of `metadataBytesMax` can have, `metadata_too_large` and `invalid_metadata` for more names or levels in it.
 */
export function checkIngestShape(text: string, metadataBytesMax: number): void {
  const valuesMax = DIM_MAX + metadataBytesMax / VALUE_BYTES;
  if (text.length < FIELDS_MAX) return;
  let [fields, names, values, level] = [0, 0, 1, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === ',') {
      if (++values > valuesMax) throw tooManyValues(valuesMax);
    } else if (character === ':') {
      if (level === 1 && ++fields > FIELDS_MAX) throw tooManyFields();
      if (level > 1 && ++names > metadataBytesMax / NAME_BYTES)
        throw new AppError('metadata_too_large', `Metadata has at most ${metadataBytesMax} bytes of JSON.`);
    } else if (character === '{' || character === '[') {
      // The document, and its metadata itself, are a level each.
      if (++level > METADATA_LEVELS_MAX + 2)
        throw new AppError('invalid_metadata', `Metadata has at most ${METADATA_LEVELS_MAX} levels.`);
    } else if (character === '}' || character === ']') level--;
  }
}

/** The closing quote of the string that begins at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

const tooManyFields = (): AppError =>
  new AppError(
    'invalid_document_json',
    'A document has the fields `docid`, `metadata`, `text` and `vector`, and no others.',
  );

const tooManyValues = (valuesMax: number): AppError =>
  new AppError('invalid_document_json', `The JSON of a document has at most ${valuesMax} values.`);
