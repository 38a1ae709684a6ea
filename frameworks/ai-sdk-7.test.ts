import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText, tool, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollMiddleware, plimsollTools } from '../src/surfaces/adapters/ai-sdk.ts'
import type { Wire } from '../src/testing/referee/index.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
} from '../test/adapters/scenario.ts'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']

const PROVIDERS: readonly [string, Wire, (fetch: typeof globalThis.fetch) => Model][] = [
  ['anthropic', 'anthropic-messages', (fetch) => createAnthropic({ apiKey: 'k', fetch })('claude-sonnet-4-5')],
  ['openai, chat', 'openai-chat', (fetch) => createOpenAI({ apiKey: 'k', fetch }).chat('gpt-4.1')],
  ['openai, responses', 'openai-responses', (fetch) => createOpenAI({ apiKey: 'k', fetch }).responses('gpt-4.1')],
  ['google', 'gemini', (fetch) => createGoogleGenerativeAI({ apiKey: 'k', fetch })('gemini-2.5-pro')],
]

const readLog = tool({
  description: 'Reads a log.',
  inputSchema: z.object({ step: z.number() }),
  execute: ({ step }) => Promise.resolve(logOf(step)),
})

describe.each(PROVIDERS)('ai 7 with a model of %s behind the middleware', (_, wire, modelOf) => {
  it.each(['generate', 'stream'] as const)('runs sixty tool steps in a 16k window: %s', async (way) => {
    const stage = stageFor(wire)
    const session = stage.plimsoll.session({ id: 'run' })
    const settings = {
      model: wrapLanguageModel({
        model: modelOf(stage.referee.fetch),
        middleware: plimsollMiddleware(session, { window: WINDOW }),
      }),
      tools: plimsollTools(stage.plimsoll, session, { read_log: readLog }, { window: WINDOW }),
      maxOutputTokens: MAX_OUTPUT,
      maxRetries: 0,
      prompt: TASK,
      stopWhen: isStepCount(STEPS + 2),
      providerOptions: { openai: { store: false } },
    }
    const result = way === 'generate' ? await generateText(settings) : streamText(settings)
    expect(await result.text).toBe(ANSWER)
    expectWhole([JSON.stringify(await result.responseMessages).replaceAll('\\n', '\n')])
    await expectFinished(stage, 'run')
  })
})
