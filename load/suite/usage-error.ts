// What the user of the suite can mend, in a line or a few: shown without a stack.
// Thrown by its commands and readers.

export class UsageError extends Error {}
