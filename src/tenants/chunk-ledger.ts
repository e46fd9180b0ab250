// Holds each collection to the number of chunks it may have, over all shards. Keeps for each a bound that its count is
// not over: every document counts as all new, and only when the bound says that it may not fit are those under way
// waited for and the chunks counted. Documents that replace others therefore cost a count now and then, and never a
// wrong refusal. Made by server.ts; used by service/put-document.ts, on the front thread.
import type { CollectionId } from '../contract/ids.js';

export interface Addition<T> {
  /** Chunks of the document. */
  readonly chunks: number;
  /** How many its collection may have. */
  readonly chunksMax: number;
  /** Counts what the collection has, over all shards. */
  readonly count: () => Promise<number>;
  /** Sends the document, which is refused where it would make the collection grow by more than `room` chunks. */
  readonly send: (room: number) => Promise<T>;
}

interface Account {
  /** The collection has at most so many chunks; Infinity until it is counted. */
  bound: number;
  readonly underWay: Set<Promise<unknown>>;
  /** Documents that wait for a count, and the end of their line. */
  waiting: number;
  lineEnd: Promise<unknown>;
}

const ACCOUNTS_MAX = 1024;

export class ChunkLedger {
  private readonly accounts = new Map<CollectionId, Account>();

  /**
   * Sends a document, in the order of the calls. Rejects with what `count` or `send` rejects with. Only what bypasses
   * the ledger between a count and the next can take a collection over its limit.
   */
  async add<T>(id: CollectionId, addition: Addition<T>): Promise<T> {
    const account = this.accountOf(id);
    if (account.waiting === 0 && fits(account, addition)) return this.sent(account, addition);
    account.waiting += 1;
    const started = account.lineEnd
      .then(() => this.afterCount(account, addition))
      .finally(() => (account.waiting -= 1));
    account.lineEnd = started.catch(() => undefined);
    return (await started).answer;
  }

  /** Answers an object, so that the line moves on when the document has been sent and not when it is answered. */
  private async afterCount<T>(account: Account, addition: Addition<T>): Promise<{ answer: Promise<T> }> {
    if (!fits(account, addition)) {
      await Promise.allSettled(account.underWay);
      account.bound = await addition.count();
    }
    const answer = this.sent(account, addition);
    // It is the caller's to look at; until then it is not unhandled.
    answer.catch(() => undefined);
    return { answer };
  }

  private async sent<T>(account: Account, { chunks, chunksMax, send }: Addition<T>): Promise<T> {
    const answer = send(Math.max(0, chunksMax - account.bound));
    account.bound += chunks;
    account.underWay.add(answer);
    try {
      return await answer;
    } finally {
      account.underWay.delete(answer);
    }
  }

  private accountOf(id: CollectionId): Account {
    let account = this.accounts.get(id);
    if (!account) {
      if (this.accounts.size >= ACCOUNTS_MAX) this.dropIdle();
      this.accounts.set(
        id,
        (account = { bound: Infinity, underWay: new Set(), waiting: 0, lineEnd: Promise.resolve() }),
      );
    }
    return account;
  }

  /** What is dropped is counted again. */
  private dropIdle(): void {
    for (const [id, { underWay, waiting }] of this.accounts)
      if (underWay.size === 0 && waiting === 0) this.accounts.delete(id);
  }
}

const fits = ({ bound }: Account, { chunks, chunksMax }: Addition<unknown>): boolean => bound + chunks <= chunksMax;
