import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openStore } from '../../../src/drivers/open-store.ts'
import { createPlimsoll } from '../../../src/plimsoll.ts'
import { SUMMARISING } from '../../pains/support/summarizer.ts'
import { toolLoop } from '../../support/anthropic-loop.ts'

/*
 * One of several processes that prepare the same history at once. Says `summarising` when its model is asked, `waiting` when
 * another process holds the lease, and at the end the request that it would send. Told `go`, the model answers; told `later`, its
 * clock is a minute ahead.
 */

const [url = '', session = 'run', name = ''] = process.argv.slice(2)
const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`)

let ahead = 0
let go = (): void => undefined
const allowed = new Promise<void>((resolve) => (go = resolve))
const input = createInterface({ input: process.stdin })
input.on('line', (line) => {
  if (line === 'go') go()
  if (line === 'later') ahead = 60_000
})

const store = openStore(url, { clock: { now: () => Date.now() + ahead } })
let isWaiting = false
const plimsoll = createPlimsoll({
  store: {
    ...store,
    async lease(tenant, work, holder, ttlMs) {
      const isOurs = await store.lease(tenant, work, holder, ttlMs)
      if (!isOurs && !isWaiting) {
        isWaiting = true
        say({ waiting: true })
      }
      return isOurs
    },
  },
  artifacts: 'memory:',
  policy: SUMMARISING,
  async summarizer() {
    say({ summarising: true })
    await allowed
    return `State: the parser reads half of the files, says ${name}. Next: read the rest.`
  },
})
const turn = await plimsoll.session({ id: session }).prepare({
  format: 'anthropic-messages',
  body: toolLoop({ steps: 60 }),
  targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
})
say({ text: turn.text, epoch: turn.epoch })
await plimsoll.close()
input.close()
process.stdin.destroy()
