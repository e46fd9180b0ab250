// The nodes of a cluster, as one of them sees them.
import typia from 'typia';
import { jsonRoute, routes } from './route.js';

interface ClusterNodeState {
  /** The id of the node, which stays with its data directory. */
  node: string;
  /** The last message of the command log that it has received, and the last one up to which it has applied all. */
  received: number;
  applied: number;
  /** Messages that it has not applied yet. */
  lag: number;
  /** Why it takes no writes; null if it does. */
  fenced: string | null;
  /** Collections that it is loading; null if it holds all. */
  loading: number | null;
  /** When it was heard of last. Every node is heard of each second. */
  heard_at: string;
}

export interface ClusterState {
  /** The name of the cluster; null on a single machine. */
  cluster: string | null;
  /** The node that answers. */
  node: string | null;
  /** The node that does the work that one does for all, such as deleting what has expired. */
  leader: string | null;
  /** The first and the last message that the stream keeps; null if it does not answer. */
  log: { first: number; last: number } | null;
  nodes: ClusterNodeState[];
  /** Shards of this node, or its catalog, that cannot apply their next message now. */
  stalled: { target: string; reason: string }[];
}

export const CLUSTER_ROUTES = routes({
  getCluster: jsonRoute({
    path: '/v1/admin/cluster',
    method: 'GET',
    access: 'admin',
    tag: 'Health',
    summary: 'Nodes of the cluster',
    description: 'The nodes that this one hears of, how far each has applied the command log, and which one leads.',
    answer: {
      schema: typia.json.schema<ClusterState>(),
      example: {
        cluster: 'main',
        node: '4943473c-15ef-4488-96fe-43b0d83a5653',
        leader: '4943473c-15ef-4488-96fe-43b0d83a5653',
        log: { first: 1, last: 1207 },
        nodes: [
          {
            node: '4943473c-15ef-4488-96fe-43b0d83a5653',
            received: 1207,
            applied: 1207,
            lag: 0,
            fenced: null,
            loading: null,
            heard_at: '2026-01-05T09:30:00.000Z',
          },
        ],
        stalled: [],
      },
    },
    codes: [],
  }),
});
