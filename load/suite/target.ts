// The server that a workload runs against: one that is there already, or one of the suite's own, which can be
// restarted. Made by run-suite.ts, used by the parts of a workload.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SheafClient } from '../../src/client/client.js';
import { untilResting } from '../kit/filling.js';
import { endProfile, profiled, type ThreadUse } from '../kit/profile/profiled.js';
import { startServer, type LoadServer, type Settings } from '../kit/server.js';

/** All collections of the suite are those of tenants whose names begin so. */
const TENANT_PREFIX = 'sheaf-load';

export interface CollectionName {
  tenant: string;
  name: string;
}

export const tenantOf = (name: string | undefined): string =>
  name === undefined ? TENANT_PREFIX : `${TENANT_PREFIX}-${name}`;

export interface TargetOptions {
  url?: string;
  apiKey?: string;
  /** Of a server of one's own. */
  folder: string;
  settings?: Settings;
}

const profilesIn = (folder: string): string => join(folder, 'profiles');

function started({ folder, settings }: TargetOptions, fromStart = false): Promise<LoadServer> {
  rmSync(profilesIn(folder), { recursive: true, force: true });
  mkdirSync(profilesIn(folder), { recursive: true });
  return startServer(folder, settings, { folder: profilesIn(folder), fromStart });
}

export class Target {
  readonly headers: Readonly<Record<string, string>>;
  private clientOfNow: SheafClient | undefined;

  private constructor(
    private readonly options: TargetOptions,
    private server: LoadServer | undefined,
  ) {
    this.headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
  }

  static async open(options: TargetOptions): Promise<Target> {
    return new Target(options, options.url === undefined ? await started(options) : undefined);
  }

  /** Another one after each restart. */
  get url(): string {
    return (this.server?.url ?? this.options.url ?? '').replace(/\/$/, '');
  }

  get client(): SheafClient {
    return (this.clientOfNow ??= new SheafClient({ url: this.url, key: this.options.apiKey }));
  }

  get isOwn(): boolean {
    return this.server !== undefined;
  }

  /**
   * `isSampled`: from the start of the new process on. Seconds that it took to end, and from the start of the new
   * process until it was ready. Requires: isOwn.
   */
  async restart(
    signal: 'SIGTERM' | 'SIGKILL',
    isSampled = false,
  ): Promise<{ stopSeconds: number; readySeconds: number }> {
    const server = this.server as LoadServer;
    const startedAtMs = performance.now();
    await (signal === 'SIGTERM' ? server.stop() : server.kill());
    const stopSeconds = (performance.now() - startedAtMs) / 1000;
    this.server = await started(this.options, isSampled);
    this.clientOfNow = undefined;
    return { stopSeconds, readySeconds: this.server.readyMs / 1000 };
  }

  /** Metrics want an administrator's key, where keys are wanted. */
  async showsMetrics(): Promise<boolean> {
    return (await fetch(`${this.url}/metrics`, { headers: this.headers })).ok;
  }

  /** Until it has linked and merged what was written; not at all where it does not tell. */
  async rest(checkMs: number, withinMs: number): Promise<void> {
    if (await this.showsMetrics()) await untilResting(this.url, checkMs, { headers: this.headers, withinMs });
  }

  /** What its threads are at meanwhile. Requires: isOwn. */
  profiled<T>(work: () => Promise<T>): Promise<{ result: T; threads: ThreadUse[] }> {
    return profiled((this.server as LoadServer).pid, profilesIn(this.options.folder), work);
  }

  /** The same since a restart that was to be sampled. */
  sinceStart(): Promise<ThreadUse[]> {
    return endProfile((this.server as LoadServer).pid, profilesIn(this.options.folder));
  }

  async close(): Promise<void> {
    await this.server?.kill();
  }
}
