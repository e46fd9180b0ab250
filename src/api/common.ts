// Types that the bodies of all areas share: the common fields, the error envelope, value types, and the API version.
// Any thread.
import type { tags } from 'typia';
import type { ErrorType, ValidationDetail } from './errors.js';

/** A whole number, 0 or more. */
export type Whole = number & tags.Type<'uint32'>;

/** Fields that every successful JSON body has. */
export interface CommonFields {
  ok: true;
  /** Total time on the server in milliseconds. */
  latency_ms: number;
  request_id: string;
}

/** The JSON body of every error. */
export interface ErrorEnvelope {
  ok: false;
  /** Stable, machine-readable error code. */
  code: string;
  /** Message for people. */
  error: string;
  error_type?: ErrorType;
  details?: Record<string, unknown>;
  /** With status 422: an entry for each invalid field. */
  detail?: ValidationDetail[];
  latency_ms: number;
  request_id: string;
}

/**
 * The version of the PaveDB interface that this server implements. `/health` reports it, and each collection records
 * it.
 */
export const SERVICE_VERSION = '0.9.7';
/** Version of the record layout in LMDB. Every change that an older server cannot read increases it. */
export const SCHEMA_VERSION = 1;
