import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { stepCountIs, streamText, tool, type LanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { call, calls, say, type Script, type StartRefereeOptions } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage } from './ways.ts'

const TURNS = 40

const script: Script = ({ number }) => {
  if (number >= TURNS) return say('Done.')
  const one = { name: 'read_log', input: { step: number } }
  return number % 5 === 0
    ? calls([one, { ...one, input: { step: number + 1 } }], 'Two.')
    : call('read_log', { step: number })
}

const PROVIDERS: readonly { name: string; wire: StartRefereeOptions['wire']; model: (on: Stage) => LanguageModel }[] = [
  {
    name: '@ai-sdk/anthropic',
    wire: 'anthropic-messages',
    model: ({ base, fetch }) =>
      createAnthropic({ apiKey: 'k', baseURL: `${base}/v1`, ...(fetch && { fetch }) })('claude-sonnet-4-5'),
  },
  {
    name: '@ai-sdk/openai, chat',
    wire: 'openai-chat',
    model: ({ base, fetch }) =>
      createOpenAI({ apiKey: 'k', baseURL: `${base}/v1`, ...(fetch && { fetch }) }).chat('gpt-4.1'),
  },
  {
    name: '@ai-sdk/openai, responses',
    wire: 'openai-responses',
    model: ({ base, fetch }) =>
      createOpenAI({ apiKey: 'k', baseURL: `${base}/v1`, ...(fetch && { fetch }) }).responses('gpt-4.1'),
  },
  {
    name: '@ai-sdk/google',
    wire: 'gemini',
    model: ({ base, fetch }) =>
      createGoogleGenerativeAI({ apiKey: 'k', baseURL: `${base}/v1beta`, ...(fetch && { fetch }) })('gemini-2.5-pro'),
  },
]

describe.each(PROVIDERS)('ai with $name', ({ wire, model }) => {
  it.each(WAYS)('runs a tool loop in an 8k window without one refused request, through the %s', async (way) => {
    const on = await stage(way, { referee: { wire, window: 8_000, script }, plimsoll: { window: 8_000 } })
    const failures: unknown[] = []
    const result = streamText({
      model: model(on),
      maxOutputTokens: 512,
      maxRetries: 0,
      prompt: 'Find out why checkout is slow.',
      stopWhen: stepCountIs(TURNS + 1),
      onError: ({ error }) => void failures.push(error),
      tools: {
        read_log: tool({
          description: 'Reads a log.',
          inputSchema: z.object({ step: z.number() }),
          execute: ({ step }) => Promise.resolve(toolOutput(step)),
        }),
      },
      providerOptions: { openai: { store: false } },
    })
    expect(await result.text).toBe('Done.')
    expect(failures).toEqual([])
    expect(on.referee.summary()).toMatchObject({ answered: TURNS, overflows: 0, invalid: 0 })
  })
})
