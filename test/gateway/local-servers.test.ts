import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { call, say, startReferee, type StartRefereeOptions } from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'
import { closeLater, testProxy } from './upstream.ts'

/**
 * Servers on one's own machine, as strict stand-ins: each in its own words, with a context that nobody is told about. The client
 * knows a base URL and a model name; thirty tool steps come to about six times what fits.
 */
const SERVERS: Readonly<Record<string, Omit<StartRefereeOptions, 'wire'>>> = {
  'llama-server, which names n_ctx': { profile: 'llama-server' },
  'llama-server inside a stream': { profile: 'llama-server', overflow: 'in-answer' },
  'Ollama that refuses without a number': { profile: 'ollama' },
  'LM Studio': { profile: 'lm-studio' },
  vLLM: { profile: 'vllm' },
  'Ollama that keeps the end and says nothing': { overflow: 'truncate-front' },
  'one that reports no usage in streams': { profile: 'llama-server', usage: 'off' },
}

const STEPS = 30
const WINDOW = 4_096

async function run(base: string): Promise<string> {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1`, maxRetries: 0 })
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'RULE-4711: answer in one line.' },
    { role: 'user', content: 'Find out why checkout is slow.' },
  ]
  for (let step = 1; ; step++) {
    const { message } = (
      await client.chat.completions
        .stream({
          model: 'qwen-local',
          max_tokens: 200,
          messages,
          stream_options: { include_usage: true },
          tools: [{ type: 'function', function: { name: 'log', parameters: { type: 'object' } } }],
        })
        .finalChatCompletion()
    ).choices[0]!
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return message.content ?? ''
    messages.push({ role: 'assistant', content: message.content, tool_calls: message.tool_calls })
    for (const { id } of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: toolOutput(step, 12) })
    }
  }
}

describe.each(Object.entries(SERVERS))('%s', (_name, options) => {
  it('carries a client through that knows nothing of its context, and nothing of the overflow reaches it', async () => {
    const server = await startReferee({
      wire: 'openai-chat',
      window: WINDOW,
      script: ({ number }) => (number > STEPS ? say('The pool was halved.') : call('log', { step: number })),
      ...options,
    })
    closeLater(() => server.close())
    // No tools of ours: their declarations would be a sixth of so small a window.
    const { proxy, lines, events } = await testProxy({ upstreams: { openai: server.url } }, { tools: false })
    expect(await run(`${proxy.url}/openai`)).toBe('The pool was halved.')
    expect(lines.map((line) => line.status)).toEqual(Array.from({ length: STEPS + 1 }, () => 200))
    expect(server.summary()).toMatchObject({ answered: STEPS + 1, invalid: 0 })
    const learned = events.filter((event) => event.type === 'window-learned')
    // A refusal that names no number teaches its own conversation and nobody else.
    expect(learned.length > 0).toBe(options.profile !== 'ollama')
    // What cannot be foreseen happens once. Where no number is named it takes some guesses, and where nothing is said at all a
    // few requests, since a step adds less than counting may be wrong by.
    const lost = server.log.filter(({ overflow, truncatedTokens }) => overflow || truncatedTokens > 0)
    expect(lost.length).toBeLessThanOrEqual(
      options.profile === 'ollama' ? 3 : options.overflow === 'truncate-front' ? 4 : 1,
    )
    expect(JSON.stringify(server.log.at(-1)!.body)).toContain('RULE-4711')
  })
})
