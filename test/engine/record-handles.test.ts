import { expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { createPlimsoll } from '../../src/index.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'

const LARGE_STEP = 3
const LARGE = 60_000
const resultLength = (step: number): number => (step === LARGE_STEP ? LARGE : 1_500)

it.each([true, false])(
  'a compaction that takes a cut result out of view leaves its handle there (tools: %s)',
  async (tools) => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1) })
    try {
      const session = plimsoll.session({ id: 'cut' })
      const prepare = (steps: number) => {
        const body = toolLoop({ steps, resultLength })
        const { tools: declared, ...bare } = body
        const recall = { name: 'recall', input_schema: { type: 'object', properties: { handle: { type: 'string' } } } }
        return session.prepare({
          format: 'anthropic-messages',
          body: tools ? { ...bare, tools: [...declared, recall] } : body,
          targets: [{ model: 'claude-sonnet-4-5', window: 16_000 }],
        })
      }
      const [handle] = handlesIn((await prepare(LARGE_STEP)).text)
      expect(Buffer.from((await plimsoll.artifacts.read(handle!))!).toString()).toBe(resultText(LARGE_STEP, LARGE))
      for (let steps = LARGE_STEP + 1; ; steps++) {
        const { text, epoch } = await prepare(steps)
        if (epoch === undefined) continue
        // Its own place is gone; the line of its call says where all of it is.
        expect(text).not.toContain(`toolu_${LARGE_STEP}"`)
        const line = text.split('\\n').find((one) => one.startsWith('»') && one.includes(`src/file-${LARGE_STEP}.ts`))
        expect(line).toContain(`all of it: ${handle}`)
        break
      }
    } finally {
      await plimsoll.close()
    }
  },
)
