// The tenants of the server: their limits, and the keys of one of them. Needs the admin key where the server has keys.
import { useState } from 'preact/hooks';
import type { CreateKeyBody, EffectiveLimits, QuotaBody, TenantKey, TenantProfile } from '../../api/tenants.js';
import { SCOPES, type Scope } from '../../api/choices.js';
import {
  createKey,
  createTenant,
  deleteTenant,
  getTenant,
  listKeys,
  listTenants,
  revokeKey,
  updateTenant,
} from '../api.js';
import { Dialog, ErrorNote, Field, NameField, Tick } from '../components.tsx';
import { count, counted, moment, namesIn } from '../format.js';
import { useAction, useInSight, useLoaded } from '../hooks.js';
import { SureButton } from '../sure-button.tsx';
import { go, overviewOf, place, there } from '../state.js';

/** Tenants whose limits are asked for. */
const SHOWN = 100;
const PAGE = 'tenants';

export const tenantHref = (name: string): string => there({ params: { page: PAGE, name } });

export function TenantsView() {
  const { name } = place.value.params;
  const [word, setWord] = useState('');
  const [isMaking, setIsMaking] = useState(false);
  const { value, error, isLoading, reload } = useLoaded('tenants', (signal) => listTenants(signal));
  const found = value?.tenants.filter((each) => each.includes(word.trim())) ?? [];
  return (
    <>
      <div class="tools">
        <button type="button" onClick={() => setIsMaking(true)}>
          New tenant
        </button>
        <span class="grow" />
        {(value?.count ?? 0) > 8 && (
          <input
            type="search"
            placeholder="Find by name"
            aria-label="Find tenants by name"
            value={word}
            onInput={({ currentTarget }) => setWord(currentTarget.value)}
          />
        )}
      </div>
      <ErrorNote error={error} />
      {isLoading && !value && <p class="faint">Loading …</p>}
      <div class={name === undefined ? 'panes' : 'panes two'}>
        {value && <TenantTable names={found.slice(0, SHOWN)} all={found.length} chosen={name} />}
        {name !== undefined && <TenantPane key={name} name={name} onDeleted={reload} />}
      </div>
      {isMaking && <NewTenant onClose={() => setIsMaking(false)} onMade={reload} />}
    </>
  );
}

function TenantTable({ names, all, chosen }: { names: readonly string[]; all: number; chosen: string | undefined }) {
  const { value, error } = useLoaded(`profiles ${names.join('/')}`, (signal) =>
    Promise.all(names.map((each) => getTenant(each, signal))),
  );
  if (names.length === 0) return <p class="empty">There are no tenants yet: the first collection makes one.</p>;
  return (
    <section aria-label="Tenants">
      <ErrorNote error={error} />
      <div class="wide-table">
        <table>
          <thead>
            <tr>
              <th scope="col">Tenant</th>
              <th scope="col">Collections</th>
              {chosen === undefined && <th scope="col">Requests per second</th>}
              {chosen === undefined && <th scope="col">In progress</th>}
              {chosen === undefined && <th scope="col">Chunks in a collection</th>}
            </tr>
          </thead>
          <tbody>
            {names.map((each, i) => (
              <TenantRow name={each} profile={value?.[i]} chosen={chosen} />
            ))}
          </tbody>
        </table>
      </div>
      {all > names.length && <p class="faint">and {counted(all - names.length, 'tenant')} more: find them by name</p>}
    </section>
  );
}

const limit = (value: number | undefined): string => (value === undefined ? '' : value < 0 ? 'no limit' : count(value));

