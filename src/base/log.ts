// What the parts of the server need of a logger; levels as in pino. Types only.

export interface Log {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** What each worker tells of itself when it has loaded: its thread id. */
export interface LoadedNote {
  loaded: number;
}

/** What a worker wants logged, though it goes on. */
export interface LogNote {
  level: 'info' | 'warn' | 'error';
  fields: Record<string, unknown>;
  message: string;
}
