import { padEnd } from '../../inspect/width.ts'
import { compact, compaction, context, pin, tokens, undo } from './context.ts'
import { budget, cost, model, models, policy } from './settings.ts'
import { say, type Slash, type SlashContext } from './slash.ts'
import { artifacts, exporting, fresh, recall, session, sessions } from './store.ts'

const help: Slash = {
  name: 'help',
  about: 'this list',
  run(_rest, slash) {
    const isNarrow = slash.console.screen.width < 72
    const lines = SLASHES.map(({ name, takes = '', about }) =>
      isNarrow ? `/${name} ${takes}\n    ${about}` : `${padEnd(`/${name} ${takes}`, 26)}${about}`,
    )
    say(
      slash,
      `${lines.join('\n')}\nCtrl-C stops a turn and keeps the session. End a line with \\ to continue it on the next.`,
    )
  },
}

const exit: Slash = {
  name: 'exit',
  about: 'leave; plimsoll chat --continue comes back',
  run: (_rest, slash) => slash.leave(),
}

/** In the order in which /help shows them. */
const SLASHES: readonly Slash[] = [
  tokens,
  context,
  compact,
  compaction,
  undo,
  pin,
  artifacts,
  recall,
  cost,
  budget,
  model,
  models,
  policy,
  session,
  sessions,
  fresh,
  exporting,
  help,
  exit,
]

/** True when the line was a command. */
export async function runSlash(line: string, slash: SlashContext): Promise<boolean> {
  const found = /^\/([a-z]+)(?:\s+([^]*))?$/.exec(line.trim())
  // A path such as /etc/hosts is a message, not a command.
  if (found === null) return false
  const command = SLASHES.find(({ name }) => name === found[1])
  if (command === undefined) say(slash, `There is no command /${found[1]}; /help lists them.`)
  else await command.run((found[2] ?? '').trim(), slash)
  return true
}

export const completeSlash = (line: string): readonly string[] =>
  line.startsWith('/') ? SLASHES.map(({ name }) => `/${name}`).filter((name) => name.startsWith(line)) : []
