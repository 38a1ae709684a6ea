import { Agent, OpenAIProvider, Runner, tool, type OpenAIProviderOptions } from '@openai/agents'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { call, calls, say, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS } from './ways.ts'

const TURNS = 40
const script: Script = ({ number }) => {
  if (number >= TURNS) return say('Done.')
  const one = { name: 'read_log', input: { step: number } }
  return number % 5 === 0 ? calls([one, one]) : call('read_log', { step: number })
}

const readLog = tool({
  name: 'read_log',
  description: 'Reads a log.',
  parameters: z.object({ step: z.number() }),
  execute: ({ step }) => Promise.resolve(toolOutput(step)),
})

describe.each(WAYS)('@openai/agents through the %s', (way) => {
  it.each(['openai-chat', 'openai-responses'] as const)('runs an agent in an 8k window on %s', async (wire) => {
    const on = await stage(way, { referee: { wire, window: 8_000, script }, plimsoll: { window: 8_000 } })
    const openAIClient = new OpenAI({
      apiKey: 'k',
      baseURL: `${on.base}/v1`,
      maxRetries: 0,
      ...(on.fetch !== undefined && { fetch: on.fetch }),
    })
    const provider = new OpenAIProvider({
      // The Agents SDK brings a copy of the package of its own; what it calls is the same in both.
      openAIClient: openAIClient as unknown as NonNullable<OpenAIProviderOptions['openAIClient']>,
      useResponses: wire === 'openai-responses',
    })
    const agent = new Agent({
      name: 'On-call',
      model: 'gpt-4.1',
      instructions: 'Work with the tools.',
      tools: [readLog],
      modelSettings: { maxTokens: 512, store: false },
    })
    const runner = new Runner({ modelProvider: provider, tracingDisabled: true })
    const result = await runner.run(agent, 'Find out why checkout is slow.', { maxTurns: TURNS + 1, stream: true })
    await result.completed
    expect(result.finalOutput).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: TURNS, overflows: 0, invalid: 0 })
  })
})
