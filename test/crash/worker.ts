import { writeSync } from 'node:fs'
import { isPlimsollError } from '../../src/core/errors.ts'
import { seeded } from '../stores/support/random.ts'
import { TENANT, epochOf, itemOf, type Acknowledged } from './history.ts'
import { openStore } from '../../src/drivers/open-store.ts'

/*
 * Appends, compacts and forks until it is killed. Each line on its output is one acknowledged operation, written only after
 * the store's promise resolved.
 */

const [url = '', seedText = '1', run = '0'] = process.argv.slice(2)
const random = seeded(Number(seedText))
const store = openStore(url)
let count = 0

const say = (line: Acknowledged | 'ready'): void => {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

async function append(session: string): Promise<void> {
  const size = 1 + random.below(4)
  const batch = `${run}.${count++}/${size}`
  const identities = Array.from({ length: size }, (_, i) => `${batch}:${i}`)
  const records = identities.map((identity) => itemOf(identity, batch))
  const expected = random.below(3) === 0 ? await store.version(TENANT, session) : undefined
  try {
    const version = await store.append(TENANT, session, records, expected)
    say({ op: 'append', session, version, identities })
  } catch (error) {
    if (!isPlimsollError(error, 'conflict')) throw error
  }
}

async function compact(session: string): Promise<void> {
  const cover = `cover-${run}-${random.below(12)}`
  const { epoch } = await store.claimEpoch(TENANT, session, epochOf(`epoch-${run}-${count++}`, cover))
  say({ op: 'claim', session, version: 0, cover, epoch: epoch.id })
}

async function fork(from: string): Promise<void> {
  const last = await store.version(TENANT, from)
  if (last === 0) return
  const version = Math.min(last, 1 + random.below(last))
  const to = `${from}-fork-${run}-${count++}`
  // A fork may cut through a batch; the last whole one is where it cuts here, so that batches can be judged in forks too.
  const log = []
  for await (const { record } of store.read(TENANT, from)) log.push(record.agent)
  const cut = log.slice(0, version)
  while (cut.length > 0 && cut.at(-1) !== undefined && cut.at(-1) === log[cut.length]) cut.pop()
  if (cut.length === 0) return
  say({ op: 'fork', session: to, from, version: await store.fork(TENANT, from, to, cut.length) })
}

async function step(lane: number): Promise<void> {
  const session = `s-${run}-${lane}-${random.below(2)}`
  const dice = random.below(20)
  if (dice < 14) await append(session)
  else if (dice < 19) await compact(session)
  else await fork(session)
}

await store.version(TENANT, 'warm')
say('ready')
// Three at a time, so that a kill also meets writes that share a commit.
await Promise.all(
  [0, 1, 2].map(async (lane) => {
    for (;;) await step(lane)
  }),
)
