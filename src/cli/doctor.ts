// `sheaf doctor`: what a server would meet on this machine, a line each, with a remedy where one is needed. Called by
// machine-commands.ts; it reads, but for a file that it syncs in the data directory and removes.
import type { Config } from '../config-shape.js';
import { ConfigError } from '../config-tenant-keys.js';
import { readConfig } from '../config.js';
import { EXIT } from './command-line.js';
import { diskFindings } from './doctor-disk.js';
import { limitFindings, memoryFindings, runtimeFindings } from './doctor-machine.js';
import { portFinding } from './doctor-port.js';
import type { Finding } from './doctor-findings.js';
import { count, line, type Output } from './output.js';
import type { Style } from './style.js';

/** Exit code: 1 where a server could not run. */
export async function doctor(
  env: Record<string, string | undefined>,
  { json, style }: { json: boolean; style: Style },
  { stdout }: Output,
): Promise<number> {
  const [config, configFinding] = configOf(env);
  const findings = [
    configFinding,
    ...(await runtimeFindings()),
    ...limitFindings(),
    ...memoryFindings(),
    ...(config ? [...(await diskFindings(config.dataDir)), await portFinding(config)] : []),
  ];
  for (const finding of findings) line(stdout, json ? JSON.stringify(finding) : told(finding, style));
  const failed = findings.filter(({ state }) => state === 'fail').length;
  const warned = findings.filter(({ state }) => state === 'warn').length;
  if (!json)
    line(
      stdout,
      failed > 0
        ? `${count(failed, 'finding')} would keep a server from running here.`
        : warned > 0
          ? `A server runs here; ${count(warned, 'finding')} could be better.`
          : 'A server runs well here.',
    );
  return failed > 0 ? EXIT.failed : EXIT.done;
}

function told({ name, state, found, remedy }: Finding, { good, strong, bad }: Style): string {
  const mark = { ok: good('ok  '), warn: strong('warn'), fail: bad('fail') }[state];
  return `${mark}  ${name.padEnd(15)}  ${found}${remedy === undefined ? '' : `\n      ${' '.repeat(15)}  ${remedy}`}`;
}

function configOf(env: Record<string, string | undefined>): [Config | undefined, Finding] {
  const name = 'configuration';
  try {
    const config = readConfig(env);
    return [
      config,
      {
        name,
        state: 'ok',
        found: `${env['SHEAF_CONFIG'] ?? 'sheaf.yaml, where there is one,'} and the environment; auth.mode ${config.auth.mode}, ${config.partitions} shards`,
      },
    ];
  } catch (error) {
    if (!(error instanceof ConfigError) && (error as Error).name !== 'TlsError') throw error;
    return [undefined, { name, state: 'fail', found: (error as Error).message, remedy: 'sheaf init shows every key.' }];
  }
}
