// The completion scripts in real shells: how each completes a word that has been begun. bash and fish are called
// directly. zsh completes only on a terminal, so the test gives it one and presses Tab. A shell that is not installed
// is skipped.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const SHELL_TIMEOUT_MS = 60_000;
const folder = tempDirectory();

const CASES: [typed: string, wanted: string[]][] = [
  ['sheaf col', ['collections']],
  ['sheaf collections re', ['rename']],
  ['sheaf search --mode h', ['hybrid']],
  ['sheaf search -c notes --expl', ['--explain']],
  ['sheaf keys make --scope m', ['manage']],
  ['sheaf reindex start --co', ['--collection', '--compact']],
];

const has = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;

function save(shell: string): void {
  const { stdout } = spawnSync(process.execPath, [MAIN, 'completion', shell], { encoding: 'utf8' });
  writeFileSync(join(folder, `sheaf.${shell}`), stdout);
}

function run(shell: string, args: string[]): { out: string; err: string } {
  const { stdout, stderr } = spawnSync(shell, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: SHELL_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  return { out: stdout.trim(), err: stderr };
}

test('bash completes commands, options and values', { skip: !has('bash') && 'there is no bash' }, () => {
  save('bash');
  for (const [typed, wanted] of CASES) {
    const words = typed.split(' ');
    const { out, err } = run('bash', [
      '-c',
      `source sheaf.bash; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _sheaf; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
    assert.deepEqual(out.split('\n'), wanted, `${typed}: ${err}`);
  }
});

/** Presses Tab and Enter; the completed line then reports how it was completed. */
const PRESS_TAB = `
zmodload zsh/zpty
zpty shell zsh -fi
zpty -w shell 'PS1= PS2=; autoload -Uz compinit; compinit -D -u; source ./sheaf.zsh; sheaf() { print -r -- "<$*>" }; print ready-$((1+1))'
until [[ $seen == *ready-2* ]]; do zpty -r shell piece; seen+=$piece; done
seen=
zpty -w shell "$1"$'\\t'
until [[ $seen == *'<'*'>'* ]]; do zpty -r shell piece; seen+=$piece; done
print -r -- "\${\${seen##*\\<}%%\\>*}"`;

test('zsh completes them on a terminal, when Tab is pressed', { skip: !has('zsh') && 'there is no zsh' }, () => {
  save('zsh');
  writeFileSync(join(folder, 'press-tab.zsh'), PRESS_TAB);
  for (const [typed, wanted] of CASES) {
    const before = typed.split(' ').slice(1, -1);
    const { out, err } = run('zsh', ['-f', 'press-tab.zsh', typed]);
    // Where several words fit, the line gets their common prefix.
    assert.equal(out, [...before, wanted.length === 1 ? wanted[0] : '--co'].join(' '), `${typed}: ${err}`);
  }
});

test('fish completes them', { skip: !has('fish') && 'there is no fish' }, () => {
  save('fish');
  for (const [typed, wanted] of CASES) {
    const { out, err } = run('fish', ['--no-config', '-c', `source sheaf.fish; complete -C '${typed}'`]);
    assert.deepEqual(
      out
        .split('\n')
        .map((line) => line.split('\t')[0])
        .sort(),
      wanted,
      `${typed}: ${err}`,
    );
  }
});
