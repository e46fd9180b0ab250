// A component that is fetched when it is first shown, so that the first page stays small.
// Used by the shell for each view. Where that fails it is tried again once the server is back.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { SheafUnreachable } from '../../client/errors.js';
import { returns } from '../state/session.js';
import { ErrorNote } from './error-note.tsx';

export function later<P extends object>(fetchIt: () => Promise<ComponentType<P>>): ComponentType<P> {
  let fetched: ComponentType<P> | undefined;
  return function Later(props: P) {
    const [state, setState] = useState<{ error?: unknown }>({});
    useEffect(() => {
      if (fetched) return;
      fetchIt().then(
        (component) => {
          fetched = component;
          setState({});
        },
        () => setState({ error: new SheafUnreachable(location.origin, 'this view could not be fetched') }),
      );
    }, [returns.value]);
    const Fetched = fetched;
    if (Fetched) return <Fetched {...props} />;
    return state.error === undefined ? <p class="faint">Loading …</p> : <ErrorNote error={state.error} />;
  };
}
