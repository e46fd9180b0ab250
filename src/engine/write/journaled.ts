// The commands of a shard as the journal has them: the single writes of documents and the drops of collections, with
// their answers. A command that was refused is not in the journal, and neither is what the shard does by itself, such as
// compaction. Pure functions.
import { Packr } from 'msgpackr';
import { unshared } from '../../base/bytes.js';
import type { ShardRequest, DocumentWrite } from './commands.js';

/** A command of a shard's journal. */
export type JournaledCommand = DocumentWrite | ShardRequest<'dropCollection'>;

const packr = new Packr({ useRecords: false });

/** Packs a command and its answer. The same command and answer always give the same bytes. */
export const packCommand = (command: JournaledCommand, answer: object | null): Buffer =>
  packr.pack([withBytes(command), answer]);

/** The command in bytes from `packCommand`. */
export const unpackCommand = (bytes: Uint8Array): JournaledCommand =>
  withVectors((packr.unpack(bytes) as [Packed, unknown])[0]);

type Packed = { [field: string]: unknown };

/** msgpack has no arrays of floats, so vectors are packed as their bytes. */
function withBytes(command: JournaledCommand): Packed {
  const packed: Packed = {};
  for (const [field, value] of Object.entries(command)) if (value !== undefined) packed[field] = bytesOf(value);
  if ('dualWrites' in command && command.dualWrites)
    packed.dualWrites = command.dualWrites.map((shadow) =>
      'collection' in shadow ? { ...shadow, vectors: bytesOf(shadow.vectors) } : shadow,
    );
  return packed;
}

function bytesOf(value: unknown): unknown {
  if (!(value instanceof Uint8Array || value instanceof Float32Array)) return value;
  const own = unshared(value);
  return Buffer.from(own.buffer, own.byteOffset, own.byteLength);
}

function withVectors(packed: Packed): JournaledCommand {
  const command: Packed = { ...packed };
  if (packed.vectors !== undefined) command.vectors = floatsOf(packed.vectors);
  const dualWrites = packed.dualWrites as Packed[] | undefined;
  if (dualWrites)
    command.dualWrites = dualWrites.map((shadow) =>
      'collection' in shadow ? { ...shadow, vectors: floatsOf(shadow.vectors) } : shadow,
    );
  return command as unknown as JournaledCommand;
}

/** Copies the bytes, because they are not aligned. */
function floatsOf(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  return new Float32Array(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength));
}
