/**
 * An error in the environment or configuration that prevents the server from running; its message is one line for the
 * operator.
 */
export class OperatorError extends Error {}
