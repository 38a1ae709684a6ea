/**
 * An agent as people write them: the vendor's SDK, streaming, a tool loop, one moving cache mark. It keeps its own messages
 * in a file, so that it can be killed between two calls and started again. `PAUSE_AFTER` makes it stop there and wait to be
 * killed.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { createPlimsoll } from '../../../src/index.ts'
import { TASK, SYSTEM, TOOLS, toolOutput } from './scenario.ts'

const { STATE = '', STORE, BASE_URL = '', PAUSE_AFTER = '0', VIA = 'fetch', WINDOW = '8000' } = process.env

type Message = Anthropic.MessageParam
const messages: Message[] = existsSync(STATE)
  ? (JSON.parse(readFileSync(STATE, 'utf8')) as Message[])
  : [{ role: 'user', content: TASK }]

const plimsoll = VIA === 'fetch' ? createPlimsoll({ store: STORE ?? 'memory:', window: Number(WINDOW) }) : undefined
const client = new Anthropic({
  apiKey: 'sk-skeleton',
  baseURL: BASE_URL,
  maxRetries: 0,
  ...(plimsoll !== undefined && { fetch: plimsoll.fetch }),
})

for (;;) {
  const stream = client.messages.stream({
    model: 'claude-sonnet-4-5',
    max_tokens: 512,
    system: [{ type: 'text', text: SYSTEM, cache_control: { type: 'ephemeral' } }],
    tools: TOOLS,
    messages: withMovingMark(messages),
  })
  const answer = await stream.finalMessage()
  messages.push({ role: 'assistant', content: answer.content })
  const calls = answer.content.filter((block) => block.type === 'tool_use')
  if (calls.length > 0) {
    messages.push({
      role: 'user',
      content: calls.map((block) => ({
        type: 'tool_result',
        tool_use_id: block.id,
        content: toolOutput(block.input as { step: number }),
      })),
    })
  }
  save()
  const step = messages.filter((message) => message.role === 'assistant').length
  process.stdout.write(`step ${step}\n`)
  if (calls.length === 0) break
  if (step === Number(PAUSE_AFTER)) {
    process.stdout.write('paused\n')
    // Held open by the timer until SIGKILL.
    await new Promise(() => setInterval(() => undefined, 1_000))
  }
}
await plimsoll?.close()
process.stdout.write('finished\n')

/** Claude Code marks the newest block of every request and takes the mark off the one before. */
function withMovingMark(history: readonly Message[]): Message[] {
  return history.map((message, i) => {
    if (i !== history.length - 1) return message
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text' as const, text: message.content }] : message.content
    const content = blocks.map((block, n) =>
      n === blocks.length - 1 ? { ...block, cache_control: { type: 'ephemeral' as const } } : block,
    )
    return { ...message, content } as Message
  })
}

function save(): void {
  writeFileSync(`${STATE}.new`, JSON.stringify(messages))
  renameSync(`${STATE}.new`, STATE)
}