function TenantRow({
  name,
  profile,
  chosen,
}: {
  name: string;
  profile: TenantProfile | undefined;
  chosen: string | undefined;
}) {
  const limits: Partial<EffectiveLimits> = profile?.limits ?? {};
  return (
    <tr class={name === chosen ? 'chosen' : ''}>
      <th scope="row">
        <a href={tenantHref(name)} aria-current={name === chosen ? 'true' : undefined}>
          {name}
        </a>{' '}
        <span class="faint">{profile?.display_name}</span>
      </th>
      <td>{profile && count(profile.collection_count)}</td>
      {chosen === undefined && <td>{limit(limits.requests_per_second)}</td>}
      {chosen === undefined && <td>{limit(limits.max_in_flight)}</td>}
      {chosen === undefined && <td>{limit(limits.max_chunks_per_collection)}</td>}
    </tr>
  );
}

/** A tenant with its quotas and keys, beside the table. */
function TenantPane({ name, onDeleted }: { name: string; onDeleted: () => void }) {
  const element = useInSight();
  const { value, error, reload } = useLoaded(`tenant ${name}`, (signal) => getTenant(name, signal));
  return (
    <section class="pane" ref={element} aria-label={`Tenant ${name}`}>
      <header>
        <h2>{name}</h2>
        <a class="button" href={overviewOf(name)}>
          Open
        </a>
        <button type="button" class="plain" aria-label="Close" onClick={() => go({ params: { page: PAGE } })}>
          ✕
        </button>
      </header>
      <ErrorNote error={error} />
      {value && value.created_at !== null && <Quotas key={JSON.stringify(value)} profile={value} onSaved={reload} />}
      {value && value.created_at === null && (
        <p class="faint">
          This tenant was never created: its first collection made it. Create it by the same name to give it keys and
          quotas.
        </p>
      )}
      {value && value.created_at !== null && <Keys tenant={name} />}
      {value && value.created_at !== null && <DeleteTenant profile={value} onDeleted={onDeleted} />}
    </section>
  );
}

const QUOTAS = [
  ['max_collections', 'Collections'],
  ['max_chunks_per_collection', 'Chunks in a collection'],
  ['requests_per_second', 'Requests per second'],
  ['burst', 'Requests at once'],
  ['max_in_flight', 'Requests in progress'],
] as const satisfies readonly (readonly [keyof QuotaBody & keyof TenantProfile, string])[];

type Quota = (typeof QUOTAS)[number][0];

const textOf = (quota: number | null): string => (quota === null ? '' : quota < 0 ? 'none' : String(quota));
/** NaN for what is no number. */
const quotaOf = (text: string): number | null =>
  text.trim() === '' ? null : text.trim() === 'none' ? -1 : Number(text);

function Quotas({ profile, onSaved }: { profile: TenantProfile; onSaved: () => void }) {
  const [texts, setTexts] = useState<Readonly<Record<Quota, string>>>(
    () => Object.fromEntries(QUOTAS.map(([quota]) => [quota, textOf(profile[quota])])) as Record<Quota, string>,
  );
  const { isBusy, error, run } = useAction();
  const save = async () => {
    const body = Object.fromEntries(QUOTAS.map(([quota]) => [quota, quotaOf(texts[quota])]));
    const bad = QUOTAS.find(([quota]) => Number.isNaN(body[quota]));
    if (bad) throw new Error(`${bad[1]}: a number, “none” for no limit, or nothing for that of the server.`);
    await updateTenant(profile.tenant, body);
    onSaved();
  };
  const isSame = QUOTAS.every(([quota]) => texts[quota] === textOf(profile[quota]));
  return (
    <form class="quotas" onSubmit={(event) => (event.preventDefault(), run(save))}>
      {QUOTAS.map(([quota, label]) => (
        <Field label={label} hint={`In effect: ${limit(profile.limits[quota])}`}>
          <input
            value={texts[quota]}
            placeholder="as the server has it"
            inputMode="decimal"
            onInput={({ currentTarget }) => setTexts({ ...texts, [quota]: currentTarget.value })}
          />
        </Field>
      ))}
      <ErrorNote error={error} />
      <button type="submit" disabled={isBusy || isSame}>
        Save the limits
      </button>
    </form>
  );
}

