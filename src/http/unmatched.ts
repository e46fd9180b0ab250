// What stands in an exchange for the route, the caller and the body before they are known, so that nothing has to ask
// whether they are. Constants, used by exchange.ts on the front thread.
import { AssertionFailed } from '../base/assert.js';
import type { Actor, Body, Route } from './route.js';

const TOO_EARLY = 'the request has not been matched and admitted';

export const NOBODY: Actor = { name: '', admin: false };
export const NO_BODY: Body = {
  contentType: '',
  isEmpty: true,
  bytes: tooEarly,
  form: tooEarly,
  stream: () => {
    throw new AssertionFailed(TOO_EARLY);
  },
};

/** Also the route of requests that have none: their 400s stay 400. */
export const UNMATCHED: Route = {
  operation: '',
  method: 'GET',
  path: '',
  access: 'public',
  statuses: [400],
  body: 'none',
  handle: tooEarly,
};

function tooEarly(): Promise<never> {
  return Promise.reject(new AssertionFailed(TOO_EARLY));
}
