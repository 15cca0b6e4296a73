import type { DescribedCommand, DescribedOption } from './command-table.ts';

/** Options without a command. */
const PROGRAM_OPTIONS = ['--help', '--settings', '--version'];

/** The file names under which shells look for completions, and how to generate each. */
export const COMPLETIONS: Record<string, (commands: readonly DescribedCommand[]) => string> = {
  'picpool.bash': bash,
  _picpool: zsh,
  'picpool.fish': fish,
};

function bash(commands: readonly DescribedCommand[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options.flatMap((option) =>
      option.choices
        ? `    '${name} --${option.name}') words=${quoted(option.choices.join(' '))} ;;`
        : option.placeholder !== null
          ? `    '${name} --${option.name}') return ;;`
          : [],
    ),
  );
  const words = commands.map(
    ({ name, verbs, options }) =>
      `    ${name}) options=${quoted(options.flatMap(spellings).join(' '))} verbs=${quoted(verbs.join(' '))} ;;`,
  );
  return `# Completions of picpool for bash.
_picpool() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local words= options= verbs=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted([...commands.map(({ name }) => name), 'help', ...PROGRAM_OPTIONS].join(' '))} -- "$current"))
    return
  fi
  # Bash takes --name=value for three words.
  if [ "$current" = = ]; then current=; elif [ "$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  case "$command $before" in
${values.join('\n')}
  esac
  case $command in
${words.join('\n')}
    help) words=${quoted(commands.map(({ name }) => name).join(' '))} ;;
  esac
  case $current in
    -*) words=$options ;;
    *) [ "$COMP_CWORD" -ne 2 ] || words="$words $verbs" ;;
  esac
  # Without words, the shell offers files.
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _picpool picpool
`;
}

function zsh(commands: readonly DescribedCommand[]): string {
  const list = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, verbs, options }) => {
    const specs = options.map((option) => `      ${zshOption(option)}`);
    const rest = verbs.length > 0 ? `'1: :(${verbs.join(' ')})' '*: :_files'` : `'*: :_files'`;
    return `    ${name}) _arguments \\\n${specs.join(' \\\n')} \\\n      ${rest} ;;`;
  });
  return `#compdef picpool
# Completions of picpool for zsh.
_picpool() {
  local -a commands=(
${list.join('\n')}
    'help:print the options of a command'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    compadd -- ${PROGRAM_OPTIONS.join(' ')}
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
    help) _describe command commands ;;
  esac
}
_picpool "$@"
`;
}

function zshOption(option: DescribedOption): string {
  const { name, short, placeholder, help, choices } = option;
  const text = help.replace(/[[\]\\:]/g, '\\$&');
  const action = choices ? `(${choices.join(' ')})` : placeholder === 'FILE' ? '_files' : ' ';
  const value = placeholder === null ? '' : `:${placeholder.replaceAll(':', '\\:')}:${action}`;
  const long = `--${name}${placeholder === null ? '' : '='}`;
  const rest = quoted(`[${text}]${value}`);
  if (short === undefined) return quoted(long) + rest;
  return `'(-${short} --${name})'{-${short},${long}}${rest}`;
}

function fish(commands: readonly DescribedCommand[]): string {
  const lines = ['# Completions of picpool for fish.'];
  const first = `complete -c picpool -n __fish_use_subcommand`;
  for (const { name, summary } of commands) lines.push(`${first} -f -a ${name} -d ${escaped(summary)}`);
  lines.push(
    `${first} -f -l help -d 'Prints the commands'`,
    `${first} -f -l version -d 'Prints the version'`,
  );
  for (const { name, verbs, options } of commands) {
    const under = `complete -c picpool -n '__fish_seen_subcommand_from ${name}'`;
    if (verbs.length > 0) lines.push(`${under} -f -a ${escaped(verbs.join(' '))}`);
    for (const { name: long, short, placeholder, help, choices } of options) {
      const value = choices ? ` -x -a ${escaped(choices.join(' '))}` : placeholder === null ? '' : ' -r';
      lines.push(
        `${under} -l ${long}${short === undefined ? '' : ` -s ${short}`}${value} -d ${escaped(help)}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

function spellings({ name, short }: DescribedOption): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a text for fish, which has two escapes in single quotes. */
function escaped(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
