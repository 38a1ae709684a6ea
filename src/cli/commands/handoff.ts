import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command, Option } from 'commander'
import { sessionFor, SUCCESSORS } from '../agents/client-sessions.ts'
import { handoverOf } from '../../mcp/resources.ts'
import { createPlimsoll } from '../../plimsoll.ts'
import { withExamples } from '../kit/examples.ts'
import { print } from '../kit/output.ts'
import { addStoreOptions, sessionIn, withStores, type StoreFlags } from '../stores.ts'

interface HandoffFlags extends StoreFlags {
  readonly agent?: string
  readonly focus?: string
  readonly to: string
  readonly cwd: string
}

/** What another agent can start from: a session of its client that can be resumed, or the prompt that `plimsoll mcp` serves. */
export function handoffCommand(): Command {
  const command = addStoreOptions(new Command('handoff'))
    .argument('[session]', 'name of the session (default: the newest)')
    .addOption(
      new Option('--to <client>', 'write a session of this client, where it can resume one; else print a prompt')
        .choices(SUCCESSORS)
        .default('markdown'),
    )
    .option('--cwd <folder>', 'project folder in which the next agent works', '.')
    .option('--agent <name>', 'agent within the session (default: main)')
    .option('--focus <text>', 'what the next agent is to go on with')
  return withExamples(command, 'plimsoll handoff run-42').action((named: string | undefined, flags: HandoffFlags) =>
    withStores(flags, async (stores) => {
      const { tenant, session } = await sessionIn(stores, named, flags)
      const plimsoll = createPlimsoll({ store: stores.sessions, artifacts: stores.artifacts, secret: stores.secret })
      const about = { plimsoll, tenant, session, agent: flags.agent ?? 'main' }
      const prompt = await handoverOf(about, { focus: flags.focus })
      const how = `recall and the artifact tools are served by: plimsoll mcp --session ${session}`
      const cwd = resolve(flags.cwd)
      const written = sessionFor(flags.to, cwd, `${prompt}\n\n${how}`)
      if (written === undefined) return print(flags.json, { session, prompt }, () => `${prompt}\n\n${how}`)
      const { id, file, lines, command: resume } = written
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 })
      print(
        flags.json,
        { session, client: flags.to, id, file, command: resume },
        () => `Written to ${file}\nGo on in ${cwd} with: ${resume}\n${how}`,
      )
    }),
  )
}
