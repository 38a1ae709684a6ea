import { createPlimsoll } from '../../src/index.ts'
import { isPlimsollError } from '../../src/core/errors.ts'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Policy } from '../../src/core/policy.ts'
import { COMPACT_READER } from '../../src/engine/readers/reader-tools.ts'
import { readableText } from '../../src/lab/replay/recall.ts'
import { codecs } from '../../src/formats/registry.ts'
import { RESERVE, type MeasuredSession, type Runner, type Sent } from './measure.ts'

const MODEL = 'claude-sonnet-4-5'

/** Plimsoll under a policy, with `recall` declared as its gateway would. Requests are held against the rules of the recorded API. */
export function engine(policy: string | Policy, name: string, setup: string): Runner {
  return {
    name,
    setup,
    start(session: MeasuredSession, window: number) {
      const codec = codecs.get(session.recording.wire)!
      const plimsoll = createPlimsoll({ policy, store: 'memory:', sql: false, sandbox: false })
      const own = plimsoll.session({ id: 'bench' })
      let declared: readonly string[] | undefined
      const { decode } = codec
      let asked: Conversation | undefined
      let view: Conversation | undefined
      const counts = new Map<string, number>()
      const count = (text: string): number => {
        const tokens = counts.get(text) ?? session.count(text)
        counts.set(text, tokens)
        return tokens
      }
      return async (call): Promise<Sent> => {
        const body = session.recording.calls[call]!.body()
        asked = decode(body, asked)
        const before = asked
        const start = performance.now()
        try {
          const turn = await own.prepare({
            format: codec.format,
            body,
            targets: [{ model: MODEL, window, maxOutputTokens: RESERVE }],
            tools: { tools: [COMPACT_READER], ...(declared !== undefined && { declared }) },
          })
          const ms = performance.now() - start
          declared = turn.declared
          view = decode(turn.text, view)
          const shown = view
          const items = [...shown.head, ...shown.items]
          const added = shown.tools.filter(({ text }) => !before.tools.some((tool) => tool.text === text))
          const isOpen = added.length > 0
          return {
            pieces: [...added, ...items].map(({ text }) => ({ text, tokens: count(text) })),
            texts: items.map(readableText),
            invalid: codec.check(codec.fields(shown)).length > codec.check(codec.fields(before)).length,
            ...(isOpen && { reachable: before.items.map(readableText) }),
            ms,
          }
        } catch (error) {
          if (!isPlimsollError(error)) throw error
          return { pieces: [], texts: [], invalid: false, refused: true, ms: performance.now() - start }
        }
      }
    },
  }
}
