import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createPlimsoll } from '../../../src/plimsoll.ts'
import { SUMMARISING } from '../../pains/support/summarizer.ts'
import { toolLoop } from '../../support/anthropic-loop.ts'

/*
 * One of several processes that prepare the same history at once. Says `summarising` when its model is asked, and at the end the request that it
 * would send. Told `go`, the model answers.
 */

const [url = '', session = 'run', name = ''] = process.argv.slice(2)
const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`)

let go = (): void => undefined
const allowed = new Promise<void>((resolve) => (go = resolve))
const input = createInterface({ input: process.stdin })
input.on('line', (line) => {
  if (line === 'go') go()
})

const plimsoll = createPlimsoll({
  store: url,
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
