import { AIMessageChunk, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { call, calls, say, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS } from './ways.ts'

const TURNS = 40
const script: Script = ({ number }) => {
  if (number >= TURNS) return say('Done.')
  const one = { name: 'read_log', input: { step: number } }
  return number % 5 === 0 ? calls([one, one], 'Two.') : call('read_log', { step: number })
}

const readLog = tool(({ step }) => toolOutput(step), {
  name: 'read_log',
  description: 'Reads a log.',
  schema: z.object({ step: z.number() }),
})

describe.each(WAYS)('@langchain/openai through the %s', (way) => {
  it('runs a streamed tool loop in an 8k window without one refused request', async () => {
    const on = await stage(way, {
      referee: { wire: 'openai-chat', window: 8_000, script },
      plimsoll: { window: 8_000 },
    })
    const model = new ChatOpenAI({
      model: 'gpt-4.1',
      apiKey: 'k',
      maxRetries: 0,
      maxTokens: 512,
      configuration: { baseURL: `${on.base}/v1`, ...(on.fetch !== undefined && { fetch: on.fetch }) },
    }).bindTools([readLog])
    const messages: BaseMessage[] = [new HumanMessage('Find out why checkout is slow.')]
    let answer = new AIMessageChunk('')
    for (let turn = 0; turn < TURNS; turn++) {
      let whole: AIMessageChunk | undefined
      for await (const chunk of await model.stream(messages)) whole = whole === undefined ? chunk : whole.concat(chunk)
      answer = whole!
      messages.push(answer)
      for (const { id, args } of answer.tool_calls ?? []) {
        messages.push(new ToolMessage({ tool_call_id: id!, content: toolOutput((args as { step: number }).step) }))
      }
    }
    expect(answer.content).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: TURNS, overflows: 0, invalid: 0 })
  })
})
