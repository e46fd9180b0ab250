// A batch worker: work that takes longer than the front thread may, one task at a time. Asked by src/pool/batch-pool.ts.
// Errors go back as data: refusals for the client, faults for the log.
import { move, Piscina } from 'piscina';
import { AppError } from '../../src/contract/errors.js';
import type { Outcome, PrepareAnswer, PrepareRequest } from '../../src/contract/messages.js';
import { prepareDocument } from './prepare.js';

export function prepare(request: PrepareRequest): Outcome<PrepareAnswer> {
  try {
    const answer = prepareDocument(request);
    const buffers = [answer.document.buffer, ...(answer.vectors ? [answer.vectors.buffer] : [])];
    return move({ [Piscina.transferableSymbol]: buffers, [Piscina.valueSymbol]: { value: answer } } as never) as unknown as Outcome<PrepareAnswer>;
  } catch (error) {
    if (error instanceof AppError) return { error: error.toWire() };
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
