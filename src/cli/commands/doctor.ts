import { Command } from 'commander'
import type { Check } from '../doctor/check.ts'
import { checkNode, checkSandbox, checkSql, checkStore, checkTokenizer } from '../doctor/machine.ts'
import { checkClients, checkKeys, checkProxy, checkUpstream, checkUpstreams } from '../doctor/network.ts'
import { EXIT } from '../exit-codes.ts'
import { withExamples } from '../kit/examples.ts'
import { print } from '../kit/print.ts'
import { painterOf, screenOf } from '../kit/screen.ts'
import { addStoreOptions, type StoreFlags } from '../stores/open.ts'

interface DoctorFlags extends StoreFlags {
  readonly offline?: boolean
  readonly upstream?: string
}

export function doctorCommand(): Command {
  return withExamples(
    addStoreOptions(new Command('doctor'))
      .option('--offline', 'skip the checks that need the network')
      .option('--upstream <url>', 'check this URL instead of the vendors’ APIs'),
    'plimsoll doctor --offline',
    'plimsoll doctor --offline --json',
  ).action(runDoctor)
}

async function runDoctor(flags: DoctorFlags): Promise<void> {
  const env = process.env
  const online = async (): Promise<readonly Check[]> => {
    if (flags.offline === true) return []
    const upstreams =
      flags.upstream === undefined ? await checkUpstreams(env) : [await checkUpstream('given', flags.upstream)]
    return [...upstreams, await checkProxy()]
  }
  const groups = await Promise.all([
    checkStore(flags),
    Promise.all([checkSandbox(), checkSql(), checkTokenizer()]),
    checkClients(env),
    online(),
  ])
  const checks = [checkNode(), ...groups.flat(), checkKeys(env)]
  if (checks.some(({ state }) => state === 'fail')) process.exitCode = EXIT.broken
  print(flags.json, checks, () => {
    const paint = painterOf(screenOf(process.stdout))
    const signs = { ok: paint('green', '✓'), warn: paint('yellow', '!'), fail: paint('red', '✗') }
    return checks
      .map(
        ({ name, state, message, advice }) =>
          `${signs[state]} ${name}: ${message}${advice === undefined ? '' : `\n    ${paint('dim', advice)}`}`,
      )
      .join('\n')
  })
}