function Keys({ tenant }: { tenant: string }) {
  const [isMaking, setIsMaking] = useState(false);
  const { value, error, reload } = useLoaded(`keys ${tenant}`, (signal) => listKeys(tenant, signal));
  return (
    <section aria-label="Keys">
      <header class="tools">
        <h3>{value ? counted(value.count, 'key') : 'Keys'}</h3>
        <span class="grow" />
        <button type="button" onClick={() => setIsMaking(true)}>
          New key
        </button>
      </header>
      <ErrorNote error={error} />
      <ul class="keys">
        {value?.keys.map((each) => (
          <KeyEntry key={each.key_id} tenant={tenant} of={each} onRevoked={reload} />
        ))}
      </ul>
      {isMaking && <NewKey tenant={tenant} onClose={() => setIsMaking(false)} onMade={reload} />}
    </section>
  );
}

/** What a key permits, in words. */
function permits({ scopes, collections, filters, requests_per_second: rate, max_in_flight: most }: TenantKey): string {
  return [
    scopes?.join(', ') ?? 'all scopes',
    collections ? `only ${collections.join(', ')}` : 'all collections',
    filters && `with the filter ${JSON.stringify(filters)}`,
    rate !== undefined && `${count(rate)} requests per second`,
    most !== undefined && `${count(most)} in progress`,
  ]
    .filter(Boolean)
    .join('; ');
}

function stateOf({ revoked_at: revoked, expires }: TenantKey): { words: string; isOpen: boolean } {
  if (revoked !== undefined) return { words: `revoked ${moment(revoked)}`, isOpen: false };
  if (expires === undefined) return { words: 'does not expire', isOpen: true };
  const isOver = Date.parse(expires) <= Date.now();
  return { words: `${isOver ? 'expired' : 'expires'} ${moment(expires)}`, isOpen: !isOver };
}

function KeyEntry({ tenant, of, onRevoked }: { tenant: string; of: TenantKey; onRevoked: () => void }) {
  const { words, isOpen } = stateOf(of);
  const revoke = async () => {
    await revokeKey(tenant, of.key_id);
    onRevoked();
  };
  return (
    <li class={isOpen ? '' : 'faint'}>
      <div class="tools">
        <strong>{of.label}</strong>
        <span class="grow" />
        {isOpen && <SureButton first="Revoke …" second="Revoke for good" label={`Revoke ${of.label}`} work={revoke} />}
      </div>
      <div>{permits(of)}</div>
      <small class="faint">
        made {moment(of.created_at)}, {words}
      </small>
    </li>
  );
}

/** The only time that a plaintext key is shown. */
function MadeKey({ plaintext, onClose }: { plaintext: string; onClose: () => void }) {
  const [isCopied, setIsCopied] = useState(false);
  return (
    <>
      <p>The server keeps no copy of this key, so it is shown only now:</p>
      <p>
        <code class="made-key">{plaintext}</code>
      </p>
      <footer>
        <button
          type="button"
          onClick={() => void navigator.clipboard.writeText(plaintext).then(() => setIsCopied(true))}
        >
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <button type="button" class="main" onClick={onClose}>
          Done
        </button>
      </footer>
    </>
  );
}

