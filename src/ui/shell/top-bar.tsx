// The bar at the top: whether the server is well, whose collections are shown, the key, light or dark, help.
// A part of the shell.
import { useEffect, useState } from 'preact/hooks';
import { health, listTenants } from '../server/api.js';
import { useLoaded } from '../parts/loaded.js';
import { hrefOf } from '../plain/address.js';
import { place } from '../state/place.js';
import { apiKey, asksForKey, nextTheme, theme, useTheme } from '../state/session.js';
import { showsHelp } from '../state/shortcuts.js';

const HEALTH_MS = 10_000;
const MARKS: Readonly<Record<string, string>> = { ready: 'good', asking: 'faint' };
const SIGNS = { system: '◐', light: '☀', dark: '☾' };

export function TopBar() {
  return (
    <header class="bar">
      <a class="brand" href={hrefOf({ tenant: place.value.tenant, view: 'documents', params: {} })}>
        Sheaf
      </a>
      <HealthMark />
      <TenantField />
      <span class="grow" />
      <button type="button" class="plain" onClick={() => (asksForKey.value = true)} title="Enter an API key (K)">
        {apiKey.value ? 'Key ✓' : 'Key'}
      </button>
      <button type="button" class="plain" onClick={() => useTheme(nextTheme())} title={`Colours: ${theme.value} (t)`} aria-label={`Colours: ${theme.value}`}>
        {SIGNS[theme.value]}
      </button>
      <button type="button" class="plain" onClick={() => (showsHelp.value = true)} title="Keys of the keyboard (?)" aria-label="Keys of the keyboard">
        ?
      </button>
    </header>
  );
}

function HealthMark() {
  const [state, setState] = useState<{ words: string; version?: string }>({ words: 'asking' });
  useEffect(() => {
    const ask = () => health().then(({ status, version }) => setState({ words: status, version }), () => setState({ words: 'no answer' }));
    void ask();
    const timer = setInterval(ask, HEALTH_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class={`mark ${MARKS[state.words] ?? 'bad'}`} role="status" title={state.version && `Sheaf ${state.version}`}>
      {state.words}
    </span>
  );
}

/** A list of them is the admin's to see; others enter theirs. */
function TenantField() {
  const { value } = useLoaded('tenants', (signal) => listTenants(signal).catch(() => undefined));
  const { tenant } = place.value;
  const choose = (chosen: string) => {
    if (chosen.trim() && chosen !== tenant) location.hash = hrefOf({ tenant: chosen.trim(), view: 'documents', params: {} });
  };
  return (
    <label class="tenant">
      Tenant
      <input list="tenants" value={tenant} size={12} spellcheck={false} autocomplete="off" onFocus={({ currentTarget }) => currentTarget.select()} onChange={({ currentTarget }) => choose(currentTarget.value)} />
      <datalist id="tenants">{value?.tenants.map((each) => <option value={each} />)}</datalist>
    </label>
  );
}
