// The query logs of all nodes as one: a node that is asked for logged searches asks the others for theirs. One that does not
// answer in time is left out. Runs on the main thread.
import { Packr } from 'msgpackr';
import type { Log } from '../../base/log.js';
import type { LinkServer, NodeAsk } from '../../cluster/node-links.js';
import type { NodeStates } from '../../cluster/node-states.js';
import type { AskOthers, QueryLog, ReadOp } from '../query-log/query-log.js';

interface SharedQueriesOptions {
  /** The id of this node. */
  readonly node: string;
  readonly nodes: Pick<NodeStates, 'all'>;
  readonly ask: NodeAsk;
  readonly log: Log;
}

const packr = new Packr({ moreTypes: true, useRecords: false });

const ASK_MS = 3000;
/** Others tell of themselves twice a second. */
const HEARD_MS = 10_000;

export function othersQueries({ node, nodes, ask, log }: SharedQueriesOptions): AskOthers {
  return async (op, read) => {
    const question = packr.pack({ op, read });
    const sinceMs = Date.now() - HEARD_MS;
    const others = nodes.all().filter((each) => each.node !== node && each.heardAtMs > sinceMs);
    const answers = others.map(async (other) => {
      try {
        return [packr.unpack(await ask('queries', other.node, question, ASK_MS))];
      } catch (error) {
        log.warn({ node: other.node, reason: (error as Error).message }, 'the query log of another node is left out');
        return [];
      }
    });
    return (await Promise.all(answers)).flat();
  };
}

/** Answers the questions of other nodes from now on. */
export function answerQueries(links: Pick<LinkServer, 'on'>, queryLog: Pick<QueryLog, 'readHere'>): void {
  links.on('queries', async (packed) => {
    const { op, read } = packr.unpack(packed) as { op: ReadOp; read: Parameters<QueryLog['readHere']>[1] };
    return packr.pack(await queryLog.readHere(op, read));
  });
}
