import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPlimsoll, type Plimsoll } from '../../src/index.ts'
import { sha256 } from '../support/hash.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { words } from './words.ts'

type Body = Record<string, unknown>
type Message = { readonly role: 'user' | 'assistant'; readonly text: string }

/** What a provider says about one request. `input` is whatever it reports, however wrong. */
interface Answer {
  readonly input: unknown
  readonly output: unknown
  /** Its own tools ran, although the request names none. */
  readonly searched: boolean
  /** The stream or body ends in the middle. */
  readonly cutOff: boolean
  readonly id: string
}

interface Wire {
  readonly url: string
  readonly model: string
  readonly body: (messages: readonly Message[]) => Body
  readonly answer: (answer: Answer) => object
  /** Members of a request by which the provider counts more than the request shows. */
  readonly hidden: readonly ((last: string) => Body)[]
  /** A refusal of the provider's for its window, with numbers. */
  readonly refusal: (window: number, input: number) => object
}

const refusalOfOpenAi = (window: number, input: number): object => ({
  error: {
    message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${input} tokens.`,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
  },
})

const WIRES = {
  responses: {
    url: 'https://api.openai.com/v1/responses',
    model: 'gpt-5',
    body: (messages) => ({ model: 'gpt-5', input: messages.map(({ role, text }) => ({ role, content: text })) }),
    answer: ({ input, output, searched, id }) => ({
      id,
      object: 'response',
      status: 'completed',
      output: [
        ...(searched
          ? [{ type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'ships' } }]
          : []),
        { type: 'message', role: 'assistant', id: 'm', content: [{ type: 'output_text', text: 'ok' }] },
      ],
      usage: { input_tokens: input, output_tokens: output, input_tokens_details: {} },
    }),
    hidden: [
      () => ({ tools: [{ type: 'web_search' }] }),
      () => ({ tools: [{ type: 'file_search', vector_store_ids: ['vs'] }] }),
      () => ({ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }),
      () => ({ tools: [{ type: 'mcp', server_label: 'docs', server_url: 'https://example.com' }] }),
      () => ({ prompt: { id: 'pmpt_1' } }),
      () => ({ truncation: 'auto' }),
      (last) => ({ previous_response_id: last }),
      () => ({ conversation: 'conv_1' }),
    ],
    refusal: () => ({
      error: {
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    }),
  },
  chat: {
    url: 'https://api.openai.com/v1/chat/completions',
    model: 'gpt-4o',
    body: (messages) => ({ model: 'gpt-4o', messages: messages.map(({ role, text }) => ({ role, content: text })) }),
    answer: ({ input, output, searched, id }) => ({
      id,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'ok',
            ...(searched && {
              annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com', title: 'x' } }],
            }),
          },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: input, completion_tokens: output },
    }),
    hidden: [() => ({ web_search_options: {} }), () => ({ plugins: [{ id: 'web' }] })],
    refusal: refusalOfOpenAi,
  },
  anthropic: {
    url: 'https://api.anthropic.com/v1/messages',
    model: 'claude-sonnet-4-5',
    body: (messages) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 1_000,
      messages: messages.map(({ role, text }) => ({ role, content: text })),
    }),
    answer: ({ input, output, searched, id }) => ({
      id,
      type: 'message',
      role: 'assistant',
      content: [
        ...(searched
          ? [
              { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'ships' } },
              { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
            ]
          : []),
        { type: 'text', text: 'ok' },
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: input, output_tokens: output },
    }),
    hidden: [
      () => ({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
      () => ({ tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }),
      () => ({ container: 'container_1' }),
      () => ({ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'docs' }] }),
    ],
    refusal: (window, input) => ({
      type: 'error',
      error: { type: 'invalid_request_error', message: `prompt is too long: ${input} tokens > ${window} maximum` },
    }),
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
    model: 'gemini-2.5-flash',
    body: (messages) => ({
      contents: messages.map(({ role, text }) => ({ role: role === 'user' ? 'user' : 'model', parts: [{ text }] })),
    }),
    answer: ({ input, output, searched }) => ({
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'ok' }] },
          finishReason: 'STOP',
          ...(searched && { groundingMetadata: { webSearchQueries: ['ships'] } }),
        },
      ],
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output },
    }),
    hidden: [
      () => ({ tools: [{ googleSearch: {} }] }),
      () => ({ tools: [{ codeExecution: {} }] }),
      () => ({ tools: [{ urlContext: {} }] }),
      () => ({ cachedContent: 'cachedContents/x' }),
    ],
    refusal: (window, input) => ({
      error: {
        code: 400,
        message: `The input token count (${input}) exceeds the maximum number of tokens allowed (${window}).`,
        status: 'INVALID_ARGUMENT',
      },
    }),
  },
  ollama: {
    url: 'http://127.0.0.1:11434/api/chat',
    model: 'llama3.1',
    body: (messages) => ({
      model: 'llama3.1',
      stream: false,
      options: { num_ctx: 32_768 },
      messages: messages.map(({ role, text }) => ({ role, content: text })),
    }),
    answer: ({ input, output }) => ({
      model: 'llama3.1',
      message: { role: 'assistant', content: 'ok' },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: input,
      eval_count: output,
    }),
    hidden: [],
    refusal: () => ({ error: 'the input length exceeds the context length' }),
  },
} satisfies Record<string, Wire>

type WireName = keyof typeof WIRES
const NAMES = Object.keys(WIRES) as WireName[]

const tokensOf = (text: string): number => Math.round(text.length / 4)

/** One request of session A and what comes of it. */
interface Step {
  readonly wire: WireName
  readonly kind: 'whole' | 'hidden' | 'searched' | 'refused' | 'wrong' | 'cut-off'
  readonly which: number
  /** The provider counts so many tokens that the request does not show. */
  readonly unseen: number
  readonly wrong: unknown
  readonly characters: number
}

const WRONG = [-5, 0, null, 'many', [], {}, true, '12000', -1e9] as const

const step: fc.Arbitrary<Step> = fc.record({
  wire: fc.constantFrom(...NAMES),
  kind: fc.constantFrom('whole', 'hidden', 'searched', 'refused', 'wrong', 'cut-off'),
  which: fc.nat(20),
  unseen: fc.integer({ min: 5_000, max: 400_000 }),
  wrong: fc.constantFrom(...WRONG),
  characters: fc.integer({ min: 200, max: 20_000 }),
})

/** Requests of one session against one provider; `steps` says what the provider makes of each. */
class World {
  readonly sent: string[] = []
  #next: Partial<Answer> & { readonly status?: number; readonly refusal?: object; readonly added?: number } = {}
  #count = 0
  readonly plimsoll: Plimsoll

  constructor(windows: Record<string, { window: number }>) {
    this.plimsoll = createPlimsoll({
      store: 'memory:',
      artifacts: 'memory:',
      tools: false,
      models: windows,
      // Handles are the same in both worlds.
      secret: Buffer.from('the same in both worlds'),
      fetch: async (asked, init) => this.#respond(asked instanceof Request ? asked.url : asked.toString(), init),
    })
  }

  #respond(url: string, init: RequestInit | undefined): Response {
    const text = Buffer.from(init?.body as Uint8Array).toString()
    this.sent.push(text)
    const { added = 0, refusal } = this.#next
    if (refusal !== undefined) return Response.json(refusal, { status: 400 })
    const wire = NAMES.map((name): Wire => WIRES[name]).find((one) => one.url === url)!
    const { input = tokensOf(text) + added, output = 2, searched = false, cutOff = false } = this.#next
    const whole = JSON.stringify(wire.answer({ input, output, searched, cutOff, id: `resp_${++this.#count}` }))
    const shown = cutOff ? whole.slice(0, Math.floor(whole.length * 0.7)) : whole
    return new Response(shown, { headers: { 'content-type': 'application/json' } })
  }

  get lastId(): string {
    return `resp_${this.#count}`
  }

  async ask(
    name: WireName,
    session: string,
    messages: readonly Message[],
    { more = {}, ...next }: { readonly more?: Body } & Partial<Answer> & { refusal?: object; added?: number } = {},
  ): Promise<{ status: number; load: string | null; limit: string | null; saved: string | null; sent: string }> {
    this.#next = next
    const wire: Wire = WIRES[name]
    const answer = await this.plimsoll.fetch(wire.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer k',
        'x-api-key': 'k',
        'x-goog-api-key': 'k',
        'x-plimsoll-session': session,
      },
      body: JSON.stringify({ ...wire.body(messages), ...more }),
    })
    await answer.text().catch(() => '')
    const header = (of: string): string | null => answer.headers.get(`x-plimsoll-${of}`)
    return {
      status: answer.status,
      load: header('load'),
      limit: header('limit'),
      saved: header('saved'),
      sent: sha256(this.sent.at(-1) ?? ''),
    }
  }

  /** Session A's next step. */
  async take(index: number, said: Message[], step: Step): Promise<void> {
    const { wire: name, kind, which, unseen, wrong } = step
    const wire: Wire = WIRES[name]
    const session = `a${index}`
    const more = wire.hidden[which % Math.max(1, wire.hidden.length)]?.(this.lastId) ?? {}
    if (kind === 'whole') await this.ask(name, session, said)
    // A wire on which nothing is hidden has no such answers.
    else if (kind === 'hidden' && wire.hidden.length > 0) await this.ask(name, session, said, { more, added: unseen })
    else if (kind === 'searched' && wire.hidden.length > 0)
      await this.ask(name, session, said, { searched: true, added: unseen })
    else if (kind === 'refused' && wire.hidden.length > 0)
      await this.ask(name, session, said, { more, refusal: wire.refusal(9_000, unseen) })
    // An answer of no tokens is one; a prompt of none is not.
    else if (kind === 'wrong')
      await this.ask(name, session, said, (wrong ?? 0) !== 0 && which % 2 === 0 ? { output: wrong } : { input: wrong })
    else if (kind === 'cut-off') await this.ask(name, session, said, { cutOff: true, added: unseen })
  }
}

