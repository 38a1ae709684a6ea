import { BasePlugin, FunctionTool, Gemini, InMemorySessionService, LlmAgent, Runner, StreamingMode } from '@google/adk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createPlimsoll } from '../src/index.ts'
import { plimsollModel, plimsollPlugin, type AdkOptions } from '../src/adapters/google-adk.ts'
import {
  ANSWER,
  expectFinished,
  expectRecalled,
  expectRecovered,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
  type Stage,
} from '../test/adapters/scenario.ts'

/** The model of the framework, unchanged but for where its requests go. */
class RefereedGemini extends Gemini {
  readonly #fetch: typeof globalThis.fetch
  constructor(fetch: typeof globalThis.fetch) {
    super({ model: 'gemini-2.5-pro', apiKey: 'k' })
    this.#fetch = fetch
  }
  protected override getHttpOptions() {
    return { ...super.getHttpOptions(), fetch: this.#fetch }
  }
}

const WHO = { appName: 'app', userId: 'me', sessionId: 'run' }

/** An agent that is asked, once or again; each time it gives what it said last and everything that its session holds. */
async function agentOf(
  { referee, plimsoll }: Stage,
  options: AdkOptions,
  streamingMode = StreamingMode.NONE,
  isRetried = false,
) {
  const agent = new LlmAgent({
    name: 'main',
    model: isRetried ? plimsollModel(new RefereedGemini(referee.fetch)) : new RefereedGemini(referee.fetch),
    instruction: 'Work with the tools.',
    generateContentConfig: { maxOutputTokens: MAX_OUTPUT },
    tools: [
      new FunctionTool({
        name: 'read_log',
        description: 'Reads a log.',
        parameters: z.object({ step: z.number() }),
        execute: ({ step }) => ({ output: logOf(step) }),
      }),
    ],
  })
  const sessionService = new InMemorySessionService()
  await sessionService.createSession(WHO)
  const plugins = [plimsollPlugin(plimsoll, BasePlugin, options)]
  const runner = new Runner({ appName: 'app', agent, sessionService, plugins })
  return async (text: string): Promise<{ last: string; history: string }> => {
    const newMessage = { role: 'user', parts: [{ text }] }
    const texts: string[] = []
    for await (const event of runner.runAsync({
      ...WHO,
      newMessage,
      runConfig: { streamingMode, maxLlmCalls: 2 * STEPS },
    }))
      texts.push(event.content?.parts?.at(-1)?.text ?? event.errorMessage ?? '')
    const stored = await sessionService.getSession(WHO)
    return { last: texts.at(-1)!, history: JSON.stringify(stored?.events).replaceAll('\\n', '\n') }
  }
}

describe('an ADK agent with the plugin', () => {
  it.each([StreamingMode.NONE, StreamingMode.SSE])('runs sixty tool steps in a 16k window: %s', async (mode) => {
    // See bare.ts: what ADK 2.0 does with a streamed answer of text and two calls.
    const parallel = mode === StreamingMode.NONE
    const stage = stageFor('gemini', { parallel })
    const ask = await agentOf(stage, { window: WINDOW }, mode)
    const { last, history } = await ask(TASK)
    expect(last).toBe(ANSWER)
    expectWhole([history], { parallel })
    await expectFinished(stage, 'run')
  })

  it('brings back what is out of view', async () => {
    const stage = stageFor('gemini', { recalls: true })
    const ask = await agentOf(stage, { window: WINDOW })
    expect((await ask(TASK)).last).toBe(ANSWER)
    expectRecalled(stage)
    await expectFinished(stage, 'run')
  })

  it.each([StreamingMode.NONE, StreamingMode.SSE])(
    'recovers from a window that nobody named, with the model that repeats a call: %s',
    async (mode) => {
      const parallel = mode === StreamingMode.NONE
      const stage = stageFor('gemini', { parallel })
      const ask = await agentOf(stage, {}, mode, true)
      const { last, history } = await ask(TASK)
      expect(last).toBe(ANSWER)
      expectWhole([history], { parallel })
      await expectRecovered(stage)
    },
  )

  it('makes no call that a budget stops, and says so', async () => {
    const budgets = [{ name: 'day', scope: 'day', unit: 'tokens', hard: 10 } as const]
    const { referee } = stageFor('gemini')
    const plimsoll = createPlimsoll({ store: 'memory:', budgets })
    const ask = await agentOf({ referee, plimsoll }, { window: WINDOW })
    expect((await ask(TASK)).last).toContain('No model call was made')
    expect(referee.summary().requests).toBe(0)
    await plimsoll.close()
  })

  it('ends a run with the refusal of a window that nobody named, and goes on within it when it is asked again', async () => {
    const stage = stageFor('gemini')
    const ask = await agentOf(stage, {})
    expect((await ask(TASK)).last).toMatch(/exceeds the maximum number of tokens/)
    expect((await ask('Go on.')).last).toBe(ANSWER)
    await expectRecovered(stage)
  })
})
