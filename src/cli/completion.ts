// `sheaf completion`: generates a shell script from the command definitions. The script follows the typed words through
// the tree of commands and completes subcommands, options and option values; files are left to the shell. Pure.
import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A command with all of its words: `sheaf collections list`. */
interface Place {
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly Option[];
}

export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, 'sheaf');
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](places);
}

function placesOf(command: Command, path: string): Place[] {
  const below = command.commands.filter((each) => each.name() !== 'help');
  const place = {
    path,
    commands: below.map((each) => ({ name: each.name(), description: each.description() })),
    options: command.options,
  };
  return [place, ...below.flatMap((each) => placesOf(each, `${path} ${each.name()}`))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const words = (texts: readonly string[]): string => texts.join(' ');
const flagsOf = ({ options }: Place): string[] => [
  ...options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined)),
  '--help',
];
const namesOf = ({ commands }: Place): string[] => commands.map(({ name }) => name);
const pathsBelow = (places: readonly Place[]): string =>
  places
    .slice(1)
    .map(({ path }) => quoted(path))
    .join(' | ');

/** Options with a fixed set of values: the words before the value, and the values. */
function choicesOf({ path, options }: Place): { before: string[]; values: readonly string[] }[] {
  return options.flatMap(({ short, long, argChoices }) =>
    argChoices
      ? [
          {
            before: [short, long].filter((flag) => flag !== undefined).map((flag) => `${path} ${flag}`),
            values: argChoices,
          },
        ]
      : [],
  );
}

function bashScript(places: readonly Place[]): string {
  const choices = places
    .flatMap(choicesOf)
    .map(
      ({ before, values }) =>
        `    ${before.map(quoted).join(' | ')}) COMPREPLY=($(compgen -W ${quoted(words(values))} -- "$word")); return ;;`,
    );
  const rest = places.map(
    (place) =>
      `    ${quoted(place.path)}) commands=${quoted(words(namesOf(place)))}; flags=${quoted(words(flagsOf(place)))} ;;`,
  );
  return `# bash completion of sheaf: source <(sheaf completion bash)
_sheaf() {
  local word=\${COMP_WORDS[COMP_CWORD]} at=sheaf commands= flags= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in ${pathsBelow(places)}) at="$at \${COMP_WORDS[i]}" ;; esac
  done
  case "$at \${COMP_WORDS[COMP_CWORD - 1]}" in
${choices.join('\n')}
  esac
  case "$at" in
${rest.join('\n')}
  esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word")); else COMPREPLY=($(compgen -W "$commands" -- "$word")); fi
}
complete -o default -F _sheaf sheaf`;
}

function zshScript(places: readonly Place[]): string {
  const described = ({ name, description }: Place['commands'][number]): string => quoted(`${name}:${description}`);
  const choices = places
    .flatMap(choicesOf)
    .map(({ before, values }) => `    (${before.map(quoted).join('|')}) compadd -- ${words(values)}; return ;;`);
  const rest = places.map(
    (place) =>
      `    (${quoted(place.path)}) commands=(${place.commands.map(described).join(' ')}); flags=(${words(flagsOf(place))}) ;;`,
  );
  return `#compdef sheaf
# zsh completion of sheaf: source <(sheaf completion zsh)
_sheaf() {
  local at=sheaf i
  local -a commands flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in (${pathsBelow(places).replaceAll(' | ', '|')}) at="$at \${words[i]}" ;; esac
  done
  case "$at \${words[CURRENT - 1]}" in
${choices.join('\n')}
  esac
  case "$at" in
${rest.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then compadd -- $flags
  elif (( $#commands )); then _describe command commands
  else _files; fi
}
compdef _sheaf sheaf`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const here = `complete -c sheaf -n "test (__sheaf_at) = '${path}'"`;
    return [
      ...commands.map(({ name, description }) => `${here} -f -a ${quoted(name)} -d ${quoted(description)}`),
      ...options.map((option) => `${here} ${fishOption(option)} -d ${quoted(option.description)}`),
    ];
  });
  return `# fish completion of sheaf: sheaf completion fish | source
function __sheaf_at
  set -l at sheaf
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${pathsBelow(places).replaceAll(' | ', ' ')}
        set at "$at $word"
    end
  end
  echo $at
end
${lines.join('\n')}`;
}

function fishOption({ short, long, argChoices, required, optional }: Option): string {
  const names = [...(short ? [`-s ${short.slice(1)}`] : []), ...(long ? [`-l ${long.slice(2)}`] : [])];
  const value = argChoices ? [`-x -a ${quoted(words(argChoices))}`] : required || optional ? ['-r'] : [];
  return [...names, ...value].join(' ');
}
