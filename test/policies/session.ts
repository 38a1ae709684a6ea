import type { PlimsollEvent } from '../../src/core/events.ts'
import type { Policy } from '../../src/core/policy.ts'
import type { PreparedTurn } from '../../src/engine/prepare/prepare.ts'
import { createPlimsoll, type PlimsollOptions } from '../../src/plimsoll.ts'
import { contentsApart } from '../support/joined.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'

export type Part =
  | { readonly text: string }
  | { readonly functionCall: { id: string; name: string; args: object } }
  | { readonly functionResponse: { id: string; name: string; response: { result: string } } }

export interface Content {
  readonly role: 'user' | 'model'
  readonly parts: readonly Part[]
}

export const user = (text: string): Content => ({ role: 'user', parts: [{ text }] })
export const model = (text: string): Content => ({ role: 'model', parts: [{ text }] })
export const call = (id: string, name = 'bash', args: object = { q: id }): Content => ({
  role: 'model',
  parts: [{ functionCall: { id, name, args } }],
})
export const result = (id: string, text: string, name = 'bash'): Content => ({
  role: 'user',
  parts: [{ functionResponse: { id, name, response: { result: text } } }],
})

interface Sent {
  readonly contents: readonly Content[]
  readonly tools?: unknown
  readonly systemInstruction?: unknown
}

export interface Prepared extends PreparedTurn {
  /** What leaves, each text by itself, as the documents count it. */
  readonly contents: readonly Content[]
  /** The request as it leaves. */
  readonly sent: Sent
}

export interface PresetSession {
  prepare(contents: readonly Content[], more?: object): Promise<Prepared>
  usage(turn: Prepared, input: number): Promise<void>
  readonly events: readonly PlimsollEvent[]
  readonly plimsoll: ReturnType<typeof createPlimsoll>
}

/** A model that the catalogue knows: on others, presets are careful until the provider has counted. */
const MODEL = 'gemini-2.5-flash'

const SECRET = new Uint8Array(32).fill(5)

/** A session of a preset on the Gemini wire, all in memory. */
export function presetSession(
  policy: string | Policy,
  window: number,
  more: Partial<PlimsollOptions> = {},
): PresetSession {
  const events: PlimsollEvent[] = []
  let now = 0
  const plimsoll = createPlimsoll({
    policy,
    store: 'memory:',
    // A driver of its own: the preset with files writes none.
    artifacts: memoryArtifacts({ secret: SECRET }),
    secret: SECRET,
    clock: { now: () => ++now },
    onEvent: (event) => events.push(event),
    ...more,
  })
  const session = plimsoll.session({ id: 's' })
  return {
    events,
    plimsoll,
    async prepare(contents, extra = {}) {
      const body = { contents, generationConfig: { maxOutputTokens: 16 }, ...extra }
      const turn = await session.prepare({ format: 'gemini', body, targets: [{ model: MODEL, window }] })
      const sent = JSON.parse(turn.text) as Sent
      return { ...turn, contents: contentsApart(sent.contents), sent }
    },
    usage: async (turn, input) =>
      void (await session.record({
        turn: turn.id,
        usage: { input, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
      })),
  }
}

export const textOf = ({ parts }: Content): string =>
  parts
    .map((part) =>
      'text' in part
        ? part.text
        : 'functionCall' in part
          ? `call ${part.functionCall.name}`
          : part.functionResponse.response.result,
    )
    .join('\n')

/** Results without the call just before them, and calls without their result after them. */
export function brokenPairs(contents: readonly Content[]): string[] {
  const ids = (content: Content | undefined, kind: 'functionCall' | 'functionResponse'): string[] =>
    (content?.parts ?? []).flatMap((part) => (kind in part ? [(part as Record<string, { id: string }>)[kind]!.id] : []))
  return contents.flatMap((content, at) => {
    const asked = ids(content, 'functionCall')
    const answered = ids(content, 'functionResponse')
    const after = ids(contents[at + 1], 'functionResponse')
    const before = ids(contents[at - 1], 'functionCall')
    return [
      ...asked.filter((id) => !after.includes(id)).map((id) => `call ${id} without result`),
      ...answered.filter((id) => !before.includes(id)).map((id) => `result ${id} without call`),
    ]
  })
}

export const chars = (length: number, seed = 'lorem'): string =>
  `${seed} `.repeat(Math.ceil(length / (seed.length + 1))).slice(0, length)
