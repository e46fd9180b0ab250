// The backups that the server makes by itself: when the next one is due, one more now, and back from one of them.
import { useEffect, useState } from 'preact/hooks';
import type { Backup, BackupList } from '../../api/backups.js';
import type { RestoredDataset } from '../../api/archives.js';
import { listBackups, makeBackup, restoreBackup } from '../api.js';
import { loadCatalog } from '../collections/catalog.js';
import { Dialog, ErrorNote, Term } from '../components.tsx';
import { bytes, count, counted, moment } from '../format.js';
import { useAction, useLoaded } from '../hooks.js';

const PERIOD_MS = 1000;
const HOUR_MS = 3_600_000;

export function BackupsView({ tenant }: { tenant: string }) {
  const { value, error, reload } = useLoaded('backups', (signal) => listBackups(signal));
  const [chosen, setChosen] = useState<Backup>();
  const isRunning = value?.running === true;
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(reload, PERIOD_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return (
    <>
      <ErrorNote error={error} />
      {value?.store === null && (
        <div class="empty">
          <h2>No backups are made</h2>
          <p>
            With <code>backups.folder</code> or <code>backups.s3.url</code> in its configuration, the server makes an
            archive of everything by itself, and keeps the latest.
          </p>
        </div>
      )}
      {value && value.store !== null && <Backups list={value} onBegun={reload} onRestore={setChosen} />}
      {chosen && <Restore tenant={tenant} backup={chosen} onClose={() => setChosen(undefined)} />}
    </>
  );
}

function nextOf({ running, every_hours: hours, backups: [latest] }: BackupList): string {
  if (running) return 'is being made';
  return latest ? moment(new Date(Date.parse(latest.made_at) + hours * HOUR_MS).toISOString()) : 'soon';
}

function Backups({
  list,
  onBegun,
  onRestore,
}: {
  list: BackupList;
  onBegun: () => void;
  onRestore: (backup: Backup) => void;
}) {
  const { isBusy, error, run } = useAction();
  const make = async () => {
    await makeBackup();
    onBegun();
  };
  const { store, every_hours: hours, keep, running, failed_at: failedAt, backups } = list;
  return (
    <section aria-label="Backups">
      <dl class="figures">
        <Term name="kept in">a {store}</Term>
        <Term name="made every">{counted(hours, 'hour')}</Term>
        <Term name="kept">the latest {count(keep)}</Term>
        <Term name="the next">{nextOf(list)}</Term>
      </dl>
      <div class="tools">
        <button type="button" class="main" disabled={isBusy || running} onClick={() => run(make)}>
          {running ? 'A backup is being made …' : 'Make a backup now'}
        </button>
      </div>
      <ErrorNote error={error} />
      {failedAt !== null && (
        <p class="note bad" role="alert">
          A backup failed {moment(failedAt)}. The log of the server says why.
        </p>
      )}
      {backups.length === 0 ? (
        <p class="empty">There are no backups yet.</p>
      ) : (
        <div class="wide-table">
          <table>
            <thead>
              <tr>
                <th scope="col">Backup</th>
                <th scope="col">Made</th>
                <th scope="col">Size</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {backups.map((each) => (
                <tr>
                  <th scope="row">{each.name}</th>
                  <td>{moment(each.made_at)}</td>
                  <td>{bytes(each.bytes)}</td>
                  <td>
                    <button type="button" aria-label={`Restore ${each.name}`} onClick={() => onRestore(each)}>
                      Restore …
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Verifies the backup first, and says what it has; then everything is replaced by it. */
function Restore({ tenant, backup: { name }, onClose }: { tenant: string; backup: Backup; onClose: () => void }) {
  const { value, error } = useLoaded(`verified ${name}`, () => restoreBackup(name, true));
  const [restored, setRestored] = useState<RestoredDataset>();
  const { isBusy, error: failure, run } = useAction();
  const restore = async () => {
    setRestored(await restoreBackup(name, false));
    await loadCatalog(tenant);
  };
  const contents = restored ?? value;
  return (
    <Dialog title="Restore a backup" onClose={onClose}>
      <p>{name}</p>
      <ErrorNote error={error ?? failure} />
      {!contents && error === undefined && <p class="faint">The backup is being verified …</p>}
      {contents && (
        <p>
          {restored ? 'The server has now' : 'It has'} {counted(contents.counts.collections, 'collection')},{' '}
          {counted(contents.counts.documents, 'document')} and {counted(contents.counts.chunks, 'chunk')}.
        </p>
      )}
      {contents && contents.left_out.length > 0 && (
        <p class="note bad">Damaged collections are missing in it: {contents.left_out.join(', ')}</p>
      )}
      {!restored && value && (
        <>
          <p>
            <strong>It replaces everything: all collections, tenants and keys of this server.</strong> What came after
            the backup is gone then.
          </p>
          <footer>
            <button type="button" class="danger" disabled={isBusy} onClick={() => run(restore)}>
              {isBusy ? 'Restoring …' : 'Replace everything'}
            </button>
          </footer>
        </>
      )}
      {restored && (
        <footer>
          <button type="button" class="main" onClick={onClose}>
            Done
          </button>
        </footer>
      )}
    </Dialog>
  );
}
