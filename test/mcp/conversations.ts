import { handlesIn } from '../../src/core/handles.ts'
import { createPlimsoll, type Plimsoll, type PlimsollOptions } from '../../src/index.ts'

const MODEL = 'claude-sonnet-4-5'

/** Answers an extraction as a model would: inside the tags that it was asked for. */
const extractor = {
  name: 'extractor',
  model: 'claude-haiku-4-5',
  window: 32_000,
  summarise: async ({ prompt }: { readonly prompt: string }) => {
    const [, tag] = /<(answer-\w+)>/.exec(prompt)!
    const stop = 'end' as const
    return { text: `<${tag}>the lantern is green</${tag}>`, stop }
  },
}

export const openPlimsoll = (options: PlimsollOptions = {}): Plimsoll =>
  createPlimsoll({ secret: Buffer.alloc(32, 9), extraction: extractor, ...options })

export const recordsOf = (word: string): string =>
  JSON.stringify(
    Array.from({ length: 2_000 }, (_, n) => ({
      n,
      level: n % 50 === 0 ? 'error' : 'info',
      message: n === 1_500 ? `the ${word} is green` : `nothing ${n}`,
    })),
  )

export interface Talk {
  readonly tenant?: string
  readonly session: string
  readonly agent?: string
  /** Stands in the user's message and deep inside the tool's result. */
  readonly word: string
  /** The result comes whole with the request, as it does through the proxy, and is shortened there. */
  readonly isRaw?: boolean
}

/** One call of a model after a tool whose result is too long to be shown; gives the handle of the result. */
export async function talk(
  plimsoll: Plimsoll,
  { tenant, session: id, agent, word, isRaw = false }: Talk,
): Promise<string> {
  const session = plimsoll.session({
    id,
    ...(tenant !== undefined && { tenant }),
    ...(agent !== undefined && { agent }),
  })
  const callId = `call_${word}`
  const shown = isRaw
    ? { text: recordsOf(word) }
    : await session.toolResult({ tool: 'search', callId, output: recordsOf(word) })
  const body = {
    model: MODEL,
    max_tokens: 500,
    messages: [
      { role: 'user', content: `Where is the ${word}?` },
      { role: 'assistant', content: [{ type: 'tool_use', id: callId, name: 'search', input: { for: word } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId, content: shown.text }] },
    ],
  }
  const turn = await session.prepare({
    format: 'anthropic-messages',
    body: JSON.stringify(body),
    targets: [{ model: MODEL, window: 24_000 }],
  })
  await session.record({
    turn: turn.id,
    usage: { input: 4_000, output: 50, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  })
  return handlesIn(turn.text)[0]!
}
