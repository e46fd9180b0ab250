// What the bytes of a checkpoint mean beside its files: the name that its manifest has of it (as `kernel`), and the
// names of older builds that this one reads.
import { SCHEMA_VERSION } from '../../api/common.js';
import { LAYOUT_VERSION } from '../memory/layout.js';
import { ARENAS } from '../memory/ownership.js';

/**
 * Goes up when a text or a record of metadata gets other terms: who takes a chunk out of an index names the terms that
 * it was added with. test/unit/engine/checkpoint/format.test.ts tells when.
 */
const TERMS_VERSION = 1;

export const CHECKPOINT_FORMAT = `layout ${LAYOUT_VERSION}, terms ${TERMS_VERSION}, ${ARENAS} arenas, schema ${SCHEMA_VERSION}`;

/**
 * Builds up to 3f7cd8c named the digest of their kernel. In images of 5df2b01 the words are 0 that tell what a check of
 * recall has found, and which slots of a code refine others: recall is checked anew, and its codes are read as they are.
 */
const OLDER_FORMATS: readonly string[] = [
  '97e21c54ba0b491ae53072a076cafc6503ce361e8fe9943c7b8ee5986e4ffe9f 8 0.9.7 1', // 5df2b01
  '074056b2fec71261277f808851e7dcae48586092d3c225936f7607a033ff8c7b 8 0.9.7 1', // 3f7cd8c
];

export const isReadable = (format: string): boolean => format === CHECKPOINT_FORMAT || OLDER_FORMATS.includes(format);
