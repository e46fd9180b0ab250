// The console's entry: shows the shell in the page and listens to the keyboard.
// Built by scripts/console.mjs; runs in the browser.
import { render } from 'preact';
import { App } from './shell/app.tsx';
import { showTheme } from './state/session.js';
import { listenToKeys } from './state/shortcuts.js';

showTheme();
listenToKeys();
render(<App />, document.getElementById('console') as HTMLElement);
