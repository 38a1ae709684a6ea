import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface Node {
  readonly path: readonly string[]
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly { readonly flag: string; readonly description: string }[]
}

/** A script that completes commands, options and files. Made from the command tree, so it cannot fall behind it. */
export function completionScript(shell: Shell, root: Command): string {
  const nodes = nodesOf(root, [])
  if (shell === 'bash') return bash(nodes)
  return shell === 'zsh' ? zsh(nodes) : fish(nodes)
}

function nodesOf(command: Command, path: readonly string[]): readonly Node[] {
  const commands = command.commands.map((sub) => ({ name: sub.name(), description: oneLine(sub.description()) }))
  const options = command.options
    .filter(({ long }) => long !== undefined && long !== null)
    .map(({ long, description }) => ({ flag: long!, description: oneLine(description) }))
  const node: Node = { path, commands, options: [...options, { flag: '--help', description: 'show help' }] }
  return [node, ...command.commands.flatMap((sub) => nodesOf(sub, [...path, sub.name()]))]
}

/** Shell strings stay harmless: no quotes, no expansions. */
const oneLine = (text: string): string =>
  text
    .split(/[.:;]\s|\n/, 1)[0]!
    .replaceAll(/['"`$\\[\]{}()]/g, '')
    .trim()

const words = ({ commands, options }: Node): string =>
  [...commands.map(({ name }) => name), ...options.map(({ flag }) => flag)].join(' ')

function bash(nodes: readonly Node[]): string {
  const cases = nodes.map((node) => `    '${node.path.join(' ')}') words='${words(node)}' ;;`)
  const known = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`)
  return `# plimsoll completion for bash
_plimsoll() {
  local current="\${COMP_WORDS[COMP_CWORD]}" way='' try word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    try="\${way:+$way }$word"
    case "$try" in
      ${known.join('|')}) way="$try" ;;
    esac
  done
  case "$way" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _plimsoll plimsoll
`
}

function zsh(nodes: readonly Node[]): string {
  const cases = nodes.map(({ path, commands, options }) => {
    const entries = [
      ...commands.map(({ name, description }) => `'${name}:${description}'`),
      ...options.map(({ flag, description }) => `'${flag}:${description}'`),
    ]
    return `    '${path.join(' ')}') entries=(${entries.join(' ')}) ;;`
  })
  const known = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`)
  return `#compdef plimsoll
_plimsoll() {
  local way='' try word
  local -a entries
  for word in "\${(@)words[2,CURRENT-1]}"; do
    try="\${way:+$way }$word"
    case "$try" in
      ${known.join('|')}) way="$try" ;;
    esac
  done
  case "$way" in
${cases.join('\n')}
  esac
  _describe 'plimsoll' entries
  _files
}
if [ "$funcstack[1]" = "_plimsoll" ]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi
`
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')
    const none =
      commands.length === 0 ? '' : `not __fish_seen_subcommand_from ${commands.map(({ name }) => name).join(' ')}`
    const here = [seen, none].filter((part) => part !== '').join('; and ')
    const condition = here === '' ? '' : ` -n '${here}'`
    return [
      ...commands.map(({ name, description }) => `complete -c plimsoll -f${condition} -a ${name} -d '${description}'`),
      ...options.map(
        ({ flag, description }) =>
          `complete -c plimsoll${seen === '' ? condition : ` -n '${seen}'`} -l ${flag.slice(2)} -d '${description}'`,
      ),
    ]
  })
  return `# plimsoll completion for fish\n${lines.join('\n')}\n`
}
