// Use case that tells of the nodes of the cluster. Runs on the main thread.
import type { CLUSTER_ROUTES } from '../../api/cluster.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { ClusterNode } from '../../cluster/node.js';
import type { UseCases } from '../use-case.js';

/** Both are absent on a single machine. */
export interface ClusterContext {
  readonly node: ClusterNode | undefined;
  readonly commandLog: Pick<ReplicatedLog, 'nodes' | 'leaderNode' | 'stalls'> | undefined;
}

export const clusterUseCases = ({ node, commandLog }: ClusterContext): UseCases<typeof CLUSTER_ROUTES> => ({
  getCluster: async () => {
    if (!node || !commandLog) return { cluster: null, node: null, leader: null, log: null, nodes: [], stalled: [] };
    const state = await node.stream.state().catch(() => null);
    const nodes = commandLog.nodes.all().map(({ node: id, received, applied, fenced, memory, heardAtMs }) => ({
      node: id,
      received,
      applied,
      fenced,
      lag: Math.max(0, (state?.last ?? received) - applied),
      loading: memory?.loading.length ?? null,
      heard_at: new Date(heardAtMs).toISOString(),
    }));
    return {
      cluster: node.name,
      node: node.id,
      leader: commandLog.leaderNode() ?? null,
      log: state && { first: state.first, last: state.last },
      nodes,
      stalled: commandLog.stalls().map(({ target, reason }) => ({ target: String(target), reason })),
    };
  },
});
