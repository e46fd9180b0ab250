// The format name of checkpoints, which the manifest stores as `kernel`, and the names of older formats that this
// version reads.
import { SCHEMA_VERSION } from '../../api/common.js';
import { LAYOUT_VERSION } from '../memory/layout.js';
import { ARENAS } from '../memory/ownership.js';

/**
 * Increase it when a text or a metadata record yields other terms: a chunk is removed from an index by the terms it was
 * added with. test/unit/engine/checkpoint/format.test.ts fails when that is necessary.
 */
const TERMS_VERSION = 2;

/** The format of checkpoints that this version writes. */
export const CHECKPOINT_FORMAT = `layout ${LAYOUT_VERSION}, terms ${TERMS_VERSION}, ${ARENAS} arenas, schema ${SCHEMA_VERSION}`;

/**
 * Builds up to 3f7cd8c used the digest of their kernel as format name. In images of 5df2b01 the fields with the result
 * of a recall check and with the refinement of quantized slots are 0: recall is checked again, and the quantized
 * vectors are read as they are. In images of layout 3 no row expires: the fields of expiries are 0. Metadata indexes of
 * terms 1 have no cells of points (`hasPoints`).
 */
const OLDER_FORMATS: readonly string[] = [
  'layout 3, terms 2, 8 arenas, schema 1',
  'layout 3, terms 1, 8 arenas, schema 1',
  '97e21c54ba0b491ae53072a076cafc6503ce361e8fe9943c7b8ee5986e4ffe9f 8 0.9.7 1', // 5df2b01
  '074056b2fec71261277f808851e7dcae48586092d3c225936f7607a033ff8c7b 8 0.9.7 1', // 3f7cd8c
];

/** Whether the metadata indexes of a checkpoint have terms for points; others are built anew when a search needs them. */
export const hasPoints = (format: string): boolean => format.includes(`, terms ${TERMS_VERSION},`);

export const isReadable = (format: string): boolean => format === CHECKPOINT_FORMAT || OLDER_FORMATS.includes(format);
