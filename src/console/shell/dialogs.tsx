// Where the key is entered. It stays in the session of this tab, and goes with it.
// Opened from the bar, by the keyboard, and when the server wants a key.
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
          hint="Sent to this server only, and forgotten with this tab. The admin key opens all; a tenant's key wants its tenant at the top."
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
              Forget it
            </button>
          )}
          <button type="submit" class="main">
            Use it
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Where the server has asked for it. */
function Why() {
  if (refusedKey.value === undefined) return null;
  return (
    <p class="note bad">
      {refusedKey.value === ''
        ? 'This server wants a key.'
        : 'The server does not take this key: it is another server’s, was revoked, or has expired.'}
    </p>
  );
}

// The keys of the keyboard, and where to read on.
// Opened by `?` and from the bar.

export function Help() {
  return (
    <Dialog title="Keys of the keyboard" onClose={() => (showsHelp.value = false)}>
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
        The interface behind all this: <a href="docs">the reference</a>.
      </p>
    </Dialog>
  );
}
