// What a use case that answers a route is given: the checked input of the route, and who calls. Types only.
import type { AnswerOf, InputOf, JsonOperations } from '../api/route.js';
import type { Departure } from '../base/signals.js';
import type { Actor } from './tenants/actor.js';

/** Who calls; a request is one. */
export interface Caller {
  /** Id of the request. */
  readonly id: string;
  readonly actor: Actor;
  /** Aborted when the caller has gone. Made when it is first asked for. */
  readonly signal: AbortSignal;
  /** The same for work that only waits in a queue: it costs nothing. */
  readonly departure: Departure;
  /** For calls of other machines; undefined where nothing is traced. */
  readonly trace?: { readonly traceparent: string } | undefined;
}

/** A function for each route of an area that takes and answers JSON, by its operation. It throws AppError. */
export type UseCases<Routes> = {
  readonly [O in JsonOperations<Routes>]: (
    input: InputOf<Routes[O]>,
    caller: Caller,
  ) => AnswerOf<Routes[O]> | Promise<AnswerOf<Routes[O]>>;
};
