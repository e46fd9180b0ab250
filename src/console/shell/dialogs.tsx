// Dialog for the API key. The key is stored for the session of this tab only.
import { useState } from 'preact/hooks';
import { Dialog, Field } from '../components.tsx';
import { SHORTCUTS, showsHelp } from '../shortcuts.js';
import { apiKey, closeKey, refusedKey, useKey } from '../state.js';

export function KeyDialog() {
  const [key, setKey] = useState(apiKey.value);
  const use = (chosen: string) => {
    useKey(chosen);
    closeKey();
  };
  return (
    <Dialog title="API key" onClose={closeKey}>
      <Why />
      <form onSubmit={(event) => (event.preventDefault(), use(key.trim()))}>
        <Field
          label="Key or token"
          hint="Sent to this server only, and forgotten when this tab closes. The admin key permits everything; with a tenant's key the console shows its tenant."
        >
          <input
            type="password"
            value={key}
            autofocus
            autocomplete="off"
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
          />
        </Field>
        <footer>
          {apiKey.value && (
            <button type="button" onClick={() => use('')}>
              Forget the key
            </button>
          )}
          <button type="submit" class="main">
            Use the key
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Why the key is needed, if the server asked for it. */
function Why() {
  if (refusedKey.value === undefined) return null;
  return (
    <p class="note bad">
      {refusedKey.value === ''
        ? 'This server requires a key.'
        : 'The server rejects this key: it belongs to another server, was revoked, or has expired.'}
    </p>
  );
}

// Dialog with the keyboard shortcuts and a link to the API reference.

export function Help() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (showsHelp.value = false)}>
      <table class="keys">
        <tbody>
          {SHORTCUTS.map(([keys, words]) => (
            <tr>
              <th scope="row">
                {keys.split('  ').map((key) => (
                  <kbd>{key}</kbd>
                ))}
              </th>
              <td>{words}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <a href="docs/index">Documentation</a> of this version; <a href="docs">API reference</a> of the server.
      </p>
    </Dialog>
  );
}
