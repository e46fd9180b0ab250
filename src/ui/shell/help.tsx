// The keys of the keyboard, and where to read on.
// Opened by `?` and from the bar.
import { Dialog } from '../parts/dialog.tsx';
import { SHORTCUTS, showsHelp } from '../state/shortcuts.js';

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
