// `sheaf cluster`: the nodes of a cluster, as the node that answers sees them, which requires the admin key.
import type { ClusterState } from '../api/cluster.js';
import { EXIT, type CommandLine, type ServerFlags, examples, serverOf, withServer } from './command-line.js';
import { UsageError } from './errors.js';
import { type Output, line, ownFields, table } from './output.js';

export function addClusterCommand({ program, env, output, ended }: CommandLine): void {
  withServer(program.command('cluster'))
    .description(
      'show the nodes of a cluster, and how far each has applied the command log; exit code 1 if one is unwell',
    )
    .option('--json', 'print the answer as JSON')
    .addHelpText(
      'after',
      examples('export SHEAF_API_KEY=$(cat data/admin.key)', 'sheaf cluster', 'sheaf cluster --json'),
    )
    .action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
      const state = ownFields(await serverOf(flags, env).client.admin.cluster());
      if (json) line(output.stdout, JSON.stringify(state, null, 2));
      else show(state, output);
      if (state.stalled.length > 0 || state.nodes.some(({ fenced }) => fenced !== null)) ended(EXIT.failed);
    });
}

function show({ cluster, node: own, leader, log, nodes, stalled }: ClusterState, { stdout }: Output): void {
  if (cluster === null) throw new UsageError('The server is not a node of a cluster: cluster.nats is not set.');
  line(
    stdout,
    `Cluster ${cluster}; ${log ? `the log has messages ${log.first} to ${log.last}` : 'the log does not answer'}`,
  );
  const roleOf = (node: string): string =>
    [node === leader && 'leads', node === own && 'answers'].filter((role) => role !== false).join(', ');
  line(
    stdout,
    table(
      ['node', 'role', 'applied', 'behind', 'writes', 'loading', 'heard of'],
      nodes.map(({ node, applied, lag, fenced, loading, heard_at: at }) => [
        node,
        roleOf(node),
        applied,
        lag,
        fenced === null ? 'yes' : `no: ${fenced}`,
        loading ?? 'holds all',
        at,
      ]),
    ),
  );
  for (const { target, reason } of stalled)
    line(stdout, `${target === 'catalog' ? 'The catalog' : `Shard ${target}`} of this node is behind: ${reason}`);
}
