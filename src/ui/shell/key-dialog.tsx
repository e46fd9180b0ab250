// Where the key is entered. It stays in the session of this tab, and goes with it.
// Opened from the bar, by the keyboard, and when the server wants a key.
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { apiKey, asksForKey, useKey } from '../state/session.js';

export function KeyDialog() {
  const [key, setKey] = useState(apiKey.value);
  const close = () => (asksForKey.value = false);
  const use = (chosen: string) => {
    useKey(chosen);
    close();
  };
  return (
    <Dialog title="API key" onClose={close}>
      <form onSubmit={(event) => (event.preventDefault(), use(key.trim()))}>
        <Field label="Key or token" hint="Sent to this server only, and forgotten with this tab. The admin key opens all; a tenant's key wants its tenant at the top.">
          <input type="password" value={key} autofocus autocomplete="off" onInput={({ currentTarget }) => setKey(currentTarget.value)} />
        </Field>
        <footer>
          {apiKey.value && (
            <button type="button" onClick={() => use('')}>Forget it</button>
          )}
          <button type="submit" class="main">Use it</button>
        </footer>
      </form>
    </Dialog>
  );
}
