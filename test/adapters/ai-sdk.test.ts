import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollMiddleware, plimsollTools } from '../../src/adapters/ai-sdk.ts'
import { providersOf, READ_LOG } from './ai-sdk-parts.ts'
import {
  ANSWER,
  expectFinished,
  expectRecovered,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
} from './scenario.ts'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']

const PROVIDERS = providersOf<Model>({
  anthropic: createAnthropic,
  openai: createOpenAI,
  google: createGoogleGenerativeAI,
})

const readLog = tool(READ_LOG)

describe.each(PROVIDERS)('ai 6 with a model of %s behind the middleware', (_, wire, modelOf) => {
  it.each(['generate', 'stream'] as const)('runs sixty tool steps in a 16k window: %s', async (way) => {
    const stage = stageFor(wire)
    const session = stage.plimsoll.session({ id: 'run' })
    const middleware = plimsollMiddleware(session, { window: WINDOW, sdk: 6 })
    const settings = {
      model: wrapLanguageModel({ model: modelOf(stage.referee.fetch), middleware }),
      tools: plimsollTools(stage.plimsoll, session, { read_log: readLog }, { window: WINDOW }),
      maxOutputTokens: MAX_OUTPUT,
      maxRetries: 0,
      prompt: TASK,
      stopWhen: stepCountIs(STEPS + 2),
      providerOptions: { openai: { store: false } },
    }
    const result = way === 'generate' ? await generateText(settings) : streamText(settings)
    expect(await result.text).toBe(ANSWER)
    const { messages } = await result.response
    expectWhole(messages.flatMap(({ content }) => (typeof content === 'string' ? content : content.map(textIn))))
    await expectFinished(stage, 'run')
  })
})

const textIn = (part: object): string =>
  'output' in part && typeof part.output === 'object' && part.output !== null && 'value' in part.output
    ? String(part.output.value)
    : ''

describe('the middleware', () => {
  it('recovers from a window that nobody named', async () => {
    const stage = stageFor('openai-chat')
    const session = stage.plimsoll.session({ id: 'run' })
    const model = wrapLanguageModel({
      model: createOpenAI({ apiKey: 'k', fetch: stage.referee.fetch }).chat('gpt-4.1'),
      middleware: plimsollMiddleware(session, { sdk: 6 }),
    })
    const { text } = await generateText({
      model,
      tools: { read_log: readLog },
      maxOutputTokens: MAX_OUTPUT,
      maxRetries: 0,
      prompt: TASK,
      stopWhen: stepCountIs(STEPS + 2),
    })
    expect(text).toBe(ANSWER)
    await expectRecovered(stage)
  })

  it('closes the turn of a stream that nobody reads to its end', async () => {
    const stage = stageFor('openai-chat')
    const session = stage.plimsoll.session({ id: 'run' })
    const recorded: unknown[] = []
    const watched: typeof session = {
      ...session,
      record: (request) => {
        recorded.push(request.refused)
        return session.record(request)
      },
    }
    const model = wrapLanguageModel({
      model: createOpenAI({ apiKey: 'k', fetch: stage.referee.fetch }).chat('gpt-4.1'),
      middleware: plimsollMiddleware(watched, { window: WINDOW, sdk: 6 }),
    })
    const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: TASK }] }] })
    await stream.cancel()
    expect(recorded).toEqual([true])
    await stage.plimsoll.close()
  })

  it('shortens large results in the messages of the SDK where it is asked to', async () => {
    const stage = stageFor('openai-chat')
    const session = stage.plimsoll.session({ id: 'run' })
    const big = tool({
      inputSchema: z.object({ step: z.number() }),
      execute: () => Promise.resolve(logOf(1).repeat(20)),
    })
    const tools = plimsollTools(stage.plimsoll, session, { read_log: big }, { window: WINDOW, shortenHistory: true })
    const { response, steps } = await generateText({
      model: wrapLanguageModel({
        model: createOpenAI({ apiKey: 'k', fetch: stage.referee.fetch }).chat('gpt-4.1'),
        middleware: plimsollMiddleware(session, { window: WINDOW, sdk: 6 }),
      }),
      tools,
      maxOutputTokens: MAX_OUTPUT,
      prompt: TASK,
      stopWhen: stepCountIs(2),
    })
    const stored = JSON.stringify(response.messages)
    const handle = /art_[0-9a-z]{26}/.exec(stored)![0]
    expect(stored.length).toBeLessThan(40_000)
    expect(steps[0]!.toolResults[0]!.output).toBe(logOf(1).repeat(20))
    const found = (await stage.plimsoll.artifacts.list()).find((one) => one.handle === handle)!
    expect(Buffer.from((await stage.plimsoll.artifacts.read(found.handle))!).toString()).toBe(logOf(1).repeat(20))
    await stage.plimsoll.close()
  })
})
