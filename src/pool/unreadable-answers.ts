// Answers of workers that this thread cannot read: a structured clone that is nested too deep for the stack here, for
// one. The port then tells of an error in place of the message, and Piscina listens for none: whoever asked would wait
// for ever. The message says no more than whose it was, so its thread is ended, and what it had under way is met as any
// death of a worker. No answer of ours is nested so deep; this is for the one that is. Front thread.
import type { Piscina } from 'piscina';
import type { MessagePort, Worker } from 'node:worker_threads';

interface WorkerInfo {
  readonly worker: Worker;
  readonly port: MessagePort;
}

export function endThreadsOfUnreadableAnswers(piscina: Piscina): void {
  piscina.on('workerCreate', (created: Record<symbol, WorkerInfo>) => {
    // Piscina keeps the port under a symbol of its own.
    const symbol = Object.getOwnPropertySymbols(created).find(({ description }) =>
      description?.endsWith('kWorkerData'),
    );
    const info = symbol && created[symbol];
    info?.port.on('messageerror', () => void info.worker.terminate());
  });
}
