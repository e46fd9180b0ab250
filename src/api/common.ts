// What the bodies of all areas share: the common fields, the error envelope, value types, and the version of the
// interface. Any thread.
import type { tags } from 'typia';
import type { ErrorType, ValidationDetail } from './errors.js';

/** A whole number, 0 or more. */
export type Whole = number & tags.Type<'uint32'>;

/** Closes every JSON body of a success. */
export interface CommonFields {
  ok: true;
  /** Total server-side time, in ms. */
  latency_ms: number;
  request_id: string;
}

/** The JSON body of every error. */
export interface ErrorEnvelope {
  ok: false;
  /** Stable, machine-readable. */
  code: string;
  /** For people. */
  error: string;
  error_type?: ErrorType;
  details?: Record<string, unknown>;
  /** With status 422: an entry for each field that is wrong. */
  detail?: ValidationDetail[];
  latency_ms: number;
  request_id: string;
}

/** The version of the interface this server speaks, told by /health and recorded in each collection. */
export const SERVICE_VERSION = '0.9.7';
/** Layout of the records in LMDB; raised by every change that an older server could not read. */
export const SCHEMA_VERSION = 1;
