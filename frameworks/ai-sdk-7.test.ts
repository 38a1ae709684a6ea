import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText, tool, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { plimsollMiddleware, plimsollTools } from '../src/adapters/ai-sdk.ts'
import { providersOf, READ_LOG } from '../test/adapters/ai-sdk-parts.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
} from '../test/adapters/scenario.ts'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']

const PROVIDERS = providersOf<Model>({
  anthropic: createAnthropic,
  openai: createOpenAI,
  google: createGoogleGenerativeAI,
})

const readLog = tool(READ_LOG)

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
