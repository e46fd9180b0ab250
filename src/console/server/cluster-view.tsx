// The nodes of the cluster as the one that answers hears of them, looked at again and again.
import { useEffect } from 'preact/hooks';
import type { ClusterState } from '../../api/cluster.js';
import { cluster } from '../api.js';
import { ErrorNote, Term } from '../components.tsx';
import { count, counted } from '../format.js';
import { useLoaded } from '../hooks.js';

const PERIOD_MS = 1000;
/** Nodes tell of themselves twice a second. */
const SILENT_MS = 3000;

export function ClusterView() {
  const { value, error, reload } = useLoaded('cluster', (signal) => cluster(signal));
  useEffect(() => {
    const timer = setInterval(() => void (document.hidden || reload()), PERIOD_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <ErrorNote error={error} />
      {value?.cluster === null && (
        <div class="empty">
          <h2>A single machine</h2>
          <p>
            This server is no node of a cluster. With <code>cluster.nats</code> in its configuration, several servers
            hold the same data and answer for each other.
          </p>
        </div>
      )}
      {value && value.cluster !== null && <Nodes state={value} />}
    </>
  );
}

function Nodes({ state: { cluster: name, node: own, leader, log, nodes, stalled } }: { state: ClusterState }) {
  return (
    <section aria-label="Nodes">
      <dl class="figures">
        <Term name="cluster">{name}</Term>
        <Term name="nodes">{count(nodes.length)}</Term>
        <Term name="command log">{log ? `${count(log.first)} to ${count(log.last)}` : 'does not answer'}</Term>
      </dl>
      {stalled.map(({ target, reason }) => (
        <p class="note bad">
          {target === 'catalog' ? 'The catalog' : `Shard ${target}`} of this node cannot apply the log: {reason}
        </p>
      ))}
      <div class="wide-table">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col">Applied</th>
              <th scope="col">Behind</th>
              <th scope="col">Loading</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map(({ node, applied, lag, fenced, loading, heard_at: heardAt }) => {
              const isSilent = Date.parse(heardAt) < Date.now() - SILENT_MS;
              return (
                <tr>
                  <th scope="row" title={node}>
                    <code>{node.slice(0, 8)}</code>{' '}
                    <span class="faint">
                      {[node === own && 'answers here', node === leader && 'leads'].filter(Boolean).join(', ')}
                    </span>
                  </th>
                  <td class={fenced !== null || isSilent ? 'bad' : ''}>
                    {fenced !== null ? `takes no writes: ${fenced}` : isSilent ? 'silent' : 'takes part'}
                  </td>
                  <td>{count(applied)}</td>
                  <td>{lag === 0 ? '–' : counted(lag, 'message')}</td>
                  <td>{loading === null ? 'holds all' : loading === 0 ? '–' : counted(loading, 'collection')}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
