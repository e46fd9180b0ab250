// The weights of an `Accept` or `Accept-Encoding` header (RFC 9110, 12.4.2), and the choice of MessagePack. Pure.
import { MSGPACK_TYPE } from '../api/msgpack.js';

/** Parses `gzip;q=0.5, br` into weights by name. An invalid q-value counts as 0. */
export function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((word) => word.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const weight = q === undefined ? 1 : /^[01](\.\d{0,3})?$/.test(q) ? Math.min(Number(q), 1) : 0;
    if (name !== '') weights.set(name, weight);
  }
  return weights;
}

/** Whether an `Accept` header names MessagePack and does not prefer JSON. */
export function prefersMsgpack(accept: string): boolean {
  if (accept === MSGPACK_TYPE) return true;
  if (!/msgpack/i.test(accept)) return false;
  const weights = weightsOf(accept);
  const weight = weights.get(MSGPACK_TYPE) ?? 0;
  const ofJson = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return weight > 0 && weight >= ofJson;
}
