import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { plimsollExtension } from '../../src/adapters/pi.ts'
import { ANSWER, expectFinished, expectWhole, logOf, MAX_OUTPUT, stageFor, STEPS, TASK, WINDOW } from './scenario.ts'

type Handler = (event: unknown, context: unknown) => unknown

/** What pi calls an extension with. The extension inside pi itself: `npm run test:frameworks`. */
function fakePi(extension: ReturnType<typeof plimsollExtension>, abort?: () => void) {
  const handlers = new Map<string, Handler>()
  extension({ on: (event: string, handler: Handler) => handlers.set(event, handler), registerTool: () => undefined })
  const context = { sessionManager: { getSessionId: () => 'run' }, model: { id: 'gpt-4.1' }, abort }
  return (name: string, event: object): unknown => handlers.get(name)?.(event, context)
}

describe('the extension for pi', () => {
  it('runs sixty tool steps in a 16k window when its handlers are called as pi calls them', async () => {
    const stage = stageFor('openai-chat')
    const emit = fakePi(plimsollExtension(stage.plimsoll, { window: WINDOW }))
    const tools = [{ type: 'function', function: { name: 'read_log', parameters: { type: 'object' } } }]
    const messages: object[] = [{ role: 'user', content: TASK }]
    let text: string | null = null
    for (let turn = 0; turn <= STEPS && text !== ANSWER; turn++) {
      const payload = { model: 'gpt-4.1', max_completion_tokens: MAX_OUTPUT, tools, messages }
      const changed = await emit('before_provider_request', { payload })
      const response = await stage.referee.fetch('http://referee.test/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
        body: JSON.stringify(changed ?? payload),
      })
      const { choices, usage } = (await response.json()) as {
        choices: {
          message: { content: string | null; tool_calls?: { id: string; function: { arguments: string } }[] }
        }[]
        usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } }
      }
      const { message } = choices[0]!
      const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? 0
      const counted = {
        input: usage.prompt_tokens - cacheRead,
        output: usage.completion_tokens,
        cacheRead,
        cacheWrite: 0,
      }
      const totalTokens = usage.prompt_tokens + usage.completion_tokens
      await emit('message_end', { message: { role: 'assistant', usage: { ...counted, totalTokens } } })
      messages.push(message)
      text = message.content
      for (const { id, function: made } of message.tool_calls ?? []) {
        const { step } = JSON.parse(made.arguments) as { step: number }
        messages.push({ role: 'tool', tool_call_id: id, content: logOf(step) })
      }
    }
    expect(text).toBe(ANSWER)
    expectWhole([JSON.stringify(messages).replaceAll('\\n', '\n')])
    await expectFinished(stage, 'run')
  })

  it('makes no call that a budget stops', async () => {
    const budgets = [{ name: 'day', scope: 'day', unit: 'tokens', hard: 10 } as const]
    const plimsoll = createPlimsoll({ store: 'memory:', budgets })
    let aborts = 0
    const emit = fakePi(plimsollExtension(plimsoll, { window: WINDOW }), () => aborts++)
    const payload = { model: 'gpt-4.1', messages: [{ role: 'user', content: TASK }] }
    await expect(emit('before_provider_request', { payload })).rejects.toMatchObject({ code: 'budget-exceeded' })
    expect(aborts).toBe(1)
    await plimsoll.close()
  })

  it('cancels the compaction of pi, and shortens its results where it is asked to', async () => {
    const stage = stageFor('openai-chat')
    const emit = fakePi(plimsollExtension(stage.plimsoll, { window: WINDOW, shortenHistory: true }))
    expect(emit('session_before_compact', {})).toEqual({ cancel: true })
    const content = [{ type: 'text', text: logOf(1).repeat(40) }]
    const shown = await emit('tool_result', { toolName: 'bash', toolCallId: 'c1', content })
    expect(JSON.stringify(shown)).toMatch(/art_[0-9a-z]{26}/)
    await stage.plimsoll.close()
  })
})
