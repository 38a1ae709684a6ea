import { Command } from 'commander'
import { handoverOf } from '../../mcp/resources.ts'
import { createPlimsoll } from '../../plimsoll.ts'
import { withExamples } from '../kit/examples.ts'
import { print } from '../kit/output.ts'
import { addStoreOptions, tenantOfSession, withStores, type StoreFlags } from '../stores.ts'

interface HandoffFlags extends StoreFlags {
  readonly agent?: string
  readonly focus?: string
}

/** The same prompt that `plimsoll mcp` serves, for an agent that is started by hand. */
export function handoffCommand(): Command {
  const command = addStoreOptions(new Command('handoff'))
    .argument('<session>', 'name of the session')
    .option('--agent <name>', 'agent within the session (default: main)')
    .option('--focus <text>', 'what the next agent is to go on with')
  return withExamples(command, 'plimsoll handoff run-42').action((session: string, flags: HandoffFlags) =>
    withStores(flags, async (stores) => {
      const tenant = await tenantOfSession(stores, session, flags.tenant)
      const plimsoll = createPlimsoll({ store: stores.sessions, artifacts: stores.artifacts, secret: stores.secret })
      const prompt = await handoverOf(
        { plimsoll, tenant, session, agent: flags.agent ?? 'main' },
        { focus: flags.focus },
      )
      const how = `recall and the artifact tools are served by: plimsoll mcp --session ${session}`
      print(flags.json, { session, prompt }, () => `${prompt}\n\n${how}`)
    }),
  )
}