/** B: a conversation of some messages, from small ones to such as are larger than the window. */
const conversationOf = (characters: number): Message[] =>
  Array.from({ length: 7 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    text: words(900 + i, Math.floor(characters / 7)),
  }))

const WINDOW = 24_000
const SMALL = Object.fromEntries(NAMES.map((name) => [WIRES[name].model, { window: WINDOW }]))

describe("one session's answers and another session's requests", () => {
  it(`hosted tools, chains, refusals, cut answers and wrong usage move nothing; whole prompts their ratio (seed ${SEED})`, async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 10 })
    const shape = fc.record({
      steps,
      small: fc.boolean(),
      size: fc.integer({ min: 10, max: 140 }),
      asks: fc.shuffledSubarray(NAMES, { minLength: 1, maxLength: 2 }),
    })
    const fates: string[] = []
    await asyncProperty(
      shape,
      async ({ steps: taken, small, size, asks }) => {
        const [world, honest] = [new World(small ? SMALL : {}), new World(small ? SMALL : {})]
        for (const [index, one] of taken.entries()) {
          const said: Message[] = [{ role: 'user', text: words(index, one.characters) }]
          await world.take(index, said, one)
          // The same whole prompts, and nothing else.
          if (one.kind === 'whole') await honest.take(index, said, one)
        }
        for (const name of asks) {
          const messages = conversationOf(Math.floor((size / 100) * WINDOW * 4))
          const fate = await world.ask(name, `b-${name}`, messages)
          expect(fate, name).toEqual(await honest.ask(name, `b-${name}`, messages))
          fates.push(fate.status !== 200 ? 'refused' : fate.saved === '0' ? 'whole' : 'cut')
        }
        expect(await world.plimsoll.limits.list()).toEqual([])
        await world.plimsoll.close()
        await honest.plimsoll.close()
      },
      40,
    )
    // Both fates occur: the sizes lie on both sides of what fits.
    expect(new Set(fates)).toEqual(new Set(['whole', 'cut']))
  })

  it(`neither does what a conversation grows by after such answers (seed ${SEED})`, async () => {
    const kinds = step.map((one): Step => ({ ...one, characters: 1_000 + (one.characters % 4_000) }))
    const shape = fc.record({
      name: fc.constantFrom(...NAMES),
      steps: fc.array(kinds, { minLength: 3, maxLength: 12 }),
    })
    await asyncProperty(
      shape,
      async ({ name, steps: taken }) => {
        const [world, honest, fresh] = [new World({}), new World({}), new World({})]
        const said: Message[] = []
        for (const [index, one] of taken.entries()) {
          said.push({ role: 'user', text: words(index, one.characters) })
          // One session, whose provider counts what the request shows with each whole prompt in between.
          await world.take(0, said, { ...one, wire: name })
          if (one.kind === 'whole') await honest.take(index, [...said], { ...one, wire: name })
          said.push({ role: 'assistant', text: 'ok' })
        }
        const messages = conversationOf(60_000)
        const loads = await Promise.all(
          [world, honest, fresh].map(async (one) => Number((await one.ask(name, 'b', messages)).load)),
        )
        const [load, ofWhole, untaught] = loads as [number, number, number]
        expect(load).toBeGreaterThan(0)
        // Few samples of one ratio differ by how they are weighed, and by no more.
        expect(load).toBeLessThanOrEqual(Math.max(ofWhole, untaught) * 1.1)
        expect(load).toBeGreaterThanOrEqual(Math.min(ofWhole, untaught) / 1.1)
        for (const one of [world, honest, fresh]) await one.plimsoll.close()
      },
      40,
    )
  })
})
