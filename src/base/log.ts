// The logger interface, with the levels of pino, and the messages by which workers log. Types only.

export interface Log {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** Sent by each worker when it has loaded: its thread id. */
export interface ReadyNote {
  ready: number;
}

/** A log line that a worker sends to the main thread. */
export interface LogNote {
  level: keyof Log;
  fields: Record<string, unknown>;
  message: string;
}
