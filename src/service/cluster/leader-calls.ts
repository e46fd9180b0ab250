// Calls of the leading node. In a cluster the jobs run on the node that leads, so what starts, stops or changes one is
// done there, whichever node is asked. Runs on the main thread.
import { Packr } from 'msgpackr';
import { AppError, type WireError } from '../../api/errors.js';
import { internalErrorOf } from '../../base/thread.js';
import type { Log } from '../../base/log.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { LinkServer, NodeAsk } from '../../cluster/node-links.js';

/** Work by its name. Inputs and answers are plain data. */
type Works = Readonly<Record<string, (input: never) => Promise<object>>>;

interface LeaderCallsOptions {
  readonly commandLog: Pick<ReplicatedLog, 'isLeader' | 'leaderNode' | 'received' | 'reached'>;
  readonly ask: NodeAsk;
  readonly links: Pick<LinkServer, 'on'>;
  readonly log: Log;
}

interface Question {
  readonly name: string;
  readonly input: object;
}

/** `through`: the caller has to apply everything up to this message to see what the answer tells of. */
type Answer = { readonly value: unknown; readonly through: number } | { readonly error: WireError };

const packr = new Packr({ useRecords: false });

/** A reindex is started when the embedder has answered; a rollback copies what is missing. */
const ASK_MS = 120_000;
const APPLIED_MS = 5000;

export class LeaderCalls {
  private works: Works = {};

  constructor(private readonly options: LeaderCallsOptions) {
    options.links.on('job', (question) => this.answer(question));
  }

  /** Whether this node leads. */
  get isHere(): boolean {
    return this.options.commandLog.isLeader;
  }

  /** Sets what this node does for others while it leads. */
  serve(works: Works): void {
    this.works = works;
  }

  /**
   * Has work done by the leading node. Rejects with the AppError of that node, and with 503 `not_ready` where no node
   * leads.
   */
  async ask<A>(name: string, input: object): Promise<A> {
    const { commandLog, ask } = this.options;
    const leader = commandLog.leaderNode();
    if (leader === undefined) throw noLeader();
    let packed: Uint8Array;
    try {
      packed = await ask('job', leader, packr.pack({ name, input } satisfies Question), ASK_MS);
    } catch {
      throw noLeader();
    }
    const answer = packr.unpack(packed) as Answer;
    if ('error' in answer) throw AppError.fromWire(answer.error);
    await commandLog.reached(answer.through, APPLIED_MS);
    return answer.value as A;
  }

  private async answer(packed: Uint8Array): Promise<Uint8Array> {
    const { name, input } = packr.unpack(packed) as Question;
    let answer: Answer;
    try {
      const work = this.works[name];
      if (!work || !this.isHere) throw noLeader();
      const value = await work(input as never);
      answer = { value, through: this.options.commandLog.received };
    } catch (error) {
      if (!(error instanceof AppError))
        this.options.log.error({ error: internalErrorOf(error) }, 'a call of another node has failed');
      answer = { error: (error instanceof AppError ? error : new AppError('internal_error')).toWire() };
    }
    return packr.pack(answer);
  }
}

const noLeader = (): AppError =>
  new AppError('not_ready', 'No node of the cluster leads at the moment.', { retryAfterS: 3 });