function NewTenant({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [form, setForm] = useState({ tenant: '', label: '' });
  const [plaintext, setPlaintext] = useState<string>();
  const { isBusy, error, run } = useAction();
  const make = async () => {
    const tenant = form.tenant.trim();
    const label = form.label.trim();
    const made = await createTenant({ tenant, ...(label !== '' && { display_name: label }) });
    setPlaintext(made.key);
    onMade();
    go({ params: { page: PAGE, name: tenant } });
  };
  return (
    <Dialog title={plaintext === undefined ? 'New tenant' : `The first key of ${form.tenant.trim()}`} onClose={onClose}>
      {plaintext === undefined ? (
        <form onSubmit={(event) => (event.preventDefault(), run(make))}>
          <NameField value={form.tenant} onName={(tenant) => setForm({ ...form, tenant })} />
          <Field label="Display name" hint="For people; may be empty.">
            <input
              maxLength={120}
              value={form.label}
              onInput={({ currentTarget }) => setForm({ ...form, label: currentTarget.value })}
            />
          </Field>
          <ErrorNote error={error} />
          <footer>
            <button type="submit" class="main" disabled={isBusy || form.tenant.trim() === ''}>
              Create
            </button>
          </footer>
        </form>
      ) : (
        <MadeKey plaintext={plaintext} onClose={onClose} />
      )}
    </Dialog>
  );
}

interface KeyForm {
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly collections: string;
  /** A day, as the browser's date field has it. */
  readonly expires: string;
}

function keyBody({ label, scopes, collections, expires }: KeyForm): CreateKeyBody {
  const names = namesIn(collections);
  return {
    ...(label.trim() !== '' && { label: label.trim() }),
    ...(scopes.length < SCOPES.length && { scopes: [...scopes] as NonNullable<CreateKeyBody['scopes']> }),
    ...(names.length > 0 && { collections: names as NonNullable<CreateKeyBody['collections']> }),
    ...(expires !== '' && { expires: new Date(expires).toISOString() }),
  };
}

function NewKey({ tenant, onClose, onMade }: { tenant: string; onClose: () => void; onMade: () => void }) {
  const [form, setForm] = useState<KeyForm>({ label: '', scopes: SCOPES, collections: '', expires: '' });
  const [plaintext, setPlaintext] = useState<string>();
  const { isBusy, error, run } = useAction();
  const make = async () => {
    setPlaintext((await createKey(tenant, keyBody(form))).key);
    onMade();
  };
  const turn = (scope: Scope, isOn: boolean) =>
    setForm({ ...form, scopes: SCOPES.filter((each) => (each === scope ? isOn : form.scopes.includes(each))) });
  return (
    <Dialog title={plaintext === undefined ? `New key of ${tenant}` : 'The new key'} onClose={onClose}>
      {plaintext === undefined ? (
        <form onSubmit={(event) => (event.preventDefault(), run(make))}>
          <Field label="Label" hint="For people and the query log.">
            <input
              autofocus
              maxLength={120}
              placeholder="primary"
              value={form.label}
              onInput={({ currentTarget }) => setForm({ ...form, label: currentTarget.value })}
            />
          </Field>
          <fieldset>
            <legend>It may</legend>
            {SCOPES.map((scope) => (
              <Tick label={scope} isOn={form.scopes.includes(scope)} onTurn={(isOn) => turn(scope, isOn)} />
            ))}
          </fieldset>
          <Field label="Only these collections" hint="Names with commas between; empty: all.">
            <input
              spellcheck={false}
              value={form.collections}
              onInput={({ currentTarget }) => setForm({ ...form, collections: currentTarget.value })}
            />
          </Field>
          <Field label="Expires" hint="Empty: never.">
            <input
              type="date"
              value={form.expires}
              onInput={({ currentTarget }) => setForm({ ...form, expires: currentTarget.value })}
            />
          </Field>
          <ErrorNote error={error} />
          <footer>
            <button type="submit" class="main" disabled={isBusy || form.scopes.length === 0}>
              Create
            </button>
          </footer>
        </form>
      ) : (
        <MadeKey plaintext={plaintext} onClose={onClose} />
      )}
    </Dialog>
  );
}

function DeleteTenant({ profile, onDeleted }: { profile: TenantProfile; onDeleted: () => void }) {
  const { tenant, collection_count: collections } = profile;
  const drop = async () => {
    await deleteTenant(tenant, collections > 0);
    onDeleted();
    go({ params: { page: PAGE } });
  };
  const further = collections > 0 ? ` with ${counted(collections, 'collection')}` : '';
  return (
    <section>
      <SureButton first="Delete the tenant …" second={`Delete ${tenant}${further} for good`} work={drop} />
    </section>
  );
}
