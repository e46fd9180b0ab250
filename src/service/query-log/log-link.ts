// The way of a front thread's entries to a log worker: a port that the main thread connects once, so that entries do not
// pass through the main thread. If the log worker dies, the port closes, and what is not answered is sent again over a
// new one; entries that are already stored are not added twice. Front threads only.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { AppError, ERROR_CODEC } from '../../api/errors.js';
import { RpcPeer } from '../../base/rpc.js';
import { LOG_APPEND, type PackedEntries } from '../../storage/query-log-commands.js';

/** A new port may still lead to the dead worker, until that has ended. The time between attempts doubles. */
const ATTEMPTS_MAX = 6;
const RETRY_MS = 50;

export class LogLink {
  private peer: Promise<RpcPeer> | undefined;

  /** `connect` resolves to a new port to the log worker of this front thread. */
  constructor(private readonly connect: () => Promise<MessagePort>) {}

  /**
   * Resolves when the entries are stored. `sent` is called when they are on their way, which they end even if this thread
   * does. Rejects with AppError (`storage_full`) or WorkerError.
   */
  readonly store = async (entries: PackedEntries, sent: () => void): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const peer = await (this.peer ??= this.connected());
        const stored = peer.call<void>(LOG_APPEND, entries);
        sent();
        return await stored;
      } catch (error) {
        if (error instanceof AppError || attempt === ATTEMPTS_MAX) throw error;
        await sleep(RETRY_MS * 2 ** (attempt - 1));
      }
    }
  };

  private async connected(): Promise<RpcPeer> {
    try {
      const port = await this.connect();
      const peer = new RpcPeer(port, {}, ERROR_CODEC, () => undefined);
      port.on('close', () => {
        this.peer = undefined;
        peer.end();
      });
      return peer;
    } catch (error) {
      this.peer = undefined;
      throw error;
    }
  }
}
