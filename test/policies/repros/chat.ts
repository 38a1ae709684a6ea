import type { PlimsollEvent } from '../../../src/core/events.ts'
import { createPlimsoll, type Plimsoll, type PlimsollOptions } from '../../../src/plimsoll.ts'
import type { Target } from '../../../src/core/target.ts'
import { messagesApart } from '../../support/joined.ts'
import { memoryArtifacts } from '../../../src/drivers/artifacts/memory.ts'

/** An OpenAI chat message as the programs write it. */
export interface ChatMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly unknown[]
  readonly tool_call_id?: string
}

type JoinedMessage = Omit<ChatMessage, 'content'> & { readonly content: readonly { readonly text: string }[] }

export const call = (id: string, name: string, args: object = {}): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
})
export const result = (id: string, content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content })
export const step = (id: string, name: string, args: object, content: string): ChatMessage[] => [
  call(id, name, args),
  result(id, content),
]
export const tool = (name: string, properties: object = {}) => ({
  type: 'function',
  function: { name, description: name, parameters: { type: 'object', properties } },
})

const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau'.split(
  ' ',
)

/** Text of exactly so many characters, the same for the same seed. */
export function words(length: number, seed = 1): string {
  let state = seed
  let out = ''
  while (out.length < length) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    out += `${WORDS[state % WORDS.length]!} ${state % 977} `
  }
  return out.slice(0, length)
}

export interface Opened {
  readonly plimsoll: Plimsoll
  readonly events: PlimsollEvent[]
  readonly messages: (body: { messages: readonly ChatMessage[] }, targets?: readonly Target[]) => Promise<Sent>
}

export interface Sent {
  readonly turn: Awaited<ReturnType<ReturnType<Plimsoll['session']>['prepare']>>
  /** What leaves, each text by itself, as the documents count it. */
  readonly messages: readonly ChatMessage[]
  readonly texts: readonly string[]
}

const SECRET = new Uint8Array(32).fill(5)

/** A session in memory on the chat wire. */
export function open(options: PlimsollOptions): Opened {
  const events: PlimsollEvent[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    // A driver of its own: the preset with files writes none.
    artifacts: memoryArtifacts({ secret: SECRET }),
    secret: SECRET,
    onEvent: (event) => events.push(event),
    ...options,
  })
  const session = plimsoll.session({ id: 's' })
  return {
    plimsoll,
    events,
    async messages(body, targets) {
      const turn = await session.prepare({
        format: 'openai-chat',
        body: { model: targets?.[0]?.model ?? 'gpt-4o', ...body },
        ...(targets !== undefined && { targets }),
      })
      const sent: { messages: readonly (ChatMessage | JoinedMessage)[] } = turn.body
      const messages = messagesApart(sent.messages)
      return { turn, messages, texts: messages.map(({ content }) => content ?? '') }
    },
  }
}
