/** What keeps a server from running here, in a line for the operator. Nothing is wrong with the program. */
export class OperatorError extends Error {}
