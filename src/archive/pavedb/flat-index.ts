// A flat index of FAISS with an id map (`IndexIDMap2` over `IndexFlatIP`), as PaveDB 0.9.7 writes it: the vectors in
// the order they came, then the id of each. Read from its file, a vector at a time. Used by pavedb-archive.ts; throws
// ArchiveFault.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { ArchiveFault } from '../archive-fault.js';

/**
 * A name of four letters, dimension (4), vectors (8), two words of no meaning (16), whether it is trained (1), the
 * metric (4).
 */
const HEADER_BYTES = 37;
const AT = { dim: 4, vectors: 8, metric: 33 } as const;
const INNER_PRODUCT = 0;
const COUNT_BYTES = 8;

export class FlatIndex {
  private constructor(
    private readonly file: number,
    readonly dim: number,
    /** Where the vector of each id begins in the file. */
    private readonly places: ReadonlyMap<number, number>,
  ) {}

  static open(path: string): FlatIndex {
    const file = openSync(path, 'r');
    try {
      const { dim, vectors } = header(file, 0, 'IxM2');
      const flat = header(file, HEADER_BYTES, 'IxFI');
      const from = 2 * HEADER_BYTES + COUNT_BYTES;
      const idsAt = from + vectors * dim * 4 + COUNT_BYTES;
      const isWhole =
        flat.dim === dim &&
        flat.vectors === vectors &&
        count(file, from - COUNT_BYTES) === vectors * dim &&
        fstatSync(file).size === idsAt + vectors * 8 &&
        count(file, idsAt - COUNT_BYTES) === vectors;
      if (!isWhole) throw new ArchiveFault('document_invalid', 'The index of vectors is not whole.');
      const ids = new BigInt64Array(new Uint8Array(bytesAt(file, idsAt, vectors * 8)).buffer);
      return new FlatIndex(file, dim, new Map(Array.from(ids, (id, place) => [Number(id), from + place * dim * 4])));
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  get size(): number {
    return this.places.size;
  }

  /** The bytes of a vector: float32, little-endian. */
  vector(id: number): Buffer {
    const place = this.places.get(id);
    if (place === undefined)
      throw new ArchiveFault('document_invalid', `The index of vectors has none with the id ${id}.`);
    return bytesAt(this.file, place, this.dim * 4);
  }

  close(): void {
    closeSync(this.file);
  }
}

function header(file: number, at: number, name: string): { dim: number; vectors: number } {
  const bytes = bytesAt(file, at, HEADER_BYTES);
  if (bytes.toString('latin1', 0, 4) !== name || bytes.readInt32LE(AT.metric) !== INNER_PRODUCT)
    throw new ArchiveFault('format_unknown', 'The index of vectors is no flat one of inner products with an id map.');
  return { dim: bytes.readInt32LE(AT.dim), vectors: Number(bytes.readBigInt64LE(AT.vectors)) };
}

const count = (file: number, at: number): number => Number(bytesAt(file, at, COUNT_BYTES).readBigUInt64LE(0));

function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  if (readSync(file, bytes, 0, length, at) !== length)
    throw new ArchiveFault('document_invalid', 'The index of vectors is cut off.');
  return bytes;
}
