/**
 * contextguard's callbacks before and after the model, and its five keys of an ADK session's state, read and written.
 *
 *   npx tsx examples/10-contextguard.ts
 */
import { createPlimsoll } from 'plimsoll'

interface Content {
  role: string
  parts: { text: string }[]
}
type State = Record<string, string | number>

const AGENT = 'main'
const key = (name: string): string => `__context_guard_${name}_${AGENT}`
const plimsoll = createPlimsoll({
  policy: 'contextguard',
  store: 'memory:',
  artifacts: 'memory:',
  summarizer: () => 'Current State: the deploy of checkout fails. Exact Next Steps: read the log of the deploy again.',
})

/** In the place of `BeforeModelCallback`: the request is rebuilt from all events, and leaves as summary and continuation. */
async function beforeModel(state: State, request: { contents: Content[] }) {
  const session = plimsoll.session({ id: 'app-user-session', agent: AGENT })
  const targets = [{ model: 'gemini-2.5-flash', window: 8_000 }]
  const turn = await session.prepare({ format: 'gemini', body: request, targets })
  const { contents } = JSON.parse(turn.text) as { contents: Content[] }
  if (turn.report.newEpoch !== undefined) {
    state[key('summary')] = contents[0]!.parts[0]!.text
    state[key('contents_at_compaction')] = request.contents.length
    state[key('summarized_at')] = Math.round(turn.report.loadOriginal)
    // A factor from before would compact every turn.
    delete state[key('real_tokens')]
  }
  const characters = contents.flatMap(({ parts }) => parts.map(({ text }) => text.length))
  state[key('last_heuristic')] = characters.reduce((sum, length) => sum + Math.floor(length / 4), 0)
  return { turn, contents }
}

/** In the place of `AfterModelCallback`: the prompt count alone, and only where one was told. */
async function afterModel(state: State, turn: string, usage: { promptTokenCount?: number }): Promise<void> {
  const { promptTokenCount: input = 0 } = usage
  if (input === 0) return
  state[key('real_tokens')] = input
  const session = plimsoll.session({ id: 'app-user-session', agent: AGENT })
  await session.record({ turn, usage: { input, cacheRead: 0, cacheWrite: 0, output: 20, reasoning: 0 } })
}

const state: State = {}
const events: Content[] = []
let largest = 0
for (let i = 0; i < 30; i++) {
  events.push({
    role: 'user',
    parts: [{ text: `Step ${i}: look at the deploy of checkout. ${'It fails again. '.repeat(40)}` }],
  })
  const { turn, contents } = await beforeModel(state, { contents: [...events] })
  const real = Number(state[key('last_heuristic')]) * 2
  largest = Math.max(largest, real)
  await afterModel(state, turn.id, { promptTokenCount: real })
  events.push({ role: 'model', parts: [{ text: `Step ${i} is done; ${contents.length} contents were read.` }] })
}
console.log(
  `${Object.keys(state).length} keys; compacted: ${state[key('summary')] !== undefined}; never above 8,000: ${largest <= 8_000}`,
)
await plimsoll.close()
